/* SPDX-License-Identifier: MIT */
/* fs/turns: users are served in turn, and none of them occupies all threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fs/turns.h"

/* A job is a string, of which the first byte names its user. */
static void add(struct turns *turns, const char *job)
{
	turns_add(turns, (uid_t)job[0], job[0] == 'r', (void *)job);
}

static void expect_next(struct turns *turns, const char *job)
{
	uid_t uid;
	char *taken = turns_take(turns, &uid);

	if (!job) {
		assert_null(taken);
		return;
	}
	assert_non_null(taken);
	assert_string_equal(taken, job);
	assert_int_equal(uid, job[0]);
}

static void test_users_are_served_in_turn(void **state)
{
	struct turns turns;

	turns_init(&turns, 2);
	add(&turns, "a1");
	add(&turns, "a2");
	add(&turns, "a3");
	expect_next(&turns, "a1");
	add(&turns, "b1");
	add(&turns, "b2");
	expect_next(&turns, "b1");
	expect_next(&turns, NULL);
	turns_done(&turns, 'a');
	expect_next(&turns, "a2");
	turns_done(&turns, 'b');
	add(&turns, "c1");
	expect_next(&turns, "b2");
	turns_done(&turns, 'a');
	/* c came when it was a's turn again */
	expect_next(&turns, "a3");
	add(&turns, "a4");
	turns_done(&turns, 'a');
	expect_next(&turns, "c1");
	turns_done(&turns, 'b');
	expect_next(&turns, "a4");
	turns_done(&turns, 'a');
	turns_done(&turns, 'c');
	expect_next(&turns, NULL);
	turns_fini(&turns);
}

static void test_one_user_leaves_a_thread_to_others(void **state)
{
	struct turns turns;

	turns_init(&turns, 3);
	add(&turns, "a1");
	add(&turns, "a2");
	add(&turns, "a3");
	expect_next(&turns, "a1");
	expect_next(&turns, "a2");
	expect_next(&turns, NULL);
	add(&turns, "b1");
	expect_next(&turns, "b1");
	/* all three are in use: root has one more */
	add(&turns, "c1");
	expect_next(&turns, NULL);
	add(&turns, "r1");
	expect_next(&turns, "r1");
	expect_next(&turns, NULL);
	turns_done(&turns, 'r');
	expect_next(&turns, NULL);
	turns_done(&turns, 'a');
	expect_next(&turns, "c1");
	turns_done(&turns, 'a');
	turns_done(&turns, 'b');
	turns_done(&turns, 'c');
	expect_next(&turns, "a3");
	turns_done(&turns, 'a');
	turns_fini(&turns);
}

static void test_job_can_be_taken_out(void **state)
{
	static char job[] = "a1";
	struct turns turns;

	turns_init(&turns, 1);
	add(&turns, job);
	add(&turns, "b1");
	turns_remove(&turns, job);
	expect_next(&turns, "b1");
	turns_done(&turns, 'b');
	expect_next(&turns, NULL);
	turns_fini(&turns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users_are_served_in_turn),
		cmocka_unit_test(test_one_user_leaves_a_thread_to_others),
		cmocka_unit_test(test_job_can_be_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
