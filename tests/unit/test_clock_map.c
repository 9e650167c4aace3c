/* SPDX-License-Identifier: MIT */
/*
 * trace/clock_map: counter values become CLOCK_MONOTONIC times, on simulated clocks and on those of
 * the machine.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <glib.h>
#include <stdlib.h>

#include "base/units.h"
#include "sys/clock.h"
#include "trace/clock_map.h"

/* Two clocks: the counter makes two ticks a ns, give or take. */
struct clocks {
	bool counter;
	struct clock_map_anchor now;
};

static bool read_clocks(void *arg, struct clock_map_anchor *anchor)
{
	struct clocks *clocks = arg;

	*anchor = clocks->now;
	return clocks->counter;
}

static struct clock_map *create(struct clocks *clocks)
{
	const struct clock_map_source source = {read_clocks, clocks};

	return clock_map_create_from(&source);
}

static void pass(struct clocks *clocks, uint64_t ticks, uint64_t ns)
{
	clocks->now.counter += ticks;
	clocks->now.monotonic_ns += ns;
	clocks->now.realtime_ns += ns;
}

static uint64_t ask(struct clock_map *stamps, uint64_t counter)
{
	struct clock_map_copy *map = clock_map_copy(stamps);
	uint64_t ns = clock_map_copy_ns(map, counter);

	clock_map_copy_free(map);
	return ns;
}

/*
 * Before the first refresh the line passes through the first and the last anchor, also for earlier
 * times.
 */
static void test_first_line_goes_through_first_and_last_anchor(void **state)
{
	struct clocks clocks = {true, {1000000, 5000000, 7}};
	struct clock_map *stamps = create(&clocks);
	struct clock_map_anchor anchor;
	struct clock_map_copy *map;

	pass(&clocks, 3000, 1000); /* a first guess: three ticks a ns */
	clock_map_refresh(stamps, true);
	pass(&clocks, 3997000, 1999000); /* 4,000,000 ticks in 2,000,000 ns */
	clock_map_refresh(stamps, true);
	map = clock_map_copy(stamps);
	assert_int_equal(clock_map_copy_ns(map, 1000000), 5000000);
	assert_int_equal(clock_map_copy_ns(map, 3000000), 6000000);
	assert_int_equal(clock_map_copy_ns(map, 5000000), 7000000);
	assert_int_equal(clock_map_copy_ns(map, 5000002), 7000001);
	assert_int_equal(clock_map_copy_ns(map, 0), 4500000);
	assert_int_equal(clock_map_copy_frequency(map), 2000000000);
	clock_map_copy_anchor(map, &anchor);
	assert_int_equal(anchor.counter, 5000000);
	assert_int_equal(anchor.monotonic_ns, 7000000);
	assert_int_equal(anchor.realtime_ns, 2000007);
	clock_map_copy_free(map);
	clock_map_destroy(stamps);
}

/* Far from what 64 bits hold: neither wraps. */
static void test_extreme_counters_do_not_wrap(void **state)
{
	struct clocks clocks = {true, {1000, 1000, 0}};
	struct clock_map *stamps = create(&clocks);

	pass(&clocks, 1, 1000);
	clock_map_refresh(stamps, true); /* 1000 ns a tick */
	assert_int_equal(ask(stamps, 0), 0);
	assert_int_equal(ask(stamps, 999), 0);
	assert_int_equal(ask(stamps, UINT64_MAX), UINT64_MAX);
	clock_map_destroy(stamps);
}

static void test_clock_without_a_counter_is_taken_as_it_is(void **state)
{
	struct clocks clocks = {false, {0, 500, 0}};
	struct clock_map *stamps = create(&clocks);
	struct clock_map_copy *map;

	pass(&clocks, 0, 100);
	clock_map_refresh(stamps, true);
	map = clock_map_copy(stamps);
	assert_int_equal(clock_map_copy_frequency(map), 0);
	assert_int_equal(clock_map_copy_ns(map, 123), 123);
	clock_map_copy_free(map);
	clock_map_destroy(stamps);
}

/* Less than a second after the last anchor, one is taken only when it is forced. */
static void test_anchor_is_taken_once_a_second_unless_forced(void **state)
{
	struct clocks clocks = {true, {1000, 1000, 0}};
	struct clock_map *stamps = create(&clocks);

	pass(&clocks, 2000, 1000);
	clock_map_refresh(stamps, true);
	pass(&clocks, 1000, NSEC_PER_SEC - 1);
	clock_map_refresh(stamps, false);
	assert_int_equal(ask(stamps, 5000), 3000);
	clock_map_destroy(stamps);
}

/*
 * The clock is steered: a second is 3 us longer than the counter's. The line bends without a step.
 * Earlier results stay, and a second later the line meets the clock.
 */
