/* SPDX-License-Identifier: MIT */
/*
 * Links of programs that are perf events: clocks, counters, and probes at functions of the kernel and of
 * files. A program is attached as long as the event, a descriptor, is open. Thread-safe; functions
 * return 0 or -errno.
 */
#ifndef KPROFS_BPF_PERF_LINK_H
#define KPROFS_BPF_PERF_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What an event counts; a sample, at which the program runs, is taken each `period` of it. */
struct perf_link_event {
	uint32_t type;	 /* PERF_TYPE_... */
	uint64_t config, config1, config2;
	uint64_t period; /* or, with is_frequency, samples a second */
	bool is_frequency, exclude_user, exclude_kernel;
};

/* The time that passes, in ns, whether the CPU is idle or not. */
void perf_link_clock(uint64_t period_ns, struct perf_link_event *event);

/* Opens the event on a CPU, attaches a BPF_PROG_TYPE_PERF_EVENT program and switches it on. */
int perf_link_open(int program, const struct perf_link_event *event, int cpu, int *link, struct err *err);

/*
 * A BPF_PROG_TYPE_KPROBE program at a place in a file, which all processes that map it reach: `offset` of
 * the file. `counter` is the offset of a semaphore of USDT, which is counted up while it is open, or 0. pid
 * -1: all processes. -EOPNOTSUPP if this kernel has no uprobes.
 */
int perf_link_uprobe(int program, const char *path, uint64_t offset, uint64_t counter, bool at_return,
	int pid,
	int *link, struct err *err);

#endif
