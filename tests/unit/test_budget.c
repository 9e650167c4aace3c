/* SPDX-License-Identifier: MIT */
/* prof/budget: amounts that are taken together do not exceed the total, and each kind has its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/units.h"
#include "prof/budget.h"
#include "prof/profiler.h"

#define TOTAL_KB 1000

static void test_kinds_have_totals_of_their_own(void **state)
{
	struct budget *budget = budget_create(TOTAL_KB);

	assert_int_equal(budget_total_kb(budget), TOTAL_KB);
	assert_true(budget_take(budget, BUDGET_CAPTURES, TOTAL_KB));
	assert_false(budget_take(budget, BUDGET_CAPTURES, 1));
	assert_true(budget_take(budget, BUDGET_CAPTURES, 0));
	assert_int_equal(budget_left_kb(budget, BUDGET_CAPTURES), 0);
	assert_int_equal(budget_left_kb(budget, BUDGET_RINGS), TOTAL_KB);
	budget_return(budget, BUDGET_CAPTURES, 400);
	assert_int_equal(budget_left_kb(budget, BUDGET_CAPTURES), 400);
	budget_destroy(budget);
}

static void test_refused_change_changes_nothing(void **state)
{
	struct budget *budget = budget_create(TOTAL_KB);

	assert_true(budget_take(budget, BUDGET_RINGS, 300)); /* another user's */
	assert_true(budget_take(budget, BUDGET_RINGS, 500));
	assert_false(budget_change(budget, BUDGET_RINGS, 500, 701));
	assert_int_equal(budget_left_kb(budget, BUDGET_RINGS), 200);
	assert_true(budget_change(budget, BUDGET_RINGS, 500, 700));
	assert_int_equal(budget_left_kb(budget, BUDGET_RINGS), 0);
	assert_true(budget_change(budget, BUDGET_RINGS, 700, 100));
	assert_int_equal(budget_left_kb(budget, BUDGET_RINGS), 600);
	/* more than 64 bits hold together with what is taken */
	assert_false(budget_take(budget, BUDGET_RINGS, UINT64_MAX));
	assert_int_equal(budget_left_kb(budget, BUDGET_RINGS), 600);
	budget_destroy(budget);
}

static void test_runs_of_a_user_are_bounded_together(void **state)
{
	static const struct budget_limits limits = {
		.user = { .rate = 100, .descriptors = 20, .rings_kb = 1000 },
		.all = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };
	static const struct budget_share none, one = { 60, 10, 300 }, more = { 40, 10, 700 };
	static const struct budget_share few = { 10, 1, 1 }, much = { 61, 10, 300 };
	static const struct { int line; struct budget_share share; } too_much[] = {
		{ __LINE__, { 41, 1, 1 } },
		{ __LINE__, { 1, 11, 1 } },
		{ __LINE__, { 1, 1, 701 } },
		{ __LINE__, { UINT64_MAX, 0, 0 } },
	};
	struct budget *budget = budget_create(TOTAL_KB);
	struct budget_share left;

	assert_true(budget_change_user(budget, 1, &limits, &none, &one, &left));
	assert_int_equal(left.rate, 100);
	for (size_t i = 0; i < sizeof(too_much) / sizeof(too_much[0]); i++) {
		if (budget_change_user(budget, 1, &limits, &none, &too_much[i].share, &left) ||
			left.rate != 40 || left.descriptors != 10 || left.rings_kb != 700)
			fail_msg("line %d", too_much[i].line);
	}
	/* another user has limits of its own */
	assert_true(budget_change_user(budget, 2, &limits, &none, &one, &left));
	assert_true(budget_change_user(budget, 1, &limits, &none, &more, &left));
	assert_false(budget_change_user(budget, 1, &limits, &one, &much, &left));
	assert_int_equal(left.rate, 60); /* beside the other run */
	assert_true(budget_change_user(budget, 1, &limits, &one, &few, &left));
	budget_return_user(budget, 1, &more);
	budget_return_user(budget, 1, &few);
	budget_return_user(budget, 1, &none);
	assert_true(budget_change_user(budget, 1, &limits, &none, &limits.user, &left));
	assert_int_equal(left.descriptors, 20);
	budget_destroy(budget);
}

static void ignore(void *arg)
{
}

static void test_runs_with_offcpu_are_bounded(void **state)
{
	struct budget *budget = budget_create(TOTAL_KB);
	unsigned int i;

	for (i = 0; i < BUDGET_OFFCPU_RUNS; i++)
		assert_true(budget_take_offcpu(budget));
	assert_false(budget_take_offcpu(budget));
	budget_return_offcpu(budget);
	assert_true(budget_take_offcpu(budget));
	assert_false(budget_take_offcpu(budget));
	budget_destroy(budget);
}

