/* SPDX-License-Identifier: MIT */
/* capture/boots: sections by machine and boot, and what is added to their times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/boots.h"

/* A wall clock of 2023, in ns. */
#define WALL 1700000000000000000ull

static struct kprof_rec_host host(uint8_t machine, uint8_t boot)
{
	return (struct kprof_rec_host){ .machine_id = { machine }, .boot_id = { boot } };
}

static void add(struct boots *boots, uint32_t section, struct kprof_rec_host host, uint64_t time_ns,
	uint64_t wall_ns)
{
	struct kprof_rec_clock clock = { .time_ns = time_ns, .wall_ns = wall_ns, .byte_order = 1 };

	boots_add_clock(boots, section, &clock);
	boots_add_host(boots, section, &host);
}

static void test_sections_of_one_boot_stay_as_they_are(void **state)
{
	struct boots *boots = boots_create();

	(void)state;
	add(boots, 0, host(1, 1), 1000, WALL);
	/* 7 ns are those by which the wall clock was set meanwhile */
	add(boots, 1, host(1, 1), 5000, WALL + 4007);
	boots_finish(boots);
	assert_int_equal(boots_count(boots), 1);
	assert_int_equal(boots_of(boots, 1), 0);
	assert_int_equal(boots_shift_ns(boots, 0), 0);
	assert_int_equal(boots_shift_ns(boots, 1), 0);
	assert_int_equal(boots_wall_ns(boots), WALL - 1000);
	boots_destroy(boots);
}

static void test_the_clock_is_that_of_the_first_boot(void **state)
{
	struct boots *boots = boots_create();

	(void)state;
	add(boots, 0, host(1, 1), 1000, WALL); /* booted at WALL - 1000 */
	add(boots, 1, host(2, 1), 3000, WALL + 500); /* another machine, 1500 earlier */
	add(boots, 2, host(1, 2), 100, WALL + 9100); /* the first one after a boot, 10000 later than before */
	add(boots, 3, host(2, 1), 4000, WALL + 1503); /* 3 by which the wall clock was set */
	boots_finish(boots);
	assert_int_equal(boots_count(boots), 3);
	assert_int_equal(boots_of(boots, 0), 0);
	assert_int_equal(boots_of(boots, 1), 1);
	assert_int_equal(boots_of(boots, 2), 2);
	assert_int_equal(boots_of(boots, 3), 1);
	assert_int_equal(boots_shift_ns(boots, 0), 1500);
	assert_int_equal(boots_shift_ns(boots, 1), 0);
	assert_int_equal(boots_shift_ns(boots, 2), 11500);
	assert_int_equal(boots_shift_ns(boots, 3), 0);
	assert_int_equal(boots_wall_ns(boots), WALL - 2500);
	boots_destroy(boots);
}

static void test_what_is_not_known_is_not_shifted(void **state)
{
	const struct kprof_rec_host other = host(1, 1);
	struct boots *boots = boots_create();

	(void)state;
	assert_int_equal(boots_count(boots), 1);
	boots_add_host(boots, 2, &other); /* without a clock */
	add(boots, 3, host(2, 1), 3000, WALL);
	boots_finish(boots);
	/* sections 0 and 1 say nothing: one machine that is not known */
	assert_int_equal(boots_count(boots), 3);
	assert_int_equal(boots_of(boots, 1), 0);
	assert_int_equal(boots_of(boots, 2), 1);
	assert_int_equal(boots_shift_ns(boots, 0), 0);
	assert_int_equal(boots_shift_ns(boots, 2), 0);
	assert_int_equal(boots_shift_ns(boots, 3), 0);
	assert_int_equal(boots_of(boots, 4), 0); /* one that does not exist */
	assert_int_equal(boots_wall_ns(boots), WALL - 3000);
	boots_destroy(boots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sections_of_one_boot_stay_as_they_are),
		cmocka_unit_test(test_the_clock_is_that_of_the_first_boot),
		cmocka_unit_test(test_what_is_not_known_is_not_shifted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
