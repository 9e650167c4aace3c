/* SPDX-License-Identifier: MIT */
/*
 * Opens perf events of tasks with the rights of another user, so that the kernel checks for each task whether
 * that user may sample it. A process with that user's rights opens them and hands over the descriptors: a
 * thread with them could be signalled by the user, and the whole server with it.
 */
#ifndef KPROFS_SYS_PERF_AS_H
#define KPROFS_SYS_PERF_AS_H

#include <linux/perf_event.h>
#include <sys/types.h>

/*
 * Opens the event for each task on the CPU: fds[i] is a descriptor, which the caller closes, or -errno of
 * perf_open(). Blocks for PERF_AS_MS at most, since a task can keep its opener waiting. Returns 0;
 * -ETIMEDOUT; -EPERM without the right to become the user; -EIO if the process was ended; or -errno of
 * fork(2). Then no descriptor is open. Any thread.
 */
int perf_open_as(uid_t uid, gid_t gid, const struct perf_event_attr *attr, int cpu, const pid_t *tids,
	unsigned int count, int *fds);

#define PERF_AS_MS 2000

#endif
