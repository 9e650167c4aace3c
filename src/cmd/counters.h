/* SPDX-License-Identifier: MIT */
/*
 * Counters of several events for `kprof stat`: of a command, of the threads of processes, or of CPUs.
 * An event that can't be counted has the reason; the others are counted. One thread.
 */
#ifndef KPROFS_CMD_COUNTERS_H
#define KPROFS_CMD_COUNTERS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "prof/events.h"
#include "sys/perf_count.h"

/* The counted command, processes or CPUs: one of these members is set. */
struct counters_target {
	pid_t command;           /* a child before its exec, with its descendants; 0 if there is none */
	const GArray *processes; /* uint32_t: pids, with threads and processes that they create */
	const GArray *threads;   /* uint32_t: tids, with the same */
	const GArray *cpus;      /* uint32_t */
};

struct counter {
	GArray *fds;    /* int; the counts are summed */
	int error;      /* why it is not counted; 0 if it is */
	bool user_only; /* the kernel's part is not counted: not permitted */
	struct perf_counted counted;
};

struct counters {
	struct event_list list;
	struct counter all[EVENTS_MAX];
};

/*
 * Opens the counters of counters->list; those of a command begin with its exec, the others now. If
 * no event can be counted, and not only because the machine lacks them all, it returns the error of one.
 */
int counters_open(struct counters *counters, const struct counters_target *target, struct err *err);
/* Reads the sums into `counted`. */
void counters_read(struct counters *counters);
void counters_close(struct counters *counters);

/* Whether this machine does not have the event. */
bool counters_is_unsupported(const struct counter *counter);
/* The reason for counter->error; in *err or constant. */
const char *counters_reason(const struct counter *counter, struct err *err);

#endif
