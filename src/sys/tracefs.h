/* SPDX-License-Identifier: MIT */
/*
 * The kernel's tracepoints: their names and numbers, from tracefs.
 *
 * Many machines do not have tracefs mounted. Where we may, we open a mount of our own that is
 * attached to no directory (fsmount(2)): no other process sees it, and it ends with the
 * descriptor.
 *
 * All functions return 0 or -errno, are thread-safe, and read pseudo files only.
 */
#ifndef KPROFS_SYS_TRACEFS_H
#define KPROFS_SYS_TRACEFS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nearest.h"

/*
 * Opens the top directory of tracefs for the calls below; the caller closes the descriptor. `path`
 * is a directory to use instead (tests). If it is NULL, the directory is /sys/kernel/tracing if
 * tracefs is mounted there, otherwise a mount of our own, otherwise /sys/kernel/debug/tracing.
 * Returns -EACCES or -EPERM if this is not allowed, -ENOENT or -ENODEV if this kernel or container
 * has no tracefs.
 */
int tracefs_open(const char *path, int *dirfd);

/*
 * Reads the number of a tracepoint, attr.config of PERF_TYPE_TRACEPOINT. Returns -ENOENT if there
 * is no such tracepoint.
 */
int tracefs_event_id(int dirfd, const char *system, const char *name, uint64_t *id);

/*
 * Calls event() for every tracepoint that has a number, only those of `system` if it is not NULL
 * and exists; until it returns other than 0, and returns that value.
 */
int tracefs_list(int dirfd, const char *system,
	int (*event)(void *arg, const char *system, const char *name), void *arg);

/*
 * Offers "SYSTEM:NAME" of every tracepoint that has a number to `nearest`, only those of `system`
 * if it exists. Some 2,000 names: a few ms.
 */
int tracefs_nearest(int dirfd, const char *system, struct nearest *nearest);

#endif
