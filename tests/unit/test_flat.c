/* SPDX-License-Identifier: MIT */
/*
 * formats/flat and capture/functions: the text of small captures has the figures that were calculated
 * by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "formats/flat.h"
#include "formats/summary.h"

/* /bin/a has a function in each of its first pages of 256 bytes; nothing else has names. */
static int resolve(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	static const char *const functions[] = { "main", "call_a", "call_b", "work" };
	size_t i, *asked = self;

	(*asked)++;
	for (i = 0; i < count; i++) {
		struct symbols_frame frame = { NULL };
		struct symbols_place place = { &frame, 1, 0, 0 };

		if (strcmp(file->path, "/bin/a") == 0 && offsets[i] / 256 < G_N_ELEMENTS(functions)) {
			frame.function = functions[offsets[i] / 256];
			symbols_arena_place(arena, &place, &places[i]);
		}
	}
	return 0;
}

static void destroy(void *self)
{
}

static const struct symbols_source source = { .resolve = resolve, .destroy = destroy };

static char *write_flat(const struct gen *gen, const struct flat_options *options, size_t *asked)
{
	struct symbols *symbols = symbols_create(&source, asked, 0);
	struct profile *profile;
	struct decoder decoder;
	struct functions *names;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	*asked = 0;
	decode_init_memory(&decoder, gen->bytes->data, gen->bytes->len);
	assert_int_equal(profile_load(&decoder, &profile, NULL), 0);
	decode_fini(&decoder);
	names = functions_create(profile, symbols, NULL);
	flat_write(profile, names, options, out);
	fclose(out);
	functions_destroy(names);
	symbols_destroy(symbols);
	profile_destroy(profile);
	return text;
}

static void check_text(const struct gen *gen, const struct flat_options *options,
	const char *expected)
{
	size_t asked;
	char *text = write_flat(gen, options, &asked);

	assert_string_equal(text, expected);
	free(text);
}

static void sample(struct gen *gen, uint32_t pid, uint16_t cpu, int times, uint64_t a, uint64_t b,
	uint64_t c)
{
	uint64_t frames[] = { a, b, c };

	for (; times; times--)
		gen_trace(gen, 2, 1, 100, pid, cpu, c ? 3 : b ? 2 : 1, frames);
}

/*
 * Seven of ten for call_a and three for call_b; a second process of two samples that weigh five
 * each.
 */
