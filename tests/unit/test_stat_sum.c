/* SPDX-License-Identifier: MIT */
/* cmd/stat_sum: means and deviations are those that were calculated by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/stat_sum.h"

static void check_near(double found, double expected)
{
	if (!(found > expected - 1e-6 && found < expected + 1e-6))
		fail_msg("%.9f, not %.9f", found, expected);
}

static void test_deviation_is_that_of_the_mean_in_percent(void **state)
{
	struct stat_sum sum = {0, 0, 0};

	/*
	 * The mean is 2000; the variance is (1000^2 + 0 + 1000^2) / 2 = 1000^2; the deviation of the mean
	 * of three values is 1000 / sqrt(3) = 577.350269, which are 28.867513 % of 2000.
	 */
	stat_sum_add(&sum, 1000);
	stat_sum_add(&sum, 2000);
	stat_sum_add(&sum, 3000);
	assert_int_equal(sum.runs, 3);
	check_near(stat_sum_mean(&sum), 2000);
	check_near(stat_sum_deviation(&sum), 28.867513459);
}

static void test_equal_values_do_not_deviate(void **state)
{
	struct stat_sum sum = {0, 0, 0};

	stat_sum_add(&sum, 7);
	stat_sum_add(&sum, 7);
	check_near(stat_sum_mean(&sum), 7);
	check_near(stat_sum_deviation(&sum), 0);
}

static void test_one_run_has_a_mean_and_no_deviation(void **state)
{
	struct stat_sum sum = {0, 0, 0};

	check_near(stat_sum_mean(&sum), 0);
	assert_true(stat_sum_deviation(&sum) < 0);
	stat_sum_add(&sum, 5);
	check_near(stat_sum_mean(&sum), 5);
	assert_true(stat_sum_deviation(&sum) < 0);
}

/*
 * Of four runs the second did not count and the third failed: the mean of 100 and 300 is 200, the variance
 * (100^2 + 100^2) / 1, the deviation of the mean 100, which are 50 %.
 */
static void test_runs_that_did_not_count_are_left_out(void **state)
{
	static const struct perf_counted first = {100, 10, 10}, none = {0, 10, 0}, failed = {50, 10, 10},
					 half = {150, 10, 5};
	struct stat_sum sum = {0, 0, 0};

	stat_sum_add_count(&sum, 0, &first);
	stat_sum_add_count(&sum, 0, &none);
	stat_sum_add_count(&sum, -ENODEV, &failed);
	stat_sum_add_count(&sum, 0, &half);
	assert_int_equal(sum.runs, 2);
	check_near(stat_sum_mean(&sum), 200);
	check_near(stat_sum_deviation(&sum), 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deviation_is_that_of_the_mean_in_percent),
		cmocka_unit_test(test_equal_values_do_not_deviate),
		cmocka_unit_test(test_one_run_has_a_mean_and_no_deviation),
		cmocka_unit_test(test_runs_that_did_not_count_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
