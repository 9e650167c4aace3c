/* SPDX-License-Identifier: MIT */
/*
 * formats/difference, and the formats that show it: shares before and now, their change, and calls that are
 * in one capture only, have the values that were calculated by hand.
 */
#include "tests/unit/view_fixture.h"

#include <errno.h>

#include "formats/difference.h"
#include "formats/flame.h"
#include "formats/tree.h"

static void begin(struct gen *gen, const char *process)
{
	gen_init(gen, false);
	gen_event(gen, 1, 1, 0, "e");
	gen_mmap(gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(gen, 5, 10, 10, process);
}

/*
 * Before, of 10 samples: work 6 for call_a, 3 for call_b, 1 in main. Now, of 20: work 16 for call_a, 3 in
 * main, 1 in call_a itself; call_b is gone.
 */
static void begin_both(struct gen *before, struct gen *now)
{
	begin(before, "prog");
	view_sample(before, 1, 10, 6, 0x1310, 0x1111, 0x1011);
	view_sample(before, 1, 10, 3, 0x1320, 0x1211, 0x1022);
	view_sample(before, 1, 10, 1, 0x1010, 0, 0);
	view_sample(before, 1, GEN_IDLE, 5, 0x5, 0, 0); /* in no share */
	begin(now, "prog");
	view_sample(now, 1, 10, 16, 0x1330, 0x1121, 0x1031);
	view_sample(now, 1, 10, 3, 0x1010, 0, 0);
	view_sample(now, 1, 10, 1, 0x1110, 0x1011, 0);
}

static void check_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("missing: %s in %s", part, text);
}

static void test_tree_has_shares_of_both(void **state)
{
	struct gen before, now;
	char *text;

	begin_both(&before, &now);
	text = view_text_versus(&before, &now, tree_write, NULL, 0);
	assert_string_equal(text,
		"# 20 samples of 1 event in 0.000 s on 1 CPU\n"
		"# e: 20 samples, 0 of them idle, 0 lost\n"
		"# left out: what is below 0.50% of its event's samples that are not idle\n"
		"# compared with an earlier capture, of which the shares in column `before` are:\n"
		"# 15 samples of 1 event in 0.000 s on 1 CPU\n"
		"# e: 15 samples, 5 of them idle, 0 lost\n"
		"\n"
		"e, 20 samples:\n"
		"  share   before   change  samples    function\n"
		"100.00%  100.00%    +0.00       20  - prog\n"
		"100.00%  100.00%    +0.00       20    main  (/bin/a)\n"
		"      -   30.00%   -30.00        0    - call_b\n"
		" 85.00%   60.00%   +25.00       17    call_a\n"
		" 80.00%   60.00%   +20.00       16    work\n"
		"\n"
		"e, 20 samples, by where they were taken, callers below:\n"
		"  share   before   change  samples    function\n"
		" 80.00%   90.00%   -10.00       16  - work  (/bin/a)\n"
		"      -   30.00%   -30.00        0    - call_b\n"
		" 80.00%   60.00%   +20.00       16    call_a\n"
		" 80.00%   60.00%   +20.00       16    main\n"
		" 80.00%   60.00%   +20.00       16    prog\n"
		" 15.00%   10.00%    +5.00        3  - main  (/bin/a)\n"
		" 15.00%   10.00%    +5.00        3    prog\n"
		"  5.00%        -    +5.00        1  - call_a  (/bin/a)\n"
		"  5.00%        -    +5.00        1    main\n"
		"  5.00%        -    +5.00        1    prog\n");
	free(text);
	gen_fini(&before);
	gen_fini(&now);
}

static void test_flame_graph_has_colours_of_the_change(void **state)
{
	struct gen before, now;
	char *svg;

	begin_both(&before, &now);
	svg = view_text_versus(&before, &now, flame_write, NULL, 0);
	check_has(svg, ">Flame graph of 20 samples of 1 event in 0.000 s on 1 CPU, "
		       "compared with 15 samples of 1 event in 0.000 s on 1 CPU<");
	check_has(svg, "<title>main\n20 samples, 100.00%, 15.00% in itself\n"
		       "before 100.00%, change +0.00 points\n"
		       "/bin/a</title><rect class=\"z w\"");
	/* 85 % of 1180 pixels */
	check_has(svg, "<title>call_a\n17 samples, 85.00%, 5.00% in itself\n"
		       "before 60.00%, change +25.00 points\n"
		       "/bin/a</title><rect class=\"r4 w\" x=\"10.000\" y=\"166\" width=\"1003.000\"");
	check_has(svg, ">30.00% of the earlier samples of e were in calls that have no sample now; "
		       "the view tree names them.<");
	free(svg);
	/* the other way round it is less, and call_b is new */
	svg = view_text_versus(&now, &before, flame_write, NULL, 0);
	check_has(svg, "<title>call_a\n6 samples, 60.00%\nbefore 85.00%, change -25.00 points\n/bin/a</title>"
		       "<rect class=\"b4 w\"");
	check_has(svg, "<title>call_b\n3 samples, 30.00%\nnot in the earlier capture\n/bin/a</title>"
		       "<rect class=\"r4 w\"");
	assert_null(strstr(svg, "of the earlier samples"));
	free(svg);
	gen_fini(&before);
	gen_fini(&now);
}

