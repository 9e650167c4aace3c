/* SPDX-License-Identifier: MIT */
/* sys/perf_count: counts of multiplexed counters are scaled correctly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sys/perf_count.h"

static void test_multiplexed_counts_are_scaled(void **state)
{
	static const struct {
		int line;
		struct perf_counted counted;
		uint64_t expected;
	} rows[] = {
		{ __LINE__, { 100, 10, 10 }, 100 },
		{ __LINE__, { 100, 10, 5 }, 200 },
		{ __LINE__, { 100, 3, 2 }, 150 },
		{ __LINE__, { 7, 10, 3 }, 23 }, /* 23.3 */
		{ __LINE__, { 0, 10, 3 }, 0 },
		{ __LINE__, { 0, 10, 0 }, 0 },
		{ __LINE__, { 0, 0, 0 }, 0 },
		{ __LINE__, { 100, 10, 11 }, 100 },
		/* the product needs more than 64 bits, the result does not */
		{ __LINE__, { 1ull << 62, 4ull << 40, 2ull << 40 }, 1ull << 63 },
		{ __LINE__, { 1ull << 62, 4ull << 40, 1ull << 40 }, UINT64_MAX },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (perf_count_scale(&rows[i].counted) != rows[i].expected)
			fail_msg("row of line %d: %llu", rows[i].line,
				(unsigned long long)perf_count_scale(&rows[i].counted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_multiplexed_counts_are_scaled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
