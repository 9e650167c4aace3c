/* SPDX-License-Identifier: MIT */
/* producers/user_turns: connections of users are served in the right order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "producers/user_turns.h"

#define MS 1000000ull
#define START (1000000 * MS)

/* 100 ms at once, then 10 ms in each second. */
static const struct user_turns_limits limits = { 100 * MS, 10 * MS };

static void test_users_are_served_in_turn(void **state)
{
	struct user_turns *turns = user_turns_create(&limits);
	struct user_turn turn[4];
	int name[4] = { 0 };

	for (int i = 0; i < 4; i++) /* three of user 1, one of user 2 */
		user_turns_join(turns, &turn[i], i < 3 ? 1 : 2, &name[i]);
	assert_null(user_turns_next(turns, START));
	for (int i = 0; i < 4; i++)
		user_turns_add(turns, &turn[i]);
	user_turns_add(turns, &turn[1]); /* twice is once */
	assert_ptr_equal(user_turns_next(turns, START), &name[0]);
	user_turns_add(turns, &turn[0]);
	assert_ptr_equal(user_turns_next(turns, START), &name[3]);
	assert_ptr_equal(user_turns_next(turns, START), &name[1]);
	user_turns_leave(turns, &turn[2]);
	assert_ptr_equal(user_turns_next(turns, START), &name[0]);
	assert_null(user_turns_next(turns, START));
	assert_int_equal(user_turns_wait_ns(turns, START), UINT64_MAX);
	user_turns_leave(turns, &turn[0]);
	user_turns_leave(turns, &turn[1]);
	user_turns_leave(turns, &turn[3]);
	user_turns_destroy(turns);
}

static void test_user_without_budget_is_served_later(void **state)
{
	struct user_turns *turns = user_turns_create(&limits);
	struct user_turn turn[2];
	int name[2] = { 0 };

	user_turns_join(turns, &turn[0], 1, &name[0]);
	user_turns_join(turns, &turn[1], 2, &name[1]);
	user_turns_add(turns, &turn[0]);
	assert_false(user_turns_charge(turns, 1, 99 * MS, START));
	assert_int_equal(user_turns_wait_ns(turns, START), 0);
	assert_true(user_turns_charge(turns, 1, 6 * MS, START)); /* 5 ms too many: half a second */
	assert_false(user_turns_charge(turns, 1, 0, START));
	assert_null(user_turns_next(turns, START));
	assert_in_range(user_turns_wait_ns(turns, START), 500 * MS, 501 * MS);
	/* another user is served at once */
	user_turns_add(turns, &turn[1]);
	assert_ptr_equal(user_turns_next(turns, START), &name[1]);
	assert_null(user_turns_next(turns, START + 400 * MS));
	assert_ptr_equal(user_turns_next(turns, START + 502 * MS), &name[0]);
	user_turns_leave(turns, &turn[0]);
	user_turns_leave(turns, &turn[1]);
	user_turns_destroy(turns);
}

static void test_time_used_outlives_the_connection(void **state)
{
	struct user_turns *turns = user_turns_create(&limits);
	struct user_turn turn;
	int name = 0;

	user_turns_join(turns, &turn, 1, &name);
	assert_true(user_turns_charge(turns, 1, 3600000 * MS, START)); /* counts for 200 ms */
	user_turns_leave(turns, &turn);
	user_turns_join(turns, &turn, 1, &name);
	user_turns_add(turns, &turn);
	assert_null(user_turns_next(turns, START + 9990 * MS));
	assert_ptr_equal(user_turns_next(turns, START + 10010 * MS), &name);
	user_turns_leave(turns, &turn);
	user_turns_destroy(turns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users_are_served_in_turn),
		cmocka_unit_test(test_user_without_budget_is_served_later),
		cmocka_unit_test(test_time_used_outlives_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