static void make_capture(struct gen *gen)
{
	gen_clock(gen, 1, 2);
	gen_event(gen, 1, 1, 0, "e");
	gen_period(gen, 1, 1, 5);
	gen_new_process(gen, 5, 10, "/bin/prog");
	gen_mmap(gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_new_process(gen, 5, 11, "/bin/q");
	gen_new_process(gen, 5, 12, "/usr/sbin/kprofs");
	gen_mmap(gen, 5, 12, 0x1000, 0x1000, 0, "/bin/a");
	sample(gen, 10, 0, 7, 0x1310, 0x1111, 0x1011);
	sample(gen, 10, 0, 3, 0x1320, 0x1211, 0x1022);
	sample(gen, 11, 1, 2, 0x5, 0, 0);
	sample(gen, GEN_IDLE, 0, 4, 0xffffffff81000000, 0, 0);
	sample(gen, 12, 0, 1, 0x1010, 0, 0);
	gen_lost(gen, 0, 1, 2, 5);
}

static void test_shares_are_computed(void **state)
{
	struct flat_options options = { .own = false };
	struct gen gen;

	gen_init(&gen, false);
	make_capture(&gen);
	/* counted: 7 + 3 + 2 * 5 = 20; lost: 5 / (17 + 5); without a symbol: 2 of 12 samples */
	check_text(&gen, &options,
		"# 17 samples of 1 event in 0.000 s on 2 CPUs\n"
		"# e: 17 samples, 4 of them idle, 1 in kprofs itself (left out), 5 lost "
		"(22.73%: 5 in a full queue)\n"
		"# 2 samples (16.67%) at addresses without a symbol\n"
		"  share  samples  event  process  function  file\n"
		" 50.00%       10  e      prog     work      /bin/a\n"
		" 50.00%        2  e      q        0x5       -\n"
		"   idle        4  e      -        -         -\n");
	gen_fini(&gen);
}

/* With the server's own sample 21 are counted: 10 / 21 = 47.62 %, 1 / 21 = 4.76 %. */
static void test_own_samples_are_counted_on_request(void **state)
{
	struct flat_options options = { .own = true };
	struct gen gen;

	gen_init(&gen, false);
	make_capture(&gen);
	check_text(&gen, &options,
		"# 17 samples of 1 event in 0.000 s on 2 CPUs\n"
		"# e: 17 samples, 4 of them idle, 1 in kprofs itself (counted), 5 lost "
		"(22.73%: 5 in a full queue)\n"
		"# 2 samples (15.38%) at addresses without a symbol\n"
		"  share  samples  event  process  function  file\n"
		" 47.62%       10  e      prog     work      /bin/a\n"
		" 47.62%        2  e      q        0x5       -\n"
		"  4.76%        1  e      kprofs   main      /bin/a\n"
		"   idle        4  e      -        -         -\n");
	gen_fini(&gen);
}

static void test_callers_are_listed(void **state)
{
	struct flat_options options = { .callers = true };
	struct gen gen;

	gen_init(&gen, false);
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(&gen, 5, 10, 10, "p");
	sample(&gen, 10, 0, 7, 0x1310, 0x1111, 0x1011);
	sample(&gen, 10, 0, 3, 0x1320, 0x1211, 0x1022);
	check_text(&gen, &options,
		"# 10 samples of 1 event in 0.000 s on 1 CPU\n"
		"# event 1: 10 samples, 0 of them idle, 0 lost\n"
		"  share  samples  event    process  function  file\n"
		"100.00%       10  event 1  p        work      /bin/a\n"
		" 70.00%        7  <-       p        call_a    /bin/a\n"
		" 30.00%        3  <-       p        call_b    /bin/a\n");
	options.total = true;
	check_text(&gen, &options,
		"# 10 samples of 1 event in 0.000 s on 1 CPU\n"
		"# event 1: 10 samples, 0 of them idle, 0 lost\n"
		"  total    share  samples  event    process  function  file\n"
		"100.00%  100.00%       10  event 1  p        work      /bin/a\n"
		" 70.00%        -        7  <-       p        call_a    /bin/a\n"
		" 30.00%        -        3  <-       p        call_b    /bin/a\n"
		"100.00%    0.00%        0  event 1  p        main      /bin/a\n"
		"100.00%        -       10  <-       p        -         -\n"
		" 70.00%    0.00%        0  event 1  p        call_a    /bin/a\n"
		" 70.00%        -        7  <-       p        main      /bin/a\n"
		" 30.00%    0.00%        0  event 1  p        call_b    /bin/a\n"
		" 30.00%        -        3  <-       p        main      /bin/a\n");
	gen_fini(&gen);
}

/* A function that calls itself is counted once in the total, under its first caller. */
static void test_recursive_function_is_counted_once(void **state)
{
	struct flat_options options = { .callers = true, .total = true };
	struct gen gen;

	gen_init(&gen, false);
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	sample(&gen, 10, 0, 4, 0x1310, 0x1321, 0x1011);
	check_text(&gen, &options,
		"# 4 samples of 1 event in 0.000 s on 1 CPU\n"
		"# event 1: 4 samples, 0 of them idle, 0 lost\n"
		"  total    share  samples  event    process  function  file\n"
		"100.00%  100.00%        4  event 1  pid 10   work      /bin/a\n"
		"100.00%        -        4  <-       pid 10   main      /bin/a\n"
		"100.00%    0.00%        0  event 1  pid 10   main      /bin/a\n"
		"100.00%        -        4  <-       pid 10   -         -\n");
	gen_fini(&gen);
}

/* Names chosen by users stay in their line and can't control the terminal. Long ones are cut. */
static void test_names_are_escaped_and_cut(void **state)
{
	struct flat_options options = { .own = false };
	g_autofree char *path = NULL, *cut = NULL;
	uint64_t kernel = 0xffffffff81000000;
	char *text, *end;
	size_t asked;
	struct gen gen;
	char long_name[400];

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[0] = '/';
	long_name[sizeof(long_name) - 1] = '\0';
	gen_init(&gen, false);
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/tmp/a\n\033[31m\\\302\233b\377\303\244");
	gen_comm(&gen, 5, 10, 10, "");
	gen_mmap(&gen, 5, 11, 0x1000, 0x1000, 0, long_name);
	gen_mmap(&gen, 5, 12, 0x1000, 0x1000, 0, "");
	sample(&gen, 10, 0, 3, 0x1310, 0, 0);
	sample(&gen, 11, 0, 2, 0x1310, 0, 0);
	sample(&gen, 12, 0, 1, 0x1310, 0, 0);
	gen_kernel_mmap(&gen, 5, kernel, 0x1000, "[kernel.kallsyms]");
	gen_trace(&gen, 1, 1, 100, 13, 0, 1, &kernel);
	text = write_flat(&gen, &options, &asked);
	assert_int_equal(asked, 4); /* once a file; the kernel is one */
	assert_non_null(strstr(text, "  pid 13   0xffffffff81000000"));
	assert_non_null(strstr(text, "  [kernel.kallsyms]\n"));
	assert_non_null(strstr(text,
		"  event 1  -        a\\x0a\\x1b[31m\\x5c\\xc2\\x9bb\\xff\303\244+0x310"));
	assert_non_null(strstr(text, "  /tmp/a\\x0a\\x1b[31m\\x5c\\xc2\\x9bb\\xff\303\244\n"));
	assert_null(strchr(text, '\033'));
	cut = g_strndup(long_name, 256);
	path = g_strdup_printf("  %s...\n", cut);
	assert_non_null(strstr(text, path));
	end = strstr(text, "  pid 12   -+0x310 ");
	assert_non_null(end);
	assert_memory_equal(strchr(end, '\n') - 3, "  -", 3);
	free(text);
	gen_fini(&gen);
}

static void test_empty_capture_has_a_heading_only(void **state)
{
	struct flat_options options = { .own = false };
	const struct summary_source file = { .name = "f" };
	struct summary_source mount = { .name = "m", .control = "/mnt/kpctl" };
	const uint64_t times[] = { 0, 0, 0, 2500000000, 0 };
	struct gen gen;
	size_t asked;
	char *text;

	gen_init(&gen, false);
	check_text(&gen, &options, "# nothing captured yet: echo start > kpctl\n");
	gen_event(&gen, 1, 1, KPROF_EVENT_FALLBACK, "default");
	gen_throttle(&gen, 5, 0, 1, 1);
	gen_begin(&gen);
	gen_end(&gen, 1000);
	check_text(&gen, &options,
		"# no samples were taken\n"
		"# cpu-clock (the machine has no cycles counter): 0 samples, "
		"0 of them idle, 0 lost, throttled 1 time for 0.000 s\n"
		"# 1 record of an unknown type skipped\n");
	options.source = &file;
	gen_cpu_times(&gen, 1000000, 2501000000, 2, times);
	gen_lost(&gen, 0, 1, KPROF_LOST_QUEUE, 7);
	text = write_flat(&gen, &options, &asked);
	assert_true(g_str_has_prefix(text, "# no samples were taken in 2.500 s, and 7 were lost\n"));
	free(text);
	gen_fini(&gen);
	gen_init(&gen, false);
	check_text(&gen, &options, "# nothing was captured: there are no records\n");
	options.source = &mount;
	check_text(&gen, &options, "# nothing captured yet: echo start > /mnt/kpctl\n");
	mount.run_ns = 1500000000;
	check_text(&gen, &options, "# no samples were taken in 1.500 s\n");
	gen_fini(&gen);
}

/* Each event for itself, in the order in which they were announced. */
static void test_each_event_has_a_section(void **state)
{
	struct flat_options options = { .own = false };
	uint64_t frame = 0x1310, other = 0x1010;
	struct gen gen;
	int i;

	gen_init(&gen, false);
	gen_event(&gen, 2, 1000, 0, "two");
	gen_event(&gen, 1, 1, 0, "one");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(&gen, 5, 10, 10, "p");
	for (i = 0; i < 3; i++)
		gen_trace(&gen, 2, 1, 100, 10, 0, 1, &frame);
	gen_trace(&gen, 2, 1, 2000000100, 10, 0, 1, &other);
	gen_trace(&gen, 2, 2, 100, 10, 0, 1, &other);
	check_text(&gen, &options,
		"# 5 samples of 2 events in 2.000 s on 1 CPU\n"
		"# two: 1 sample, 0 of them idle, 0 lost\n"
		"# one: 4 samples, 0 of them idle, 0 lost\n"
		"  share  samples  event  process  function  file\n"
		"100.00%        1  two    p        main      /bin/a\n"
		" 75.00%        3  one    p        work      /bin/a\n"
		" 25.00%        1  one    p        main      /bin/a\n");
	gen_fini(&gen);
}

/* Times away from the CPU have a column, and their number of samples says little. */
static void test_times_have_a_column(void **state)
{
	struct flat_options options = { .own = false };
	uint64_t frame = 0x1310, other = 0x1010;
	struct gen gen;

	gen_init(&gen, false);
	gen_event(&gen, 1, 1, KPROF_EVENT_OFFCPU, "offcpu");
	gen_event(&gen, 2, 1, 0, "e");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(&gen, 5, 10, 10, "p");
	gen_period(&gen, 0, 1, 750000000);
	gen_away(&gen, 100, 10, 0, 750000000);
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &frame);
	gen_period(&gen, 0, 1, 125000500);
	gen_away(&gen, 100, 10, 0, 125000500);
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &other);
	gen_period(&gen, 0, 1, 124999500);
	gen_away(&gen, 100, 10, 0, 124999500);
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &other);
	gen_trace(&gen, 2, 2, 100, 10, 0, 1, &other);
	check_text(&gen, &options,
		"# 4 samples of 2 events in 0.000 s on 1 CPU\n"
		"# offcpu: 3 samples, 0 of them idle, 0 lost, 1.000 s off CPU\n"
		"# e: 1 sample, 0 of them idle, 0 lost\n"
		"  share  samples            ms  event   process  function  file\n"
		" 75.00%        1       750.000  offcpu  p        work      /bin/a\n"
		" 25.00%        2       250.000  offcpu  p        main      /bin/a\n"
		"100.00%        1             -  e       p        main      /bin/a\n");
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_are_computed),
		cmocka_unit_test(test_own_samples_are_counted_on_request),
		cmocka_unit_test(test_callers_are_listed),
		cmocka_unit_test(test_recursive_function_is_counted_once),
		cmocka_unit_test(test_names_are_escaped_and_cut),
		cmocka_unit_test(test_empty_capture_has_a_heading_only),
		cmocka_unit_test(test_each_event_has_a_section),
		cmocka_unit_test(test_times_have_a_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
