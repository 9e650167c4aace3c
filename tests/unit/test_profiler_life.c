/* SPDX-License-Identifier: MIT */
/*
 * The profiler on the perf events of this machine: it releases its memory, threads and descriptors
 * after it was started, read, cleared, stopped, interrupted and ended. It runs under valgrind too, so
 * it makes no process, and samples by the clock instead of page faults, whose number would grow with a
 * slower tool.
 */
#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/atomic.h"
#include "base/stats.h"
#include "decode.h"
#include "leftovers.h"
#include "prof/profiler.h"
#include "sys/perf.h"
#include "tests/fixtures/built.h"

#define EVENTS "cpu-clock:freq=99"
#define WANT (1u << 20)

static bool can_sample(void)
{
	struct perf_features features;

	return !perf_probe(&features) && features.has_kernel;
}

static void ignore(void *arg)
{
	(void)arg;
}

static void read_no_times(void *arg, GArray *times)
{
	(void)arg;
	(void)times;
}

static struct budget *budget;

static struct profiler *create(void)
{
	const struct profiler_paths paths = { .symbols = built_program("kprof-symbols") };
	static const struct profiler_hooks hooks = {
		.data_ready = ignore,
		.data_drained = ignore,
		.cpus_changed = ignore,
		.times_begin = ignore,
		.times_read = read_no_times,
	};
	struct profiler *p;
	struct err err = { "" };

	assert_int_equal(profiler_create(&hooks, &paths, budget, &p, NULL), 0);
	if (profiler_set_events(p, EVENTS, &err))
		fail_msg("%s", err.text);
	return p;
}

static void start(struct profiler *p)
{
	struct err err = { "" };

	if (profiler_start(p, &err))
		fail_msg("start: %s", err.text);
}

/* Reads everything available now and decodes its whole records. Returns how many bytes. */
static size_t read_on(struct cursor *c, bool *eof)
{
	size_t records = 0;
	ssize_t n;

	do {
		struct iovec iov[16];
		int count = 16, i;
		size_t at = 0;
		struct decoded r;
		g_autoptr(GByteArray) bytes = g_byte_array_new();

		n = cursor_begin(c, WANT, iov, &count, eof);
		assert_true(n >= 0);
		for (i = 0; n && i < count; i++)
			g_byte_array_append(bytes, iov[i].iov_base, (guint)iov[i].iov_len);
		while (decode_whole(bytes->data, bytes->len, at, &r)) {
			at += r.bytes;
			records++;
		}
		assert_int_equal(at, bytes->len);
		if (n)
			cursor_end(c, true);
	} while (n);
	return records;
}

/* ---- the tests --------------------------------------------------------------------------------------- */

/* The commands of each life before its start. The profiler keeps their settings for the others. */
static const struct {
	const char *stack, *depth;
	enum profiler_mode mode;
	uint64_t cpubufsz_kb;
} lives[] = {
	{ "both", NULL, PROFILER_DISCARD, 512 },
	{ "none", NULL, PROFILER_OVERWRITE, 16 },
	{ "user", "3", PROFILER_OVERWRITE, 64 },
	{ "kernel", "1", PROFILER_DISCARD, 16 },
};