static void test_flat_has_shares_of_both(void **state)
{
	struct gen before, now;
	char *text;

	begin_both(&before, &now);
	view_sample(&before, 1, 10, 2, 0x1f10, 0, 0); /* addresses without a symbol: one row */
	view_sample(&before, 1, 10, 2, 0x1f20, 0, 0);
	text = view_text_versus(&before, &now, view_find("flat")->write, NULL, 0);
	/* of 14 and of 20 samples */
	check_has(text, "\n1:share  samples  2:share  samples    change  event  process  function  file\n");
	check_has(text, "\n 64.29%        9   80.00%       16   +15.71%  e      prog     work      /bin/a\n");
	check_has(text, "\n      -        -    5.00%        1       +++  e      prog     call_a    /bin/a\n");
	check_has(text, "\n  7.14%        1   15.00%        3    +7.86%  e      prog     main      /bin/a\n");
	check_has(text, "\n 28.57%        4        -        -       ---  e      prog     [a]       /bin/a\n");
	free(text);
	gen_fini(&before);
	gen_fini(&now);
}

/* An event that has no samples now has a line for what it had before. */
static void test_event_without_samples_now_is_shown(void **state)
{
	struct gen before, now;
	char *text;

	begin(&before, "prog");
	view_sample(&before, 1, 10, 4, 0x1010, 0, 0);
	begin(&now, "prog");
	text = view_text_versus(&before, &now, tree_write, NULL, 0);
	check_has(text, "\ne, 0 samples:\n  share   before   change  samples    function\n"
			"      -  100.00%  -100.00        0  - prog\n");
	free(text);
	gen_fini(&before);
	gen_fini(&now);
}

/* Nothing corresponds to what another event or another process has. */
static void test_other_processes_do_not_correspond(void **state)
{
	struct gen before, now;
	char *text;

	begin(&before, "other");
	view_sample(&before, 1, 10, 4, 0x1010, 0, 0);
	begin(&now, "prog");
	view_sample(&now, 1, 10, 4, 0x1010, 0, 0);
	text = view_text_versus(&before, &now, tree_write, NULL, 0);
	check_has(text, "\n      -  100.00%  -100.00        0  - other\n"
			"100.00%        -  +100.00        4  - prog\n"
			"100.00%        -  +100.00        4    main  (/bin/a)\n");
	free(text);
	gen_fini(&before);
	begin(&before, "prog");
	text = view_text_versus(&before, &now, tree_write, NULL, 0); /* a capture without samples */
	check_has(text, "\n100.00%        -  +100.00        4  - prog\n");
	free(text);
	gen_fini(&before);
	gen_fini(&now);
}

/* How often cancellation may still be asked for before it is reported. */
static bool is_due(void *arg)
{
	int *left = arg;

	return (*left)-- == 0;
}

/* Both trees, the nodes without a counterpart: each is a loop with looks of its own. */
#define LOOKS 3

static int match_cancelled(const struct view_input *input, FILE *out, struct err *err)
{
	const struct calltree_options options = { .by_name = true };
	struct difference *difference = NULL;
	struct calltree *tree, *before;
	int left, look;
	const struct cancel cancel = { is_due, &left, -1 };

	(void)out;
	assert_int_equal(calltree_create(input, &options, &tree, err), 0);
	assert_int_equal(calltree_create(input->before, &options, &before, err), 0);
	for (look = 0; look < LOOKS; look++) {
		left = look;
		assert_int_equal(difference_create(before, tree, &cancel, &difference), -EINTR);
		assert_null(difference);
	}
	left = LOOKS;
	assert_int_equal(difference_create(before, tree, &cancel, &difference), 0);
	difference_destroy(difference);
	calltree_destroy(before);
	calltree_destroy(tree);
	return 0;
}

static void test_matching_can_be_cancelled(void **state)
{
	struct gen before, now;

	begin_both(&before, &now);
	free(view_text_versus(&before, &now, match_cancelled, NULL, 0));
	gen_fini(&before);
	gen_fini(&now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree_has_shares_of_both),
		cmocka_unit_test(test_flame_graph_has_colours_of_the_change),
		cmocka_unit_test(test_flat_has_shares_of_both),
		cmocka_unit_test(test_event_without_samples_now_is_shown),
		cmocka_unit_test(test_other_processes_do_not_correspond),
		cmocka_unit_test(test_matching_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
