/* SPDX-License-Identifier: MIT */
/* What a child process needs around its fork: a signal at its parent's end, and few descriptors. */
#ifndef KPROFS_SYS_CHILD_H
#define KPROFS_SYS_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * To be called in a child before its exec: it gets this signal when the thread that forked it
 * ends, for any reason. -ESRCH: that thread has ended already (its parent is not `parent`);
 * -errno of prctl(2).
 */
int child_die_with(pid_t parent, int signal);

/*
 * In a process, or a thread, with a descriptor table of its own: closes all but these, which are
 * sorted. Other tables have copies of them, so closing does not block. Allocates nothing.
 */
void child_keep_only(const int *sorted, size_t count);

/* Sorts descriptors for child_keep_only(). Allocates nothing. */
void child_sort(int *fds, size_t count);

/*
 * A descriptor of a process that becomes readable when all its threads have ended and their descriptors
 * are closed; close-on-exec. Or -errno.
 */
int child_open_process(pid_t pid);

#endif