/* An editor writes all settings back, of which the user has changed none, or one that can be changed. */
static void test_running_profiler_takes_the_settings_that_it_has(void **state)
{
	struct err err = { "" };
	struct profiler *p;

	(void)state;
	if (!can_sample())
		skip();
	p = create();
	assert_int_equal(profiler_set_events(p, "cpu-clock:freq=99,page-faults", NULL), 0);
	assert_int_equal(profiler_set_cpus(p, "0", NULL), 0);
	assert_int_equal(profiler_set_stack(p, "kernel", "7", NULL), 0);
	assert_int_equal(profiler_set_cpubufsz_kb(p, 64, NULL), 0);
	start(p);
	assert_int_equal(profiler_set_events(p, "cpu-clock:freq=99,page-faults", NULL), 0);
	assert_int_equal(profiler_set_events(p, "cpu-clock:freq=99", NULL), -EBUSY);
	assert_int_equal(profiler_set_events(p, "cpu-clock:freq=98,page-faults", NULL), -EBUSY);
	assert_int_equal(profiler_set_events(p, "nonsense", NULL), -ENOENT);
	assert_int_equal(profiler_set_cpus(p, "0,0", NULL), 0);
	assert_int_equal(profiler_set_cpus(p, "all", NULL), -EBUSY);
	assert_int_equal(profiler_set_cpus(p, "0-1", NULL), -EBUSY);
	assert_int_equal(profiler_set_stack(p, "kernel", "7", NULL), 0);
	assert_int_equal(profiler_set_stack(p, "kernel", "8", NULL), -EBUSY);
	assert_int_equal(profiler_set_stack(p, "user", "7", NULL), -EBUSY);
	assert_int_equal(profiler_set_cpubufsz_kb(p, 33, NULL), 0); /* rounded up to 64 */
	assert_int_equal(profiler_set_cpubufsz_kb(p, 32, &err), -EBUSY);
	assert_string_equal(err.text, "not while the profiler runs: stop it first");
	assert_int_equal(profiler_stop(p, NULL), 0);
	assert_int_equal(profiler_set_events(p, "cpu-clock:freq=98", NULL), 0);
	profiler_destroy(p);
}

/* Software events of which Linux makes one sample have a ring each; no sample of these comes. */
static void test_rings_of_all_events_are_in_the_budget(void **state)
{
	const uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF), kb = 16;
	static const struct {
		const char *events;
		uint64_t rings;
	} rows[] = {
		{ "cpu-clock:freq=1", 1 },
		{ "cpu-migrations:period=1000000,alignment-faults:period=1000000", 2 },
		{ "cpu-clock:freq=1,emulation-faults:period=1000000,alignment-faults:period=1000000", 2 },
	};
	struct profiler *p = create();
	struct err err = { "" };

	(void)state;
	if (!can_sample()) {
		profiler_destroy(p);
		skip();
	}
	assert_int_equal(profiler_set_cpubufsz_kb(p, kb, &err), 0);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		if (profiler_set_events(p, rows[i].events, &err))
			fail_msg("%s: %s", rows[i].events, err.text);
		start(p);
		assert_int_equal(budget_total_kb(budget) - budget_left_kb(budget, BUDGET_RINGS),
			rows[i].rings * cpus * kb);
		assert_int_equal(profiler_stop(p, &err), 0);
		assert_int_equal(budget_left_kb(budget, BUDGET_RINGS), budget_total_kb(budget));
	}
	profiler_destroy(p);
}

static void test_short_lives_leave_nothing_behind(void **state)
{
	struct leftovers before;
	struct profiler *p;
	size_t i;

	(void)state;
	if (!can_sample())
		skip();
	p = create();
	start(p); /* libraries and allocators settle */
	assert_int_equal(profiler_stop(p, NULL), 0);
	before = leftovers_count();
	for (i = 0; i < 2 * G_N_ELEMENTS(lives); i++) {
		const size_t life = i % G_N_ELEMENTS(lives);
		struct cursor *early, *late;
		struct stats *stats;
		bool eof;

		assert_int_equal(profiler_set_stack(p, lives[life].stack, lives[life].depth, NULL), 0);
		assert_int_equal(profiler_set_mode(p, lives[life].mode, NULL), 0);
		assert_int_equal(profiler_set_cpubufsz_kb(p, lives[life].cpubufsz_kb, NULL), 0);
		assert_int_equal(profiler_open_cursor(p, &early), 0);
		start(p);
		assert_int_equal(profiler_set_stack(p, "dwarf", NULL, NULL), -EBUSY);
		assert_int_equal(profiler_flush(p, NULL), 0);
		read_on(early, &eof);
		assert_false(eof);
		assert_int_equal(profiler_add_address(p, 0x1000 + i, 1, NULL), 0);
		if (i % 2)
			assert_int_equal(profiler_clear(p, NULL), 0);
		assert_int_equal(profiler_add_address(p, 0x2000 + i, 1, NULL), 0);
		assert_int_equal(profiler_stop(p, NULL), 0);
		assert_int_equal(profiler_open_cursor(p, &late), 0);
		assert_true(read_on(late, &eof) > 0);
		assert_true(eof);
		read_on(early, &eof);
		assert_true(eof);
		stats = stats_create();
		profiler_print_stats(p, stats);
		stats_destroy(stats);
		profiler_close_cursor(early);
		profiler_close_cursor(late);
	}
	leftovers_check(&before);
	profiler_destroy(p);
}

