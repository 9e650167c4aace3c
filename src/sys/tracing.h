/* SPDX-License-Identifier: MIT */
/*
 * An instance of tracefs: a buffer of its own, with its own events, filters and clock. It takes some ms, and
 * the kernel's locks of tracing: not in a thread that must not block. One thread at a time for each.
 */
#ifndef KPROFS_SYS_TRACING_H
#define KPROFS_SYS_TRACING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct tracing;

/* Instances of this name are ours: the number of the server's process follows. */
#define TRACING_PREFIX "kprofs-"

/*
 * Makes one with CLOCK_MONOTONIC times and `kb` KiB for each CPU, and removes those of servers that were
 * killed.
 * `path` is a tracefs to use instead of the machine's (tests). -EACCES, -EPERM, -ENOENT with the sentence.
 */
int tracing_create(const char *path, uint32_t kb, struct tracing **tracing, struct err *err);
/* Switches all of its events off and removes it. NULL is allowed. */
void tracing_destroy(struct tracing *tracing);

/* Writes a file below the instance: "events/sched/sched_switch/enable". -errno of open(2) or write(2). */
int tracing_write(const struct tracing *tracing, const char *file, const char *text);
/* Opens one for reading; the caller closes it. */
int tracing_open(const struct tracing *tracing, const char *file, int *fd);
/* CPUs that it has buffers for. */
uint32_t tracing_cpus(const struct tracing *tracing);
/* Takes the next page of a CPU, as the kernel lays it out: its bytes, 0 if there is none, or -errno. */
ssize_t tracing_read_page(const struct tracing *tracing, uint32_t cpu, void *page, size_t bytes);
/* Events of a CPU that were overwritten before they were read, or found no room. */
uint64_t tracing_lost(const struct tracing *tracing, uint32_t cpu);

#endif
