/* SPDX-License-Identifier: MIT */
/* formats/tree: the text of small captures has the figures that were calculated by hand. */
#include "tests/unit/view_fixture.h"

#include "formats/tree.h"

static void begin(struct gen *gen)
{
	gen_init(gen, false);
	gen_event(gen, 1, 1, 0, "e");
	gen_mmap(gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(gen, 5, 10, 10, "prog");
}

/* work: 7 for call_a, 2 for call_b; 1 in main itself. All of ten, so each is ten percent. */
static void test_shares_are_computed(void **state)
{
	struct gen gen;

	begin(&gen);
	view_sample(&gen, 1, 10, 7, 0x1310, 0x1111, 0x1011);
	view_sample(&gen, 1, 10, 2, 0x1320, 0x1211, 0x1022);
	view_sample(&gen, 1, 10, 1, 0x1010, 0, 0);
	view_sample(&gen, 1, GEN_IDLE, 4, 0x5, 0, 0);
	view_check(&gen, tree_write,
		"# 14 samples of 1 event in 0.000 s on 1 CPU\n"
		"# e: 14 samples, 4 of them idle, 0 lost\n"
		"# left out: what is below 0.50% of its event's samples that are not idle\n"
		"\n"
		"e, 10 samples:\n"
		"  total     self  samples    function\n"
		"100.00%    0.00%       10  - prog\n"
		"100.00%   10.00%       10    main  (/bin/a)\n"
		" 70.00%    0.00%        7    - call_a\n"
		" 70.00%   70.00%        7      work\n"
		" 20.00%    0.00%        2    - call_b\n"
		" 20.00%   20.00%        2      work\n"
		"\n"
		"e, 10 samples, by where they were taken, callers below:\n"
		"  share  samples    function\n"
		" 90.00%        9  - work  (/bin/a)\n"
		" 70.00%        7    - call_a\n"
		" 70.00%        7      main\n"
		" 70.00%        7      prog\n"
		" 20.00%        2    - call_b\n"
		" 20.00%        2      main\n"
		" 20.00%        2      prog\n"
		" 10.00%        1  - main  (/bin/a)\n"
		" 10.00%        1    prog\n");
	gen_fini(&gen);
}

/* 999 and 1 of 1,000: the one, 0.1 %, is named where it is left out. 5 of 1,000 would be shown. */
static void test_small_shares_are_left_out_and_named(void **state)
{
	char *text;
	struct gen gen;

	begin(&gen);
	view_sample(&gen, 1, 10, 989, 0x1310, 0x1011, 0);
	view_sample(&gen, 1, 10, 5, 0x1110, 0x1011, 0);
	view_sample(&gen, 1, 10, 4, 0x1210, 0x1011, 0);
	view_sample(&gen, 1, 10, 2, 0x5, 0x1011, 0);
	text = view_text(&gen, tree_write, NULL, 0);
	assert_non_null(strstr(text,
		"100.00%    0.00%     1000    main  (/bin/a)\n"
		" 98.90%   98.90%      989    - work\n"
		"  0.50%    0.50%        5    - call_a\n"
		"  0.60%        -        6    - ... 2 more below 0.50%\n"
		"\n"));
	assert_non_null(strstr(text, "# 2 samples (0.20%) at addresses without a symbol\n"));
	free(text);
	gen_fini(&gen);
}

/* Each event for itself, weighed: of event 2, one sample weighs nine, the other one. */
static void test_each_event_has_a_tree(void **state)
{
	char *text;
	struct gen gen;

	begin(&gen);
	gen_event(&gen, 2, 1, 0, "f");
	view_sample(&gen, 1, 10, 5, 0x1010, 0, 0);
	gen_period(&gen, 0, 2, 9);
	view_sample(&gen, 2, 10, 1, 0x1110, 0, 0);
	gen_period(&gen, 0, 2, 1);
	view_sample(&gen, 2, 10, 1, 0x1310, 0, 0);
	text = view_text(&gen, tree_write, NULL, 0);
	assert_non_null(strstr(text,
		"\ne, 5 samples:\n"
		"  total     self  samples    function\n"
		"100.00%    0.00%        5  - prog\n"
		"100.00%  100.00%        5    main  (/bin/a)\n"
		"\n"
		"f, 2 samples:\n"
		"  total     self  samples    function\n"
		"100.00%    0.00%        2  - prog\n"
		" 90.00%   90.00%        1    - call_a  (/bin/a)\n"
		" 10.00%   10.00%        1    - work  (/bin/a)\n"));
	free(text);
	gen_fini(&gen);
}

static void test_empty_capture_has_a_heading_only(void **state)
{
	struct gen gen;

	gen_init(&gen, false);
	view_check(&gen, tree_write,
		"# nothing captured yet: echo start > kpctl\n");
	gen_fini(&gen);
}

static void test_cancelled_view_is_interrupted(void **state)
{
	struct gen gen;

	begin(&gen);
	view_sample(&gen, 1, 10, 1, 0x1010, 0, 0);
	free(view_text(&gen, tree_write, view_is_cancelled, -EINTR));
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_are_computed),
		cmocka_unit_test(test_small_shares_are_left_out_and_named),
		cmocka_unit_test(test_each_event_has_a_tree),
		cmocka_unit_test(test_empty_capture_has_a_heading_only),
		cmocka_unit_test(test_cancelled_view_is_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
