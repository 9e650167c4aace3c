/* SPDX-License-Identifier: MIT */
/* capture/intervals: moments of threads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <glib.h>

#include "capture/intervals.h"

static void test_moments_are_found_in_their_thread_only(void **state)
{
	/* unsorted, nested, overlapping, adjacent, and one without an end */
	static const struct interval array[] = {
		{ 50, 60, 1, 1 }, { 10, 20, 1, 1 }, { 12, 15, 1, 1 }, { 18, 30, 1, 1 }, { 30, 31, 1, 1 },
		{ 100, UINT64_MAX, 1, 2 }, { 5, 6, 2, 1 },
	};
	static const struct {
		int line;
		uint32_t pid, tid;
		uint64_t time_ns;
		bool found;
	} rows[] = {
		{ __LINE__, 1, 1, 9, false },
		{ __LINE__, 1, 1, 10, true },
		{ __LINE__, 1, 1, 17, true }, /* behind the nested one, in the outer one */
		{ __LINE__, 1, 1, 31, true },
		{ __LINE__, 1, 1, 32, false },
		{ __LINE__, 1, 1, 49, false },
		{ __LINE__, 1, 1, 60, true },
		{ __LINE__, 1, 1, 61, false },
		{ __LINE__, 1, 2, 99, false },
		{ __LINE__, 1, 2, UINT64_MAX, true },
		{ __LINE__, 2, 1, 5, true },
		{ __LINE__, 2, 1, 10, false },
		{ __LINE__, 2, 2, 5, false },
		{ __LINE__, 0, 0, 5, false },
	};
	struct intervals *intervals = intervals_create(array, G_N_ELEMENTS(array));

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		if (intervals_have(intervals, rows[i].pid, rows[i].tid, rows[i].time_ns) != rows[i].found)
			fail_msg("row of line %d", rows[i].line);
	intervals_destroy(intervals);
}

static void test_empty_list_has_no_moment(void **state)
{
	struct intervals *intervals = intervals_create(NULL, 0);

	assert_false(intervals_have(intervals, 1, 1, 1));
	intervals_destroy(intervals);
	intervals_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moments_are_found_in_their_thread_only),
		cmocka_unit_test(test_empty_list_has_no_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
