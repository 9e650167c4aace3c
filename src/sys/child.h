/* SPDX-License-Identifier: MIT */
/* What a child process asks of the kernel about its parent. */
#ifndef KPROFS_SYS_CHILD_H
#define KPROFS_SYS_CHILD_H

#include <sys/types.h>

/*
 * In a child before its exec: it gets this signal when the thread that forked it ends, in whatever way.
 * -ESRCH: that has happened already (its parent is not `parent`); -errno of prctl(2).
 */
int child_die_with(pid_t parent, int signal);

#endif
