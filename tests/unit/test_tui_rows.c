/* SPDX-License-Identifier: MIT */
/*
 * tui/rows and tui/selection: the rows of small captures have the figures that were calculated by
 * hand.
 */
#include "tests/unit/view_fixture.h"

#include <inttypes.h>

#include "tui/rows.h"
#include "tui/selection.h"

/* functions of /bin/a as view_resolve() names them; a caller is looked up one byte before its address */
#define AT(function) (0x1000 + 256 * (function) + 16)
enum { MAIN, CALL_A, CALL_B, WORK, ODD };

struct fixture {
	struct gen gen;
	struct profile *profile;
	struct symbols *symbols;
	struct functions *names;
	struct rows *rows;
	struct selection_choice choice;
};

static void sample(struct fixture *f, uint64_t event, uint32_t pid, int count, const uint64_t *frames)
{
	gen_trace(&f->gen, 2, event, 10, pid, 0, (uint16_t)count, frames);
}

/*
 * Of event 1 in process 10, "prog": 2 samples of work < call_a < main, 1 of work < call_b < main, 1 of
 * call_a < call_a < main; in its thread 12 one of main. In process 11, "other": 1 of work < main. Of
 * event 2 one of main.
 */
static void add_samples(struct fixture *f)
{
	const uint64_t a[] = { AT(WORK), AT(CALL_A), AT(MAIN) }, b[] = { AT(WORK), AT(CALL_B), AT(MAIN) };
	const uint64_t twice[] = { AT(CALL_A), AT(CALL_A), AT(MAIN) }, other[] = { AT(WORK), AT(MAIN) };
	const uint64_t leaf[] = { AT(MAIN) };

	sample(f, 1, 10, 3, a);
	sample(f, 1, 10, 3, a);
	sample(f, 1, 10, 3, b);
	sample(f, 1, 10, 3, twice);
	sample(f, 1, 11, 2, other);
	sample(f, 2, 10, 1, leaf);
	gen_task(&f->gen, 0, 10, 12);
	sample(f, 1, 10, 1, leaf);
}

static int begin(void **state)
{
	struct fixture *f = g_new0(struct fixture, 1);
	struct decoder decoder;
	uint32_t pid;

	gen_init(&f->gen, false);
	gen_clock(&f->gen, 1, 2);
	gen_event(&f->gen, 1, 1, 0, "one");
	gen_event(&f->gen, 2, 1, 0, "two");
	for (pid = 10; pid <= 11; pid++) {
		gen_mmap(&f->gen, 5, pid, 0x1000, 0x1000, 0, "/bin/a");
		gen_comm(&f->gen, 5, pid, pid, pid == 10 ? "prog" : "other");
	}
	add_samples(f);
	decode_init_memory(&decoder, f->gen.bytes->data, f->gen.bytes->len);
	assert_int_equal(profile_load(&decoder, &f->profile, NULL), 0);
	decode_fini(&decoder);
	f->symbols = symbols_create(&view_source, NULL, 0);
	f->names = functions_create(f->profile, f->symbols, NULL);
	f->rows = rows_create();
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	rows_destroy(f->rows);
	functions_destroy(f->names);
	symbols_destroy(f->symbols);
	profile_destroy(f->profile);
	gen_fini(&f->gen);
	g_free(f);
	return 0;
}

static void take(struct fixture *f)
{
	struct err err = { "" };

	assert_int_equal(
		rows_take(f->rows, selection_create(f->profile, &f->choice), f->names, &err), 0);
}

static void set(struct fixture *f, enum rows_kind kind, enum rows_order order, const char *filter)
{
	const struct rows_options options = { .kind = kind, .order = order, .filter = filter };

	rows_set(f->rows, &options);
}

