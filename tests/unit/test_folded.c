/* SPDX-License-Identifier: MIT */
/* formats/folded: the lines of small captures have the figures that were calculated by hand. */
#include "tests/unit/view_fixture.h"

#include "formats/folded.h"

#define ENTRY 0xffffffff81000010ull
#define READ 0xffffffff81000110ull

static void begin(struct gen *gen)
{
	gen_init(gen, false);
	gen_clock(gen, 1, 2);
	gen_kernel_mmap(gen, 5, 0xffffffff81000000, 0x1000000, "[kernel.kallsyms]");
	gen_mmap(gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(gen, 5, 10, 10, "prog");
	gen_comm(gen, 5, 11, 11, "q 1;2");
	gen_comm(gen, 5, 12, 12, "kprofs");
}

/* Other addresses of the same functions are the same stack; each sample is in one line. */
static void test_equal_stacks_are_one_line(void **state)
{
	uint64_t both[] = { READ, ENTRY, GEN_USER, 0x1310, 0x1011 };
	struct gen gen;

	begin(&gen);
	gen_event(&gen, 1, 1000, 0, "e");
	view_sample(&gen, 1, 10, 3, 0x1310, 0x1111, 0x1011);
	view_sample(&gen, 1, 10, 4, 0x1320, 0x1121, 0x1021);
	view_sample(&gen, 1, 10, 2, 0x1310, 0x1211, 0x1011);
	view_sample(&gen, 1, 10, 1, 0x1110, 0x1011, 0);
	gen_trace(&gen, 1, 1, 100, 10, 1, 5, both);
	view_sample(&gen, 1, 11, 1, 0x5, 0, 0);
	view_sample(&gen, 1, 11, 6, 0, 0, 0);
	view_sample(&gen, 1, 12, 8, 0x5, 0, 0);
	view_sample(&gen, 1, GEN_IDLE, 9, 0x5, 0, 0);
	view_check(&gen, folded_write,
		"prog;main;call_a 1\n"
		"prog;main;call_a;work 7\n"
		"prog;main;call_b;work 2\n"
		"prog;main;work;entry_[k];read_[k] 1\n"
		"q_1:2 6\n"
		"q_1:2;[unknown] 1\n"
		"[idle] 9\n"
		"[kprofs] 8\n");
	gen_fini(&gen);
}

/* Inlined functions stand below the one around them, in the middle of a stack too. */
static void test_inlined_functions_stand_below_their_caller(void **state)
{
	struct gen gen;

	begin(&gen);
	gen_event(&gen, 1, 1000, 0, "e");
	view_sample(&gen, 1, 10, 3, 0x13f0, 0x1011, 0);
	view_sample(&gen, 1, 10, 2, 0x1310, 0x10f8, 0);
	view_check(&gen, folded_write,
		"prog;main;work;inner_[i];innermost_[i] 3\n"
		"prog;main;inner_[i];innermost_[i];work 2\n");
	gen_fini(&gen);
}

/* With several events each line begins with its event; the counts are samples, of any weight. */
static void test_lines_begin_with_their_event(void **state)
{
	struct gen gen;

	begin(&gen);
	gen_event(&gen, 2, 1000, 0, "two:period=1000");
	gen_event(&gen, 1, 1, 0, "one");
	gen_event(&gen, 3, 1, 0, "none");
	view_sample(&gen, 2, 10, 3, 0x1010, 0, 0);
	view_sample(&gen, 1, 10, 2, 0x1010, 0, 0);
	view_sample(&gen, 1, GEN_IDLE, 1, 0x5, 0, 0);
	view_check(&gen, folded_write,
		"two:period=1000;prog;main 3\n"
		"one;prog;main 2\n"
		"one;[idle] 1\n");
	gen_fini(&gen);
}

/* No name breaks the line: the last blank is before the count, semicolons separate frames. */
static void test_names_do_not_break_the_line(void **state)
{
	struct gen gen;

	begin(&gen);
	gen_comm(&gen, 5, 13, 13, "#!x");
	gen_comm(&gen, 5, 14, 14, "");
	gen_mmap(&gen, 5, 13, 0x1000, 0x1000, 0, "/bin/a");
	view_sample(&gen, 1, 13, 3, 0x1410, 0x1011, 0);
	view_sample(&gen, 1, 14, 1, 0, 0, 0);
	view_sample(&gen, 1, 15, 2, 0, 0, 0);
	view_check(&gen, folded_write,
		"_#!x;main;a:b_1\\x0a<&> 3\n"
		"pid_15 2\n"
		"- 1\n");
	gen_fini(&gen);
}

static void test_empty_capture_has_no_line(void **state)
{
	struct gen gen;

	gen_init(&gen, false);
	view_check(&gen, folded_write, "");
	gen_fini(&gen);
}

static void test_cancelled_view_is_interrupted(void **state)
{
	struct gen gen;

	begin(&gen);
	view_sample(&gen, 1, 10, 1, 0x1010, 0, 0);
	free(view_text(&gen, folded_write, view_is_cancelled, -EINTR));
	gen_fini(&gen);
}

/* Addresses without a symbol are one function a file, in the order of hotter ones first. */
static void test_unresolved_addresses_are_one_function_a_file(void **state)
{
	struct gen gen;

	begin(&gen);
	gen_mmap(&gen, 5, 10, 0x3000, 0x1000, 0, "/usr/lib/b.so.1");
	view_sample(&gen, 1, 10, 3, 0x3010, 0x1011, 0);
	view_sample(&gen, 1, 10, 2, 0x3020, 0x1021, 0);
	view_sample(&gen, 1, 10, 1, 0x1f00, 0x1021, 0);
	view_sample(&gen, 1, 10, 1, 0x9010, 0x9020, 0);
	view_check(&gen, folded_write,
		"prog;main;[b.so.1] 5\n"
		"prog;main;[a] 1\n"
		"prog;[unknown] 1\n");
	gen_fini(&gen);
}

/* A line names no files: what has the same names is one stack. */
static void test_files_of_the_same_name_are_one_stack(void **state)
{
	struct gen gen;

	begin(&gen);
	gen_mmap(&gen, 5, 10, 0x3000, 0x1000, 0, "/lib/b");
	gen_mmap(&gen, 5, 10, 0x5000, 0x1000, 0, "/usr/lib/b");
	view_sample(&gen, 1, 10, 3, 0x1310, 0x3011, 0x1011);
	view_sample(&gen, 1, 10, 2, 0x1310, 0x5011, 0x1011);
	view_check(&gen, folded_write, "prog;main;[b];work 5\n");
	gen_fini(&gen);
}

/* As deep as a record can be: our code does not recurse, and every frame is in its place. */
static void test_deepest_stack_is_written_whole(void **state)
{
	enum { DEPTH = 8000 };
	uint64_t *frames = g_new(uint64_t, DEPTH);
	GString *expected = g_string_new("prog");
	struct gen gen;
	int i;

	for (i = 0; i < DEPTH; i++) {
		frames[i] = i % 2 ? 0x1311 : 0x1111;
		g_string_append(expected, i % 2 ? ";call_a" : ";work"); /* outermost first */
	}
	g_string_append(expected, " 1\n");
	begin(&gen);
	gen_trace(&gen, 2, 1, 100, 10, 0, DEPTH, frames);
	view_check(&gen, folded_write, expected->str);
	g_string_free(expected, TRUE);
	g_free(frames);
	gen_fini(&gen);
}

/* Counts of a wall are us, and both sides are apart. */
static void test_times_are_counted_in_us(void **state)
{
	struct gen gen;

	view_wall(&gen);
	view_check(&gen, folded_write,
		"prog (off CPU);main;call_a;work 6000\n"
		"prog (off CPU);main;call_b 1000\n"
		"prog;main;call_a;work 3000\n");
	gen_fini(&gen);
}

/*
 * With wakers a stack goes on with the frames of the waker, the innermost first, and its name; inlined
 * functions are within theirs. Without the option it ends.
 */
static void test_stacks_go_on_with_those_of_wakers(void **state)
{
	struct gen gen;

	view_woken(&gen);
	view_check(&gen, folded_write, "prog;main;call_a;work 9000\n");
	view_options.wakers = true;
	view_check(&gen, folded_write,
		"prog;main;call_a;work 2000\n"
		"prog;main;call_a;work;--;read_[k];entry_[k];innermost_[i];inner_[i];call_b;main;by 6000\n"
		"prog;main;call_a;work;--;read_[k];swapper/0 1000\n");
	view_options.wakers = false;
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_stacks_are_one_line),
		cmocka_unit_test(test_inlined_functions_stand_below_their_caller),
		cmocka_unit_test(test_lines_begin_with_their_event),
		cmocka_unit_test(test_names_do_not_break_the_line),
		cmocka_unit_test(test_empty_capture_has_no_line),
		cmocka_unit_test(test_cancelled_view_is_interrupted),
		cmocka_unit_test(test_unresolved_addresses_are_one_function_a_file),
		cmocka_unit_test(test_files_of_the_same_name_are_one_stack),
		cmocka_unit_test(test_deepest_stack_is_written_whole),
		cmocka_unit_test(test_times_are_counted_in_us),
		cmocka_unit_test(test_stacks_go_on_with_those_of_wakers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
