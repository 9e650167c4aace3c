/* SPDX-License-Identifier: MIT */
/* What a child process asks of the kernel about its parent. */
#ifndef KPROFS_SYS_CHILD_H
#define KPROFS_SYS_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * In a child before its exec: it gets this signal when the thread that forked it ends, in whatever way.
 * -ESRCH: that has happened already (its parent is not `parent`); -errno of prctl(2).
 */
int child_die_with(pid_t parent, int signal);

/*
 * In a process, or a thread, with a table of descriptors of its own: closes all but these, which are
 * sorted. Others have copies of them, so nothing waits here. Allocates nothing.
 */
void child_keep_only(const int *sorted, size_t count);

#endif
