/* SPDX-License-Identifier: MIT */
/* kernel/kernel_probes: what records of ended programs mean, and rings that no program needs any more. */
#include <glib.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/atomic.h"
#include "base/bell.h"
#include "kernel/kernel.h"
#include "probes/ast.h"

#define KB 256u
#define MEMORY_BYTES (1ull << 30)
#define PROGRAMS (2 * KERNEL_ENDED_MAX)

/* The outputs of a program, with a line that it prints or without. */
static struct outputs *make_outputs(bool prints)
{
	const struct ast ast = { 0 };
	struct outputs *outputs = outputs_create(&ast);

	if (prints)
		outputs_add(outputs, FUNCTION_PRINTF)->format = g_strdup("a line");
	return outputs;
}

static const struct kernel_meaning *meaning_of(struct kernel *kernel, uint32_t serial)
{
	const struct kernel_record record = { .head = (uint64_t)KERNEL_ID_PROBE << 48, .reserved = serial };

	return kernel_meaning(kernel, &record);
}

static void test_meanings_of_ended_programs_are_bounded(void **state)
{
	struct kernel *kernel = kernel_create(KB, MEMORY_BYTES);
	const struct kernel_meaning *first = NULL;

	(void)state;
	/* one that prints nothing has no records */
	kernel_add_probe(kernel, PROGRAMS + 1, "probe:silent", make_outputs(false));
	assert_non_null(meaning_of(kernel, PROGRAMS + 1));
	kernel_end_probe(kernel, PROGRAMS + 1);
	assert_null(meaning_of(kernel, PROGRAMS + 1));

	kernel_begin_reading(kernel);
	for (uint32_t serial = 1; serial <= PROGRAMS; serial++) {
		kernel_add_probe(kernel, serial, serial == 1 ? "probe:first" : "probe:x", make_outputs(true));
		if (serial == 1)
			first = meaning_of(kernel, serial);
		kernel_end_probe(kernel, serial);
	}
	assert_null(meaning_of(kernel, PROGRAMS - KERNEL_ENDED_MAX));
	assert_non_null(meaning_of(kernel, PROGRAMS - KERNEL_ENDED_MAX + 1));
	assert_non_null(meaning_of(kernel, PROGRAMS));
	/* a reading that began before has it still */
	assert_string_equal(first->label, "probe:first");
	kernel_end_reading(kernel);
	kernel_destroy(kernel);
}

struct race {
	struct kernel *kernel;
	_Atomic uint32_t serial; /* the last program that was added */
	_Atomic bool ended;
};

static void *read_all(void *arg)
{
	struct race *race = arg;

	/* acquire: the program was added before */
	while (!atomic_read_acquire(&race->ended)) {
		const uint32_t serial = atomic_read_acquire(&race->serial);
		const struct kernel_meaning *meaning;

		kernel_begin_reading(race->kernel);
		meaning = meaning_of(race->kernel, serial - serial % KERNEL_ENDED_MAX);
		if (meaning) {
			const struct output *output = g_ptr_array_index(meaning->outputs->items, 0);

			assert_string_equal(meaning->label, "probe:x");
			assert_string_equal(output->format, "a line");
		}
		kernel_end_reading(race->kernel);
	}
	return NULL;
}

static void test_a_reader_keeps_what_it_has_found(void **state)
{
	struct race race = { .kernel = kernel_create(KB, MEMORY_BYTES) };
	pthread_t readers[2];

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(readers); i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_all, &race), 0);
	for (uint32_t serial = 1; serial <= 4 * PROGRAMS; serial++) {
		kernel_add_probe(race.kernel, serial, "probe:x", make_outputs(true));
		atomic_write_release(&race.serial, serial);
		kernel_end_probe(race.kernel, serial);
	}
	atomic_write_release(&race.ended, true);
	for (size_t i = 0; i < G_N_ELEMENTS(readers); i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	kernel_destroy(race.kernel);
}

static void test_rings_without_a_holder_expire_behind_their_last_reader(void **state)
{
	struct kernel *kernel = kernel_create(KB, MEMORY_BYTES);
	const struct emit_machine *machine;
	int bell = bell_open();
	struct err err = { "" };
	struct rings *rings;

	(void)state;
	kernel_set_bell(kernel, bell);
	if (kernel_hold(kernel, &machine, &err)) {
		print_message("no rings here: %s\n", err.text);
		kernel_destroy(kernel);
		close(bell);
		skip();
	}
	assert_int_equal(kernel_expires_in(kernel), 0);
	rings = kernel_get_rings(kernel);
	assert_non_null(rings);
	bell_take(bell);
	kernel_release(kernel);
	assert_true(bell_take(bell));
	/* no thread has to wake for rings that are being read */
	assert_int_equal(kernel_expires_in(kernel), 0);
	kernel_put_rings(kernel, rings);
	assert_true(bell_take(bell));
	assert_in_range(kernel_expires_in(kernel), 1, KERNEL_KEPT_S);
	kernel_destroy(kernel);
	close(bell);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meanings_of_ended_programs_are_bounded),
		cmocka_unit_test(test_a_reader_keeps_what_it_has_found),
		cmocka_unit_test(test_rings_without_a_holder_expire_behind_their_last_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
