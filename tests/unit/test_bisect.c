/* SPDX-License-Identifier: MIT */
/*
 * base/bisect: the binary search returns what a walk over the array counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bisect.h"

#define VALUES_MAX 9
#define STEP 10

static bool is_at_most(const void *element, const void *key)
{
	return *(const uint64_t *)element <= *(const uint64_t *)key;
}

static void test_positions_are_those_of_a_linear_search(void **state)
{
	uint64_t values[VALUES_MAX], key;
	size_t count, i, less, most;

	(void)state;
	for (i = 0; i < VALUES_MAX; i++) /* each value twice: 10 10 20 20 ... */
		values[i] = STEP * (1 + i / 2);
	for (count = 0; count <= VALUES_MAX; count++) {
		for (key = 0; key <= STEP * VALUES_MAX; key++) {
			less = most = 0;
			for (i = 0; i < count; i++) {
				less += values[i] < key;
				most += values[i] <= key;
			}
			assert_int_equal(bisect_u64(values, count, key), less);
			assert_int_equal(
				bisect(values, count, sizeof(*values), is_at_most, &key), most);
		}
	}
}

static void test_the_ends_of_the_range_of_values_are_found(void **state)
{
	static const uint64_t values[] = {0, 1, UINT64_MAX};

	(void)state;
	assert_int_equal(bisect_u64(values, 3, 0), 0);
	assert_int_equal(bisect_u64(values, 3, UINT64_MAX), 2);
	assert_int_equal(bisect_u64(NULL, 0, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_positions_are_those_of_a_linear_search),
		cmocka_unit_test(test_the_ends_of_the_range_of_values_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