static void test_steered_clock_bends_the_line_without_a_step(void **state)
{
	const uint64_t second = 2 * NSEC_PER_SEC; /* in ticks */
	struct clocks clocks = {true, {0, 0, 0}};
	struct clock_map *stamps = create(&clocks);
	uint64_t counter, ns, last = 0;

	pass(&clocks, second, NSEC_PER_SEC);
	clock_map_refresh(stamps, false);
	assert_int_equal(ask(stamps, 2 * second), 2 * NSEC_PER_SEC);
	pass(&clocks, second, NSEC_PER_SEC + 3000);
	clock_map_refresh(stamps, false);
	/* what was returned before */
	assert_int_equal(ask(stamps, second / 2), NSEC_PER_SEC / 2);
	assert_int_equal(ask(stamps, 2 * second), 2 * NSEC_PER_SEC);
	/* half of a second on, half of what is missing; the clock makes 1,000,001,500 a second */
	ns = ask(stamps, 2 * second + second / 2);
	assert_in_range(ns, 2500000000 + 1500 + 740, 2500000000 + 1500 + 760);
	/* met: 2 s and 3000 at the anchor, and 1500 more for each second */
	ns = ask(stamps, 3 * second);
	assert_in_range(ns, 3000004480, 3000004520);
	ns = ask(stamps, 5 * second);
	assert_in_range(ns, 5000007480, 5000007520);
	for (counter = second; counter < 6 * second; counter += second / 1000) {
		ns = ask(stamps, counter);
		assert_true(ns > last && ns - last < (last ? 1010000 : UINT64_MAX));
		last = ns;
	}
	clock_map_destroy(stamps);
}

/* A clock that went back or jumped never makes the line go back. Earlier results stay. */
static void test_jumping_clock_never_goes_back(void **state)
{
	static const struct {
		int line;
		uint64_t ticks, ns;
	} rows[] = {
		{__LINE__, 4000000000, 5000000000},  /* the counter stood still for 3 s */
		{__LINE__, 40000000000, 2000000000}, /* the clock stood still for 18 s */
		{__LINE__, 1, 2000000000},
		{__LINE__, 4000000000, 2000000200}, /* within what reading costs */
	};
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct clocks clocks = {true, {1 << 20, 1 << 20, 0}};
		struct clock_map *stamps = create(&clocks);
		uint64_t before, seen, counter, last;

		pass(&clocks, 2 * NSEC_PER_SEC, NSEC_PER_SEC);
		clock_map_refresh(stamps, false);
		before = clocks.now.counter;
		seen = last = ask(stamps, before);
		pass(&clocks, rows[i].ticks, rows[i].ns);
		clock_map_refresh(stamps, true);
		if (ask(stamps, before) != seen)
			fail_msg("line %d: what was said has changed", rows[i].line);
		for (counter = before; counter < before + 80 * NSEC_PER_SEC; counter += 50000000) {
			uint64_t ns = ask(stamps, counter);

			if (ns < last)
				fail_msg("line %d: back by %llu at %llu", rows[i].line,
					(unsigned long long)(last - ns),
					(unsigned long long)(counter - before));
			last = ns;
		}
		clock_map_destroy(stamps);
	}
}

/* If the table is full, the last piece continues, and all earlier results stay. */
static void test_last_piece_goes_on_when_full(void **state)
{
	struct clocks clocks = {true, {0, 0, 0}};
	struct clock_map *stamps = create(&clocks);
	uint64_t ns[CLOCK_MAP_PIECES + 10];
	size_t i;

	pass(&clocks, 2 * NSEC_PER_SEC, NSEC_PER_SEC);
	clock_map_refresh(stamps, false);
	for (i = 0; i < G_N_ELEMENTS(ns); i++) {
		ns[i] = ask(stamps, clocks.now.counter);
		pass(&clocks, 4 * NSEC_PER_SEC, 2 * NSEC_PER_SEC + (i % 2 ? 4000 : 0));
		clock_map_refresh(stamps, false);
	}
	for (i = 0; i < G_N_ELEMENTS(ns); i++)
		assert_int_equal(ask(stamps, (2 + 4 * i) * NSEC_PER_SEC), ns[i]);
	clock_map_destroy(stamps);
}

/* On this machine: a counter read between two reads of the clock is between them on the line. */
static void test_this_machine_maps_between_two_clock_reads(void **state)
{
	struct clock_map *stamps;
	struct clock_map_copy *map;
	int i;

	if (!clock_has_counter(CLOCK_SOURCE_PATH))
		skip();
	stamps = clock_map_create();
	map = clock_map_copy(stamps);
	for (i = 0; i < 1000; i++) {
		uint64_t before = clock_monotonic_ns(), counter = clock_counter(),
			 after = clock_monotonic_ns(), ns = clock_map_copy_ns(map, counter);

		/* the first baseline is 2 ms long, its ends are known to less than 2 us */
		assert_true(ns + 200000 > before && ns < after + 200000);
	}
	clock_map_copy_free(map);
	clock_map_destroy(stamps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_line_goes_through_first_and_last_anchor),
		cmocka_unit_test(test_extreme_counters_do_not_wrap),
		cmocka_unit_test(test_clock_without_a_counter_is_taken_as_it_is),
		cmocka_unit_test(test_anchor_is_taken_once_a_second_unless_forced),
		cmocka_unit_test(test_steered_clock_bends_the_line_without_a_step),
		cmocka_unit_test(test_jumping_clock_never_goes_back),
		cmocka_unit_test(test_last_piece_goes_on_when_full),
		cmocka_unit_test(test_this_machine_maps_between_two_clock_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
