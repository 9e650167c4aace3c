/* SPDX-License-Identifier: MIT */
/*
 * What each process has done with its time, for views/sched: on a CPU, waiting for one, and sleeping, since
 * the last reset. It is measured while the times of mpstat are (exact.h).
 *
 * Thread-safe (one mutex; the lock of struct exact is taken in it). The functions make some system calls for
 * each thread of the machine: not in a worker.
 */
#ifndef KPROFS_ACCT_SCHED_H
#define KPROFS_ACCT_SCHED_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct exact;
struct sched;

/* `exact` outlives it. */
struct sched *sched_create(struct exact *exact);
/* NULL is allowed. */
void sched_destroy(struct sched *sched);

/* All times begin at 0 again. Returns -errno if the table can't be read; then nothing has changed. */
int sched_reset(struct sched *sched);

/* Whether a process is shown. */
struct sched_filter {
	bool (*shows)(void *arg, uint32_t process);
	void *arg;
};

/*
 * Appends a line about the table, a line of names and one for each process, that with the most time on a CPU
 * first. Says so if nothing is measured yet. Returns -errno with a sentence if the table can't be read.
 * filter: NULL for all processes.
 */
int sched_print(struct sched *sched, const struct sched_filter *filter, GString *out, struct err *err);

#endif
