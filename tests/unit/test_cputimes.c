/* SPDX-License-Identifier: MIT */
/* capture/cputimes: the sums of runs, with figures worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/cputimes.h"

static void put(struct cputimes *times, uint32_t section, uint64_t since, uint64_t until, uint32_t cpu,
	uint64_t user, uint64_t idle)
{
	const struct kprof_rec_cpu_times record = {
		.time_ns = until, .since_ns = since, .cpu = cpu, .user_ns = user, .idle_ns = idle
	};

	cputimes_add(times, section, &record);
}

static void assert_sum(const struct cputimes *times, uint32_t cpu, uint64_t measured, uint64_t user,
	uint64_t idle)
{
	struct cputimes_sum sum;

	assert_true(cputimes_sum(times, cpu, &sum));
	assert_int_equal(sum.measured_ns, measured);
	assert_int_equal(sum.ns[CPUTIMES_USER], user);
	assert_int_equal(sum.ns[CPUTIMES_IDLE], idle);
	assert_int_equal(sum.ns[CPUTIMES_KERN] + sum.ns[CPUTIMES_IRQ] + sum.ns[CPUTIMES_STEAL], 0);
}

static void test_the_latest_record_of_a_run_counts(void **state)
{
	struct cputimes times;

	(void)state;
	cputimes_init(&times);
	put(&times, 0, 100, 110, 1, 4, 6);
	put(&times, 0, 100, 150, 1, 20, 30);
	put(&times, 0, 100, 140, 1, 19, 21); /* older */
	assert_sum(&times, 1, 50, 20, 30);
	cputimes_fini(&times);
}

static void test_runs_are_summed_once(void **state)
{
	struct cputimes times;

	(void)state;
	cputimes_init(&times);
	put(&times, 0, 100, 150, 0, 20, 30);
	put(&times, 0, 200, 210, 0, 10, 0);
	put(&times, 0, 100, 150, 0, 20, 30); /* repeated behind the next run */
	put(&times, 0, 200, 240, 0, 40, 0);
	assert_sum(&times, 0, 90, 60, 30);
	/* another capture, with an earlier time */
	put(&times, 1, 10, 11, 0, 0, 1);
	put(&times, 1, 10, 11, 0, 0, 1);
	assert_sum(&times, 0, 91, 60, 31);
	cputimes_fini(&times);
}

static void test_cpus_without_times_have_none(void **state)
{
	struct cputimes_sum sum;
	struct cputimes times;

	(void)state;
	cputimes_init(&times);
	assert_int_equal(cputimes_cpus(&times), 0);
	assert_false(cputimes_sum(&times, 0, &sum));
	put(&times, 0, 1, 2, 5, 1, 0);
	put(&times, 0, 1, 2, CPUTIMES_CPUS_MAX, 1, 0);
	put(&times, 0, 1, 2, UINT32_MAX, 1, 0);
	assert_int_equal(cputimes_cpus(&times), 6);
	assert_false(cputimes_sum(&times, 4, &sum));
	assert_false(cputimes_sum(&times, 6, &sum));
	assert_sum(&times, 5, 1, 1, 0);
	cputimes_fini(&times);
}

static void test_sums_do_not_overflow(void **state)
{
	struct cputimes times;

	(void)state;
	cputimes_init(&times);
	put(&times, 0, 1, UINT64_MAX, 0, UINT64_MAX, 1);
	put(&times, 1, 1, UINT64_MAX, 0, 1, 1);
	put(&times, 2, 9, 3, 0, 0, 0); /* ends before it begins */
	assert_sum(&times, 0, UINT64_MAX, UINT64_MAX, 2);
	cputimes_fini(&times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_latest_record_of_a_run_counts),
		cmocka_unit_test(test_runs_are_summed_once),
		cmocka_unit_test(test_cpus_without_times_have_none),
		cmocka_unit_test(test_sums_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
