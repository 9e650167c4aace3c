/* SPDX-License-Identifier: MIT */
/*
 * acct/row and acct/cells: a row adds up to the time that has passed, whatever the counters say.
 */
#include "tests/unit/mpstat_fixture.h"

#include "acct/cells.h"
#include "acct/row.h"

#define MS 1000000ULL

static uint64_t sum(const struct row *row)
{
	uint64_t ns = 0;
	int s;

	for (s = 0; s < ROW_STATES; s++)
		ns += row->ns[s];
	return ns;
}

static void check(int line, const struct row *row, uint64_t irq, uint64_t kern, uint64_t user, uint64_t idle,
	uint64_t steal)
{
	const uint64_t expected[ROW_STATES] = { irq, kern, user, idle, steal };
	int s;

	for (s = 0; s < ROW_STATES; s++)
		if (row->ns[s] != expected[s])
			fail_msg("line %d: state %d is %" PRIu64 " ns, not %" PRIu64, line, s, row->ns[s],
				expected[s]);
}

/* ---- counters --------------------------------------------------------------------------------- */

static void test_idle_is_what_is_left(void **state)
{
	const uint64_t deltas[ROW_STATES] = { 10 * MS, 20 * MS, 30 * MS, 1 * MS, 5 * MS };
	struct row row = { .present = true };

	/* idle's own counter is not used */
	row_advance(&row, deltas, 100 * MS);
	check(__LINE__, &row, 10 * MS, 20 * MS, 30 * MS, 35 * MS, 5 * MS);
}

/* A tick is counted as a whole: what it is ahead of the time that passed comes later. */
static void test_a_tick_that_is_ahead_is_owed(void **state)
{
	const uint64_t tick[ROW_STATES] = { [ROW_USER] = 10 * MS }, none[ROW_STATES] = { 0 };
	struct row row = { .present = true };

	row_advance(&row, tick, 3 * MS);
	check(__LINE__, &row, 0, 0, 3 * MS, 0, 0);
	row_advance(&row, none, 2 * MS);
	check(__LINE__, &row, 0, 0, 5 * MS, 0, 0);
	row_advance(&row, none, 7 * MS);
	check(__LINE__, &row, 0, 0, 10 * MS, 2 * MS, 0);
}

static void test_without_a_clock_counters_are_taken_as_they_are(void **state)
{
	const uint64_t deltas[ROW_STATES] = { 1, 2, 3, 4, 5 };
	struct row row = { .present = true };

	row_advance(&row, deltas, UINT64_MAX);
	check(__LINE__, &row, 1, 2, 3, 4, 5);
}

static void test_rows_add_up_whatever_the_counters_say(void **state)
{
	struct row row = { .present = true };
	uint64_t passed = 0, deltas[ROW_STATES], part;
	GRand *random = g_rand_new_with_seed(7);
	int i, s;

	for (i = 0; i < 10000; i++) {
		for (s = 0; s < ROW_STATES; s++)
			deltas[s] = (uint64_t)g_rand_int_range(random, 0, 3) * 10 * MS;
		part = (uint64_t)g_rand_int_range(random, 0, 40) * MS;
		row_advance(&row, deltas, part);
		passed += part;
		if (sum(&row) != passed)
			fail_msg("step %d: %" PRIu64 " ns, not %" PRIu64, i, sum(&row), passed);
	}
	g_rand_free(random);
}

/* ---- exact times ------------------------------------------------------------------------------ */