/* "PROCESS FUNCTION SELF/TOTAL", indented, a line a row; + can be expanded, - is */
static void assert_rows(const struct fixture *f, const char *expected)
{
	g_autoptr(GString) text = g_string_new(NULL);
	uint32_t i;

	for (i = 0; i < f->rows->shown->len; i++) {
		const struct row *row = rows_at(f->rows, i);

		g_string_append_printf(text, "%*s%s%s%s%s %" PRIu64 "/%" PRIu64 "\n",
			2 * (int)row->depth, "", row->expanded ? "-" : row->expandable ? "+" : "",
			row->process ? row->process : "", row->process ? " " : "",
			rows_name(f->rows, row), row->self.samples, row->total.samples);
	}
	assert_string_equal(text->str, expected);
}

static struct row *find(const struct fixture *f, const char *name, uint32_t depth)
{
	uint32_t i;

	for (i = 0; i < f->rows->shown->len; i++) {
		struct row *row = rows_at(f->rows, i);

		if (row->depth == depth && strcmp(rows_name(f->rows, row), name) == 0)
			return row;
	}
	fail_msg("no row %s", name);
	return NULL;
}

static void test_functions_with_samples_expand_to_callers(void **state)
{
	struct fixture *f = *state;

	take(f);
	assert_rows(f, "+prog work 3/3\nprog main 1/5\n+prog call_a 1/3\n+other work 1/1\n");
	rows_expand(f->rows, find(f, "work", 0), true);
	rows_expand(f->rows, find(f, "call_a", 1), true);
	assert_rows(f, "-prog work 3/3\n"
		       "  -call_a 0/2\n"
		       "    main 0/2\n"
		       "  +call_b 0/1\n"
		       "prog main 1/5\n+prog call_a 1/3\n+other work 1/1\n");
	rows_expand(f->rows, find(f, "work", 0), false);
	assert_rows(f, "+prog work 3/3\nprog main 1/5\n+prog call_a 1/3\n+other work 1/1\n");
}

static void test_callers_by_total_are_of_the_outermost_calls(void **state)
{
	struct fixture *f = *state;

	set(f, ROWS_CALLERS, ROWS_BY_TOTAL, "");
	take(f);
	rows_expand(f->rows, find(f, "call_a", 0), true);
	assert_rows(f, "prog main 1/5\n-prog call_a 1/3\n  main 0/3\n+prog work 3/3\n"
		       "other main 0/1\n+other work 1/1\n+prog call_b 0/1\n");
}

static void test_functions_expand_to_callees(void **state)
{
	struct fixture *f = *state;

	set(f, ROWS_CALLEES, ROWS_BY_TOTAL, "");
	take(f);
	rows_expand(f->rows, find(f, "call_a", 0), true);
	assert_rows(f, "+prog main 1/5\n"
		       "-prog call_a 1/3\n"
		       "  work 2/2\n"
		       "  call_a 1/1\n"
		       "prog work 3/3\n+other main 0/1\nother work 1/1\n+prog call_b 0/1\n");
}

static void test_the_tree_begins_with_the_processes(void **state)
{
	struct fixture *f = *state;

	set(f, ROWS_TREE, ROWS_BY_TOTAL, "");
	take(f);
	assert_true(rows_expand_all(f->rows, rows_at(f->rows, 0)));
	assert_rows(f, "-prog 0/5\n"
		       "  -main 1/5\n"
		       "    -call_a 0/3\n"
		       "      work 2/2\n"
		       "      call_a 1/1\n"
		       "    -call_b 0/1\n"
		       "      work 1/1\n"
		       "+other 0/1\n");
	rows_collapse_all(f->rows);
	assert_rows(f, "+prog 0/5\n+other 0/1\n");
}

static void test_a_selection_has_one_event_or_thread(void **state)
{
	struct fixture *f = *state;
	GArray *threads;

	f->choice.event = 1;
	take(f);
	assert_rows(f, "prog main 1/1\n");
	assert_int_equal(f->rows->whole, 1);
	f->choice = (struct selection_choice){ .event = 0, .one_thread = true, .pid = 10, .tid = 12 };
	take(f);
	assert_rows(f, "prog main 1/1\n");
	threads = selection_threads(f->profile, &f->choice);
	assert_int_equal(threads->len, 3);
	assert_int_equal(g_array_index(threads, struct selection_thread, 0).tid, 10);
	assert_int_equal(g_array_index(threads, struct selection_thread, 0).count.samples, 4);
	g_array_free(threads, TRUE);
}

