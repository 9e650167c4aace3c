/* SPDX-License-Identifier: MIT */
/*
 * Counting events without samples, by perf_event_open(2). The attr says what is counted; what it says
 * about sampling is left aside. Thread-safe; nothing blocks.
 */
#ifndef KPROFS_SYS_PERF_COUNT_H
#define KPROFS_SYS_PERF_COUNT_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_counted {
	uint64_t value;
	uint64_t enabled_ns; /* for so long it was to be counted */
	uint64_t running_ns; /* for so long it was: less where counters take turns */
};

/*
 * A counter of a process that has one thread and waits for its exec: it begins with that and counts
 * what the process starts, too. Errors as of perf_open().
 */
int perf_count_open(const struct perf_event_attr *attr, pid_t pid, int *fd);
int perf_count_read(int fd, struct perf_counted *counted);

/* What it would be without taking turns; 0 where it never ran; stops at UINT64_MAX. */
uint64_t perf_count_scale(const struct perf_counted *counted);

/* Whether it can be counted here, of this process or (uncore) of CPU 0: 0 or the -errno. */
int perf_count_try(const struct perf_event_attr *attr);

/* Whether this process may see all tasks of a CPU, the kernel's side too: 0 or the -errno. */
int perf_count_try_cpu(void);

#endif