static void test_tasks_are_divided_as_the_ticks_are(void **state)
{
	const uint64_t ticks[ROW_STATES] = { [ROW_USER] = 30 * MS, [ROW_KERN] = 10 * MS };
	const uint64_t none[ROW_STATES] = { 0 };
	struct exact_times times = { .ns = { 1 * MS, 2 * MS, 17 * MS, 80 * MS, 0 } };
	struct row row = { .present = true };

	row_advance_exact(&row, &times, ticks);
	check(__LINE__, &row, 3 * MS, 20 * MS, 60 * MS, 17 * MS, 0);
	/* the same ratio without new ticks */
	times.ns[EXACT_TASK] += 8 * MS;
	row_advance_exact(&row, &times, none);
	check(__LINE__, &row, 3 * MS, 22 * MS, 66 * MS, 17 * MS, 0);
	/* ticks in the kernel alone: nothing is taken back from user space */
	row_advance_exact(&row, &times, (const uint64_t[ROW_STATES]){ [ROW_KERN] = 1000 * MS });
	check(__LINE__, &row, 3 * MS, 22 * MS, 66 * MS, 17 * MS, 0);
	times.ns[EXACT_TASK] += 12 * MS;
	row_advance_exact(&row, &times, none);
	check(__LINE__, &row, 3 * MS, 34 * MS, 66 * MS, 17 * MS, 0);
}

/* Before the first tick the ratio is that of all the CPU has done: 3 to 1 here. */
static void test_without_ticks_the_ratio_is_that_since_boot(void **state)
{
	const uint64_t none[ROW_STATES] = { 0 };
	const struct exact_times times = { .ns = { [EXACT_TASK] = 40 * MS } };
	struct row row = { .present = true };

	row.highest[SOURCE_USER] = 20 * MS;
	row.highest[SOURCE_NICE] = 10 * MS;
	row.highest[SOURCE_SYSTEM] = 10 * MS;
	row_advance_exact(&row, &times, none);
	check(__LINE__, &row, 0, 10 * MS, 30 * MS, 0, 0);
}

static void test_measured_calls_divide_the_tasks(void **state)
{
	const uint64_t ticks[ROW_STATES] = { [ROW_USER] = 30 * MS };
	const struct exact_times times = { .divided = true, .ns = { 1 * MS, 0, 2 * MS, 5 * MS, 6 * MS } };
	struct row row = { .present = true };

	row_advance_exact(&row, &times, ticks);
	check(__LINE__, &row, 1 * MS, 5 * MS, 6 * MS, 2 * MS, 0);
}

/*
 * Of 4000 cycles 1000 are of user space: of 80 ms in tasks and interrupts 20, not of the 60 in tasks
 * alone. Ticks say something else.
 */
static void test_cycles_divide_the_tasks(void **state)
{
	const uint64_t ticks[ROW_STATES] = { [ROW_USER] = 30 * MS };
	const uint64_t none[ROW_STATES] = { 0 };
	struct exact_times times = { .counted = true, .ns = { 15 * MS, 5 * MS, 20 * MS, 60 * MS },
		.user_cycles = 1000, .kern_cycles = 3000 };
	struct row row = { .present = true };

	row_advance_exact(&row, &times, ticks);
	check(__LINE__, &row, 20 * MS, 40 * MS, 20 * MS, 20 * MS, 0);
	/* all of the next 8 ms: 1400 of 4400 cycles, 28 of 88 ms */
	times.ns[EXACT_TASK] += 8 * MS;
	times.user_cycles += 400;
	row_advance_exact(&row, &times, none);
	check(__LINE__, &row, 20 * MS, 40 * MS, 28 * MS, 20 * MS, 0);
	row_reset(&row);
	times.ns[EXACT_TASK] += 10 * MS;
	times.kern_cycles += 100;
	row_advance_exact(&row, &times, none);
	check(__LINE__, &row, 0, 10 * MS, 0, 0, 0);
}

/* The time that the hypervisor took is inside of the others: of tasks first, then of idle. */
static void test_steal_is_taken_out(void **state)
{
	struct exact_times times = { .divided = true, .ns = { 0, 0, 20 * MS, 5 * MS, 0 } };
	struct row row = { .present = true };

	row_advance_exact(&row, &times, (const uint64_t[ROW_STATES]){ [ROW_STEAL] = 10 * MS });
	check(__LINE__, &row, 0, 0, 0, 15 * MS, 10 * MS);
	/* more than has passed is owed */
	times.ns[EXACT_TASK] += 4 * MS;
	row_advance_exact(&row, &times, (const uint64_t[ROW_STATES]){ [ROW_STEAL] = 6 * MS });
	check(__LINE__, &row, 0, 0, 0, 15 * MS, 14 * MS);
	times.ns[EXACT_TASK] += 4 * MS;
	row_advance_exact(&row, &times, (const uint64_t[ROW_STATES]){ 0 });
	check(__LINE__, &row, 0, 2 * MS, 0, 15 * MS, 16 * MS);
}