/* The first profiler has all of a small budget; a further one is refused until it gives some back. */
static void test_profilers_share_a_budget(void **state)
{
	const struct profiler_hooks hooks = { .data_ready = ignore, .data_drained = ignore,
		.cpus_changed = ignore, .times_begin = ignore };
	struct budget *budget = budget_create(32 * 1024);
	struct profiler *first, *second;
	struct err err = { "" };

	assert_int_equal(profiler_create(&hooks, NULL, budget, &first, &err), 0);
	assert_int_equal(budget_left_kb(budget, BUDGET_CAPTURES), 0);
	assert_int_equal(profiler_create(&hooks, NULL, budget, &second, &err), -ENOSPC);
	assert_string_equal(err.text,
		"the prof_qlimit of all sessions together is 32768 of at most 32768 KB: lower one of them");
	assert_int_equal(profiler_set_qlimit_kb(first, 16384, &err), 0);
	assert_int_equal(profiler_create(&hooks, NULL, budget, &second, &err), 0);
	assert_int_equal(budget_left_kb(budget, BUDGET_CAPTURES), 16384 - 1024);
	assert_int_equal(profiler_set_qlimit_kb(first, 32768 - 1023, &err), -ENOSPC);
	assert_string_equal(err.text, "31744 KB are left besides the prof_qlimit of other sessions");
	assert_int_equal(profiler_set_qlimit_kb(first, 32768 - 1024, &err), 0);
	profiler_destroy(first);
	profiler_destroy(second);
	assert_int_equal(budget_left_kb(budget, BUDGET_CAPTURES), 32 * 1024);
	budget_destroy(budget);
}

/* What is held stays when the limit is lowered, and is counted until it is cleared. */
static void test_held_records_are_counted(void **state)
{
	const struct profiler_hooks hooks = { .data_ready = ignore, .data_drained = ignore,
		.cpus_changed = ignore, .times_begin = ignore };
	struct budget *budget = budget_create(32 * 1024);
	struct profiler *profiler;
	uint64_t held_kb;

	assert_int_equal(profiler_create(&hooks, NULL, budget, &profiler, NULL), 0);
	while (profiler_memory_bytes(profiler) < 2 * MIB)
		assert_int_equal(profiler_add_address(profiler, 0x1000, 1, NULL), 0);
	held_kb = (profiler_memory_bytes(profiler) + KIB - 1) / KIB;
	assert_int_equal(profiler_set_qlimit_kb(profiler, 1024, NULL), 0);
	assert_int_equal(budget_left_kb(budget, BUDGET_CAPTURES), 32 * 1024 - held_kb);
	assert_int_equal(profiler_clear(profiler, NULL), 0);
	assert_int_equal(budget_left_kb(budget, BUDGET_CAPTURES), 32 * 1024 - 1024);
	profiler_destroy(profiler);
	assert_int_equal(budget_left_kb(budget, BUDGET_CAPTURES), 32 * 1024);
	budget_destroy(budget);
}

static void test_runs_of_all_users_are_bounded_together(void **state)
{
	static const struct budget_limits limits = {
		.user = { .rate = 100, .descriptors = 20, .rings_kb = 500 },
		.all = { UINT64_MAX, 45, 750 } };
	static const struct budget_share none, half = { 100, 20, 400 }, rest = { 100, 20, 350 };
	static const struct budget_share over = { 1, 6, 1 }, many = { 0, 46, 0 };
	struct budget *budget = budget_create(TOTAL_KB);
	struct budget_share left;

	(void)state;
	assert_true(budget_change_user(budget, 1, &limits, &none, &half, &left));
	assert_false(budget_change_user(budget, 2, &limits, &none, &half, &left));
	assert_int_equal(left.rings_kb, 350); /* of all; 500 for the user */
	assert_int_equal(left.descriptors, 20);
	assert_true(budget_change_user(budget, 2, &limits, &none, &rest, &left));
	assert_false(budget_change_user(budget, 3, &limits, &none, &over, &left));
	assert_int_equal(left.rings_kb, 0);
	assert_int_equal(left.descriptors, 5);
	/* what a run has itself is not in its way */
	assert_true(budget_change_user(budget, 1, &limits, &half, &half, &left));
	assert_int_equal(left.rings_kb, 400);
	budget_return_user(budget, 2, &rest);
	assert_true(budget_change_user(budget, 3, &limits, &none, &over, &left));
	assert_int_equal(left.rings_kb, 350);
	budget_return_user(budget, 3, &over);
	budget_return_user(budget, 1, &half);
	budget_return_user(budget, 1, &none);
	assert_false(budget_change_user(budget, 4, &limits, &none, &many, &left));
	assert_int_equal(left.descriptors, 20);
	budget_destroy(budget);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_have_totals_of_their_own),
		cmocka_unit_test(test_refused_change_changes_nothing),
		cmocka_unit_test(test_profilers_share_a_budget),
		cmocka_unit_test(test_held_records_are_counted),
		cmocka_unit_test(test_runs_of_a_user_are_bounded_together),
		cmocka_unit_test(test_runs_of_all_users_are_bounded_together),
		cmocka_unit_test(test_runs_with_offcpu_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