static void test_what_is_expanded_stays_so_in_the_next_profile(void **state)
{
	struct fixture *f = *state;
	uint64_t key;

	take(f);
	rows_expand(f->rows, find(f, "work", 0), true);
	key = find(f, "call_b", 1)->key;
	take(f);
	set(f, ROWS_CALLERS, ROWS_BY_FUNCTION, "");
	assert_ptr_equal(rows_at(f->rows, rows_find_key(f->rows, key)), find(f, "call_b", 1));
	assert_int_equal(rows_find_key(f->rows, key + 1), UINT32_MAX);
}

static void test_a_filter_leaves_out_rows_and_counts_them(void **state)
{
	struct fixture *f = *state;

	take(f);
	set(f, ROWS_CALLERS, ROWS_BY_SELF, "CALL_");
	assert_rows(f, "+prog call_a 1/3\n");
	assert_int_equal(f->rows->filtered, 3);
	assert_int_equal(f->rows->whole, 6); /* shares are of all samples */
	set(f, ROWS_CALLERS, ROWS_BY_SELF, "othe");
	assert_rows(f, "+other work 1/1\n");
}

static void test_rows_below_the_limit_are_counted(void **state)
{
	/* of 6 samples: 40 % are 2.4 */
	struct rows_options options = { .order = ROWS_BY_SELF, .filter = "", .limit = 40 };
	struct fixture *f = *state;

	take(f);
	rows_set(f->rows, &options);
	assert_rows(f, "+prog work 3/3\n");
	assert_int_equal(f->rows->limited, 3);
	options.order = ROWS_BY_TOTAL;
	rows_set(f->rows, &options);
	assert_rows(f, "prog main 1/5\n+prog call_a 1/3\n+prog work 3/3\n");
	assert_int_equal(f->rows->limited, 3);
	options.filter = "prog";
	rows_set(f->rows, &options);
	assert_int_equal(f->rows->limited, 1);
	assert_int_equal(f->rows->filtered, 2);
}

static void test_a_search_goes_on_round_the_end(void **state)
{
	struct fixture *f = *state;

	take(f);
	assert_int_equal(rows_search(f->rows, "work", 0, false), 0);
	assert_int_equal(rows_search(f->rows, "work", 1, false), 3);
	assert_int_equal(rows_search(f->rows, "work", 2, true), 0);
	assert_int_equal(rows_search(f->rows, "Call_A", 3, false), 2);
	assert_int_equal(rows_search(f->rows, "nothing", 0, false), UINT32_MAX);
}

static void test_a_profile_without_samples_has_no_rows(void **state)
{
	struct fixture *f = *state;

	f->choice.event = 7;
	take(f);
	assert_rows(f, "");
	assert_int_equal(rows_search(f->rows, "main", 0, false), UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_functions_with_samples_expand_to_callers, begin, end),
		cmocka_unit_test_setup_teardown(
			test_callers_by_total_are_of_the_outermost_calls, begin, end),
		cmocka_unit_test_setup_teardown(test_functions_expand_to_callees, begin, end),
		cmocka_unit_test_setup_teardown(test_the_tree_begins_with_the_processes, begin, end),
		cmocka_unit_test_setup_teardown(test_a_selection_has_one_event_or_thread, begin, end),
		cmocka_unit_test_setup_teardown(
			test_what_is_expanded_stays_so_in_the_next_profile, begin, end),
		cmocka_unit_test_setup_teardown(test_a_filter_leaves_out_rows_and_counts_them, begin, end),
		cmocka_unit_test_setup_teardown(test_rows_below_the_limit_are_counted, begin, end),
		cmocka_unit_test_setup_teardown(test_a_search_goes_on_round_the_end, begin, end),
		cmocka_unit_test_setup_teardown(test_a_profile_without_samples_has_no_rows, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