static void test_exact_rows_add_up_whatever_the_counters_say(void **state)
{
	struct exact_times times = { .divided = false };
	struct row row = { .present = true }, before;
	uint64_t passed = 0, deltas[ROW_STATES], part;
	GRand *random = g_rand_new_with_seed(11);
	int i, s;

	for (i = 0; i < 10000; i++) {
		for (s = 0; s < ROW_STATES; s++)
			deltas[s] = (uint64_t)g_rand_int_range(random, 0, 3) * 10 * MS;
		for (s = 0; s < EXACT_STATES; s++) {
			part = (uint64_t)g_rand_int_range(random, 0, 10) * MS;
			times.ns[s] += part;
			passed += part;
		}
		before = row;
		row_advance_exact(&row, &times, deltas);
		if (sum(&row) != passed)
			fail_msg("step %d: %" PRIu64 " ns, not %" PRIu64, i, sum(&row), passed);
		for (s = 0; s < ROW_STATES; s++)
			assert_true(row.ns[s] >= before.ns[s]);
	}
	g_rand_free(random);
}

/* ---- cells ------------------------------------------------------------------------------------ */

static uint64_t total(const struct exact_times *times)
{
	uint64_t ns = 0;
	int s;

	for (s = 0; s < EXACT_STATES; s++)
		ns += times->ns[s];
	return ns;
}

static void test_a_cell_has_the_time_in_progress(void **state)
{
	struct exact_times times;
	struct cell cell;

	cells_begin(&cell, 1000);
	/* 500 ns of a task, then idle since then */
	cell.ns[EXACT_TASK] = 500;
	cell.last = 1500 << CELL_STATE_BITS | EXACT_IDLE;
	cells_read(&cell, true, false, &times);
	assert_int_equal(times.ns[EXACT_TASK], 500);
	assert_true(times.at_ns > 1500);
	assert_int_equal(times.ns[EXACT_IDLE], times.at_ns - 1500);
	assert_int_equal(total(&times), times.at_ns - 1000);
	/* of an offline CPU nothing is in progress */
	cells_read(&cell, false, false, &times);
	assert_int_equal(times.at_ns, 1500);
	assert_int_equal(total(&times), 500);
}

/* The exchange was made, and the time until then is not in its sum yet: the copy ends before it. */
static void test_a_change_under_way_is_left_out(void **state)
{
	struct exact_times times;
	struct cell cell;

	cells_begin(&cell, 1000);
	cell.ns[EXACT_TASK] = 500;
	cell.last = 9000 << CELL_STATE_BITS | EXACT_IRQ;
	cells_read(&cell, true, false, &times);
	assert_int_equal(times.at_ns, 1500);
	assert_int_equal(total(&times), 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_is_what_is_left),
		cmocka_unit_test(test_a_tick_that_is_ahead_is_owed),
		cmocka_unit_test(test_without_a_clock_counters_are_taken_as_they_are),
		cmocka_unit_test(test_rows_add_up_whatever_the_counters_say),
		cmocka_unit_test(test_tasks_are_divided_as_the_ticks_are),
		cmocka_unit_test(test_without_ticks_the_ratio_is_that_since_boot),
		cmocka_unit_test(test_measured_calls_divide_the_tasks),
		cmocka_unit_test(test_cycles_divide_the_tasks),
		cmocka_unit_test(test_steal_is_taken_out),
		cmocka_unit_test(test_exact_rows_add_up_whatever_the_counters_say),
		cmocka_unit_test(test_a_cell_has_the_time_in_progress),
		cmocka_unit_test(test_a_change_under_way_is_left_out),
	};

	return cmocka_run_group_tests_name("row", tests, NULL, NULL);
}
