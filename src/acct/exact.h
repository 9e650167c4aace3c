/* SPDX-License-Identifier: MIT */
/*
 * Exact times of the CPUs, measured in the kernel at each change of state, while that is switched on.
 *
 * Measuring makes every interrupt and every switch of tasks slower, so it goes on only while somebody
 * reads: from exact_want() until `hold` after the last one. Programs are attached and detached by a
 * thread of its own (kp-times), which exists only in this time, since each takes tens of
 * milliseconds: exact_want() does not wait for it, and what passes until then is counted by
 * /proc/stat. One struct serves all accountings of a server.
 *
 * All functions are thread-safe. Only exact_wait(), exact_off() and exact_destroy() wait for that thread.
 * Locks: exact.listeners, then the accounting's mutex, then exact.lock.
 */
#ifndef KPROFS_ACCT_EXACT_H
#define KPROFS_ACCT_EXACT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "acct/exact_times.h"
#include "base/err.h"
#include "base/stats.h"

struct exact;
struct exact_tasks;

enum exact_source {
	EXACT_AUTO,     /* measured if that is possible */
	EXACT_PROCSTAT, /* never measured */
	EXACT_BPF,      /* commands fail if it is not possible */
};

enum exact_split {
	EXACT_SPLIT_TICKS,
	EXACT_SPLIT_CALLS,
	EXACT_SPLIT_CYCLES,
};

/* How long it is measured after the last reading, seconds. */
#define EXACT_HOLD_DEFAULT_S 60
#define EXACT_HOLD_MAX_S 86400

/* Nothing is attached and no thread exists before exact_want(). */
struct exact *exact_create(enum exact_source source, unsigned int hold_s);
/* Detaches. Called when no accounting uses it any more. NULL is allowed. */
void exact_destroy(struct exact *exact);

/*
 * Calls `sample` in the thread kp-times just after measuring has begun and just before it ends, so that
 * no time is counted twice or missed there.
 */
void exact_listen(struct exact *exact, void (*sample)(void *arg), void *arg);
void exact_unlisten(struct exact *exact, void *arg);

/*
 * Wishes measured times from now until `hold` after the last call. Does nothing with EXACT_PROCSTAT, and
 * after an attempt that failed: only exact_retry() tries again.
 */
void exact_want(struct exact *exact);
void exact_retry(struct exact *exact);
/*
 * The same, and waits until it is measured or that has failed, at most some seconds. Returns 0 if it is
 * measured, or with EXACT_PROCSTAT; otherwise -errno with a sentence.
 */
int exact_wait(struct exact *exact, struct err *err);
/* Ends measuring and waits until nothing is attached. */
void exact_off(struct exact *exact);

/* Take effect at once; measuring that goes on is ended and, if it is still wanted, begun again. */
void exact_set_source(struct exact *exact, enum exact_source source);
enum exact_source exact_source(struct exact *exact);
void exact_set_split(struct exact *exact, enum exact_split split);

/*
 * Reading: begin returns the number of the attachment whose times are read until end, or 0 if nothing is
 * measured; then end is not called. Nothing else may be called in between. exact_read() returns false
 * for a CPU that is not known; an offline one stands still. exact_ask() lets an online CPU that has changed
 * no state since the last one add the time in progress; it returns whether the CPU was asked.
 */
uint64_t exact_begin(struct exact *exact);
bool exact_read(struct exact *exact, unsigned int cpu, bool online, struct exact_times *times);
bool exact_ask(struct exact *exact, unsigned int cpu);
void exact_end(struct exact *exact);

/*
 * What the processes have done since measuring began. A table of the kernel that is read without a lock: the
 * caller closes it. Returns NULL if nothing is measured.
 */
struct exact_tasks *exact_open_tasks(struct exact *exact);

/* From now on the longest waits of tasks are those from now on. */
void exact_begin_epoch(struct exact *exact);

/* Whether it is measured now, and what divides the time of tasks then: else it is ticks. */
bool exact_is_attached(struct exact *exact);
enum exact_split exact_split(struct exact *exact);
const char *exact_split_name(enum exact_split split);

/*
 * Adds mpstat.source_wanted, and while it is measured cpu.N.runqueue..., cpu.N.switches and
 * cpu.N.migrations.
 */
void exact_print_stats(struct exact *exact, struct stats *stats);

#endif
