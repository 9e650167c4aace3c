/* SPDX-License-Identifier: MIT */
/*
 * base/ratelimit, on a clock of the test: the number of accepted events is the one that was counted by
 * hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ratelimit.h"

#define INTERVAL 1000u

static unsigned int take_all(struct ratelimit *limit, unsigned int reserve, uint64_t now_ns)
{
	unsigned int count = 0;

	while (count < 100 && ratelimit_take(limit, reserve, now_ns))
		count++;
	return count;
}

static void test_burst_is_followed_by_one_each_interval(void **state)
{
	struct ratelimit limit;

	(void)state;
	ratelimit_init(&limit, 3, INTERVAL, 5000);
	assert_int_equal(take_all(&limit, 0, 5000), 3);
	assert_int_equal(take_all(&limit, 0, 5999), 0);
	assert_int_equal(take_all(&limit, 0, 6500), 1);
	/* the half interval of before counts */
	assert_int_equal(take_all(&limit, 0, 7000), 1);
	assert_int_equal(take_all(&limit, 0, 9000), 2);
	/* never more than at once */
	assert_int_equal(take_all(&limit, 0, 1000000), 3);
	assert_int_equal(take_all(&limit, 0, UINT64_MAX), 3);
}

static void test_reserve_is_left_to_others(void **state)
{
	struct ratelimit limit;

	(void)state;
	ratelimit_init(&limit, 4, INTERVAL, 0);
	assert_int_equal(take_all(&limit, 2, 0), 2);
	assert_int_equal(take_all(&limit, 2, 999), 0);
	assert_int_equal(take_all(&limit, 0, 999), 2);
}

static void test_earlier_moment_adds_nothing(void **state)
{
	struct ratelimit limit;

	(void)state;
	ratelimit_init(&limit, 2, INTERVAL, 0);
	assert_int_equal(take_all(&limit, 0, 10000), 2);
	assert_int_equal(take_all(&limit, 0, 9000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst_is_followed_by_one_each_interval),
		cmocka_unit_test(test_reserve_is_left_to_others),
		cmocka_unit_test(test_earlier_moment_adds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