/* Two at once; and one that is ended without having been stopped. */
static void test_profiler_ends_beside_a_running_one(void **state)
{
	struct leftovers before;
	struct profiler *p, *q;
	struct cursor *c;
	bool eof;

	(void)state;
	if (!can_sample())
		skip();
	before = leftovers_count();
	p = create();
	q = create();
	start(p);
	start(q);
	assert_int_equal(profiler_open_cursor(q, &c), 0);
	profiler_destroy(p);
	assert_int_equal(profiler_flush(q, NULL), 0);
	assert_true(read_on(c, &eof) > 0);
	profiler_close_cursor(c);
	profiler_destroy(q);
	leftovers_check(&before);
}

struct interrupter {
	struct profiler *p;
	_Atomic uint32_t ends;
};

static void *interrupt_often(void *arg)
{
	struct interrupter *it = arg;

	while (!atomic_read_acquire(&it->ends)) {
		profiler_interrupt(it->p);
		sched_yield();
	}
	return NULL;
}

static void test_interrupted_start_leaves_nothing_behind(void **state)
{
	struct interrupter it = { 0 };
	struct leftovers before;
	int i, interrupted = 0;
	pthread_t thread;

	(void)state;
	if (!can_sample())
		skip();
	it.p = create();
	start(it.p);
	assert_int_equal(profiler_stop(it.p, NULL), 0);
	before = leftovers_count();
	assert_int_equal(pthread_create(&thread, NULL, interrupt_often, &it), 0);
	for (i = 0; i < 10; i++) {
		const int ret = profiler_start(it.p, NULL);

		assert_true(ret == 0 || ret == -EINTR);
		interrupted += ret == -EINTR;
		assert_int_equal(profiler_stop(it.p, NULL), 0);
	}
	atomic_write_release(&it.ends, 1);
	pthread_join(thread, NULL);
	assert_true(interrupted > 0);
	leftovers_check(&before);
	start(it.p);
	profiler_destroy(it.p);
}

/* Each is refused with an error sentence, and changes nothing. */
static void test_refused_settings_change_nothing(void **state)
{
	static const struct {
		int line;
		const char *mode, *depth, *said;
	} rows[] = {
		{ __LINE__, "sideways", NULL, "no such mode" },
		{ __LINE__, "both", "0", "must be 1 to" },
		{ __LINE__, "both", "99999", "must be 1 to" },
		{ __LINE__, "both", "99999999999999999999999", "must be 1 to" },
		{ __LINE__, "both", "-1", "not a number" },
		{ __LINE__, "both", "1x", "not a number" },
		{ __LINE__, "both", "", "not a number" },
	};
	g_autoptr(GString) before = g_string_new(NULL);
	struct profiler *p = create();
	size_t i;

	(void)state;
	profiler_print_settings(p, before);
	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(GString) after = g_string_new(NULL);
		struct err err = { "" };

		if (profiler_set_stack(p, rows[i].mode, rows[i].depth, &err) != -EINVAL ||
			!strstr(err.text, rows[i].said))
			fail_msg("line %d: said '%s'", rows[i].line, err.text);
		profiler_print_settings(p, after);
		assert_string_equal(before->str, after->str);
	}
	profiler_destroy(p);
}

static int create_budget(void **state)
{
	(void)state;
	budget = profiler_budget_create();
	return 0;
}

static int destroy_budget(void **state)
{
	(void)state;
	budget_destroy(budget);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_running_profiler_takes_the_settings_that_it_has),
		cmocka_unit_test(test_rings_of_all_events_are_in_the_budget),
		cmocka_unit_test(test_short_lives_leave_nothing_behind),
		cmocka_unit_test(test_profiler_ends_beside_a_running_one),
		cmocka_unit_test(test_interrupted_start_leaves_nothing_behind),
		cmocka_unit_test(test_refused_settings_change_nothing),
	};

	return cmocka_run_group_tests(tests, create_budget, destroy_budget);
}
