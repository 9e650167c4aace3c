/* SPDX-License-Identifier: MIT */
/*
 * Counts events without samples, by perf_event_open(2). The attr selects what is counted; its
 * members for sampling are ignored. Thread-safe; nothing blocks.
 */
#ifndef KPROFS_SYS_PERF_COUNT_H
#define KPROFS_SYS_PERF_COUNT_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_counted {
	uint64_t value;
	uint64_t enabled_ns; /* time that it was enabled */
	uint64_t running_ns; /* time that it was counted: less if counters are multiplexed */
};

/*
 * A counter of a process that has one thread and waits before its exec: it begins with the exec
 * and counts child processes too. Errors as of perf_open().
 */
int perf_count_open(const struct perf_event_attr *attr, pid_t pid, int *fd);
/*
 * A counter that begins now: of a thread (cpu -1), also of threads and processes that it creates, or
 * of a CPU (pid -1).
 */
int perf_count_open_running(const struct perf_event_attr *attr, pid_t pid, int cpu, int *fd);
int perf_count_read(int fd, struct perf_counted *counted);

/* The value estimated without multiplexing; 0 if it never ran; saturates at UINT64_MAX. */
uint64_t perf_count_scale(const struct perf_counted *counted);

/*
 * Returns 0 if the event can be counted here, for this process or, if it is uncore, on CPU 0;
 * otherwise -errno.
 */
int perf_count_try(const struct perf_event_attr *attr);

/* Whether this process may count all tasks of a CPU, in the kernel too: 0 or -errno. */
int perf_count_try_cpu(void);

#endif
