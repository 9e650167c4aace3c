/* SPDX-License-Identifier: MIT */
/* The row of one CPU: see row.h. */
#include "acct/row.h"

#include <string.h>

static const enum row_state state_of[SOURCE_TIMES] = {
	[SOURCE_USER] = ROW_USER,
	[SOURCE_NICE] = ROW_USER,
	[SOURCE_SYSTEM] = ROW_KERN,
	[SOURCE_IDLE] = ROW_IDLE,
	[SOURCE_IOWAIT] = ROW_IDLE,
	[SOURCE_IRQ] = ROW_IRQ,
	[SOURCE_SOFTIRQ] = ROW_IRQ,
	[SOURCE_STEAL] = ROW_STEAL,
};

uint64_t row_add(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

unsigned int row_take_counters(struct row *row, const uint64_t *counters, uint64_t *deltas)
{
	unsigned int backward = 0;
	int t;

	memset(deltas, 0, ROW_STATES * sizeof(*deltas));
	for (t = 0; t < SOURCE_TIMES; t++) {
		if (counters[t] < row->highest[t]) {
			backward++;
			continue;
		}
		deltas[state_of[t]] = row_add(deltas[state_of[t]], counters[t] - row->highest[t]);
		row->highest[t] = counters[t];
	}
	return backward;
}

void row_advance(struct row *row, const uint64_t *deltas, uint64_t passed_ns)
{
	/* the order decides only which of two goes first when less has passed than is owed */
	static const enum row_state order[] = { ROW_STEAL, ROW_IRQ, ROW_KERN, ROW_USER };
	uint64_t take;
	unsigned int i;
	int s;

	if (passed_ns == UINT64_MAX) {
		for (s = 0; s < ROW_STATES; s++)
			row->ns[s] = row_add(row->ns[s], deltas[s]);
		return;
	}
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		s = order[i];
		row->owed[s] = row_add(row->owed[s], deltas[s]);
		take = least(row->owed[s], passed_ns);
		row->owed[s] -= take;
		row->ns[s] = row_add(row->ns[s], take);
		passed_ns -= take;
	}
	row->ns[ROW_IDLE] = row_add(row->ns[ROW_IDLE], passed_ns);
}

/* Moves what is owed to steal out of a part of the time that has passed. */
static void take_steal(struct row *row, uint64_t *part_ns)
{
	uint64_t take = least(row->owed[ROW_STEAL], *part_ns);

	row->owed[ROW_STEAL] -= take;
	row->ns[ROW_STEAL] = row_add(row->ns[ROW_STEAL], take);
	*part_ns -= take;
}

/*
 * How much of the time of tasks in this advance was in user space: the sum since the attachment becomes
 * `want_ns`, as far as that is possible without taking back what was added before.
 */
static uint64_t follow(struct row *row, uint64_t tasks_ns, double want_ns)
{
	const uint64_t want = (uint64_t)want_ns;
	const uint64_t take = want > row->user_ns ? least(want - row->user_ns, tasks_ns) : 0;

	row->user_ns = row_add(row->user_ns, take);
	return take;
}

/*
 * By the ratio of the ticks in the same span. Before the first tick it is the ratio of all that the CPU
 * has ever done.
 */
static uint64_t divide_tasks(struct row *row, uint64_t tasks_ns)
{
	double user = (double)row->user_ticks_ns, kern = (double)row->kern_ticks_ns;

	if (user + kern <= 0) {
		user = (double)row->highest[SOURCE_USER] + (double)row->highest[SOURCE_NICE];
		kern = (double)row->highest[SOURCE_SYSTEM];
	}
	return follow(row, tasks_ns, (double)row->tasks_ns * (user + kern > 0 ? user / (user + kern) : 0));
}

/*
 * By the cycles in the same span. Those of the kernel are of interrupts too, so that the time that they
 * divide is that of both; the idle task has hardly any.
 */
static uint64_t divide_by_cycles(struct row *row, uint64_t tasks_ns)
{
	const double user = (double)row->user_cycles, kern = (double)row->kern_cycles;

	return follow(row, tasks_ns, (double)row->busy_ns * (user / (user + kern)));
}

/* Adds what a span has to the sums that divide the time of tasks. */
static void add_shares(struct row *row, const struct exact_times *times, const uint64_t *deltas,
	uint64_t tasks_ns, uint64_t interrupts_ns)
{
	row->user_ticks_ns = row_add(row->user_ticks_ns, deltas[ROW_USER]);
	row->kern_ticks_ns = row_add(row->kern_ticks_ns, deltas[ROW_KERN]);
	row->tasks_ns = row_add(row->tasks_ns, tasks_ns);
	row->busy_ns = row_add(row->busy_ns, tasks_ns + interrupts_ns);
	if (!times->counted)
		return;
	row->user_cycles += times->user_cycles - row->seen.user_cycles;
	row->kern_cycles += times->kern_cycles - row->seen.kern_cycles;
	row->seen.user_cycles = times->user_cycles;
	row->seen.kern_cycles = times->kern_cycles;
}

void row_advance_exact(struct row *row, const struct exact_times *times, const uint64_t *deltas)
{
	uint64_t part[EXACT_STATES], tasks_ns, user;
	int s;

	for (s = 0; s < EXACT_STATES; s++) {
		part[s] = times->ns[s] > row->seen.ns[s] ? times->ns[s] - row->seen.ns[s] : 0;
		if (part[s])
			row->seen.ns[s] = times->ns[s];
	}
	row->seen.at_ns = times->at_ns;
	row->owed[ROW_STEAL] = row_add(row->owed[ROW_STEAL], deltas[ROW_STEAL]);
	/* a machine that does not run is seen as a long stay in some state, most often of a task */
	take_steal(row, &part[EXACT_TASK]);
	take_steal(row, &part[EXACT_USER]);
	take_steal(row, &part[EXACT_IDLE]);
	take_steal(row, &part[EXACT_SOFTIRQ]);
	take_steal(row, &part[EXACT_IRQ]);
	tasks_ns = part[EXACT_TASK] + part[EXACT_USER];
	add_shares(row, times, deltas, tasks_ns, part[EXACT_IRQ] + part[EXACT_SOFTIRQ]);
	if (times->divided)
		user = part[EXACT_USER];
	else if (times->counted && row->user_cycles + row->kern_cycles)
		user = divide_by_cycles(row, tasks_ns);
	else
		user = divide_tasks(row, tasks_ns);
	row->ns[ROW_IRQ] = row_add(row->ns[ROW_IRQ], part[EXACT_IRQ] + part[EXACT_SOFTIRQ]);
	row->ns[ROW_IDLE] = row_add(row->ns[ROW_IDLE], part[EXACT_IDLE]);
	row->ns[ROW_USER] = row_add(row->ns[ROW_USER], user);
	row->ns[ROW_KERN] = row_add(row->ns[ROW_KERN], tasks_ns - user);
}

void row_reset(struct row *row)
{
	memset(row->ns, 0, sizeof(row->ns));
	memset(row->owed, 0, sizeof(row->owed));
	row_reset_ratio(row);
}

void row_reset_ratio(struct row *row)
{
	row->user_ticks_ns = row->kern_ticks_ns = 0;
	row->user_cycles = row->kern_cycles = 0;
	row->tasks_ns = row->busy_ns = row->user_ns = 0;
}
