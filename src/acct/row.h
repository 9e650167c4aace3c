/* SPDX-License-Identifier: MIT */
/*
 * The row of one CPU: its time in each of Akaros's states, made of what a source measured.
 *
 * Every advance adds, over all states and steal together, exactly the time that has passed, so that
 * a row adds up at each reading. Nothing is ever subtracted. What the kernel counts in ticks may
 * be more than the time that has passed since the last advance, since a tick is counted as a whole: the
 * rest is owed and added by later advances.
 *
 * Private to src/acct and its tests. One thread at a time.
 */
#ifndef KPROFS_ACCT_ROW_H
#define KPROFS_ACCT_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "acct/exact_times.h"
#include "acct/source.h"

/* Akaros's states in Akaros's order, and one that has no column. */
enum row_state {
	ROW_IRQ,
	ROW_KERN,
	ROW_USER,
	ROW_IDLE,
	ROW_COLUMNS,
	ROW_STEAL = ROW_COLUMNS,
	ROW_STATES
};

struct row {
	bool present;                   /* in the newest sample; else it is not shown */
	bool online;                    /* in the newest sample */
	bool based;                     /* `highest` was read within the accounted time */
	uint64_t highest[SOURCE_TIMES]; /* ns, as the source counts */
	uint64_t at_ns;                 /* the time up to which `ns` goes, CLOCK_MONOTONIC */
	uint64_t ns[ROW_STATES];        /* since the baseline */
	uint64_t owed[ROW_STATES];      /* counted by the kernel and not in `ns` yet */

	uint64_t attachment;            /* of the exact times in `seen`, 0 if there are none */
	struct exact_times seen;        /* at at_ns */
	/* what divides the exact time of tasks, all since the attachment or the baseline */
	uint64_t user_ticks_ns, kern_ticks_ns;
	uint64_t user_cycles, kern_cycles;
	uint64_t busy_ns; /* of tasks and of interrupts, whose cycles are in those of the kernel */
	uint64_t tasks_ns, user_ns;
};

/* a + b, at most UINT64_MAX */
uint64_t row_add(uint64_t a, uint64_t b);

/*
 * Updates the highest values of the counters, and puts what they advanced into `deltas` by state.
 * Returns the number of counters that were below an earlier value of themselves; these add nothing.
 */
unsigned int row_take_counters(struct row *row, const uint64_t *counters, uint64_t *deltas);

/*
 * Advances by deltas of counters. With passed_ns UINT64_MAX the time that passed is not known, and
 * all of them are added as they are; else idle gets what is left of it.
 */
void row_advance(struct row *row, const uint64_t *deltas, uint64_t passed_ns);

/*
 * Advances to exact times of the same attachment as those in `seen`, which they replace. `deltas` are
 * those of the counters in the same span: of these only steal is used, which is inside of the exact
 * times and is taken out of them, and the ratio of user to kernel, which divides the time of tasks unless
 * the exact times have it divided, or have counted cycles.
 */
void row_advance_exact(struct row *row, const struct exact_times *times, const uint64_t *deltas);

/* Begins a new baseline, or with it a new span for the ratio of user to kernel. */
void row_reset(struct row *row);
void row_reset_ratio(struct row *row);

#endif
