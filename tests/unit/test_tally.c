/* SPDX-License-Identifier: MIT */
/* prof/tally agrees with counts in a plain table when rows are added in random order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prof/tally.h"

#define SIDE 12 /* of the cube of CPUs, events and reasons */

static uint32_t spread(unsigned int i)
{
	/* with the ends of the range: the order must not be that of a difference that overflows */
	return i == SIDE - 1 ? UINT32_MAX : i == SIDE - 2 ? 1u << 31 : i;
}

static void check_sorted(const struct tally *tally)
{
	size_t i;

	for (i = 1; i < tally->count; i++) {
		const struct tally_row *a = &tally->rows[i - 1], *b = &tally->rows[i];

		assert_true(a->reason < b->reason ||
			    (a->reason == b->reason &&
				    (a->event < b->event ||
					    (a->event == b->event && a->cpu < b->cpu))));
	}
}

static void test_tally_matches_a_plain_table(void **state)
{
	static uint64_t table[SIDE][SIDE][SIDE];
	unsigned int seed = 20150527, i, j, k;
	struct tally tally;

	(void)state;
	tally_init(&tally);
	assert_true(tally_empty(&tally));
	assert_int_equal(tally_get(&tally, 1, 2, 3), 0);
	for (i = 0; i < 20000; i++) {
		unsigned int cpu = (unsigned int)rand_r(&seed) % SIDE;
		unsigned int event = (unsigned int)rand_r(&seed) % SIDE;
		unsigned int reason = (unsigned int)rand_r(&seed) % SIDE;
		uint64_t n = (uint64_t)rand_r(&seed) << 20;

		tally_add(&tally, spread(cpu), spread(event), spread(reason), n);
		table[cpu][event][reason] += n;
		if (i % 1000 == 0)
			check_sorted(&tally);
	}
	check_sorted(&tally);
	for (k = 0; k < SIDE; k++) {
		uint64_t sum = 0;

		for (i = 0; i < SIDE; i++) {
			uint64_t of_cpu = 0;

			for (j = 0; j < SIDE; j++) {
				assert_true(tally_get(&tally, spread(i), spread(j), spread(k)) ==
					    table[i][j][k]);
				of_cpu += table[i][j][k];
			}
			assert_true(tally_sum_cpu(&tally, spread(i), spread(k)) == of_cpu);
			sum += of_cpu;
		}
		assert_true(tally_sum(&tally, spread(k)) == sum);
	}
	tally_fini(&tally);
}

static void test_tallies_are_merged_and_cleared(void **state)
{
	struct tally a, b;

	(void)state;
	tally_init(&a);
	tally_init(&b);
	tally_add(&a, 1, 1, 1, 10);
	tally_add(&a, 3, 1, 1, 30);
	tally_add(&b, 1, 1, 1, 1);
	tally_add(&b, 2, 1, 1, 2);
	tally_add(&b, 3, 1, 2, UINT64_MAX);
	tally_merge(&a, &b);
	assert_int_equal(a.count, 4);
	assert_int_equal(tally_get(&a, 1, 1, 1), 11);
	assert_int_equal(tally_get(&a, 2, 1, 1), 2);
	assert_int_equal(tally_get(&a, 3, 1, 1), 30);
	assert_true(tally_get(&a, 3, 1, 2) == UINT64_MAX);
	assert_int_equal(tally_sum(&a, 1), 43);
	assert_int_equal(tally_sum(&b, 1), 3); /* as it was */
	tally_clear(&a);
	assert_true(tally_empty(&a));
	assert_int_equal(tally_get(&a, 1, 1, 1), 0);
	tally_add(&a, 1, 1, 1, 5);
	assert_int_equal(tally_get(&a, 1, 1, 1), 5);
	tally_fini(&a);
	tally_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tally_matches_a_plain_table),
		cmocka_unit_test(test_tallies_are_merged_and_cleared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
