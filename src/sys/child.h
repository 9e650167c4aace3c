/* SPDX-License-Identifier: MIT */
/* Child processes: their start, a signal at their parent's end, and few descriptors. */
#ifndef KPROFS_SYS_CHILD_H
#define KPROFS_SYS_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * A child calls this before its exec; it then gets the signal when the thread that forked it ends,
 * for any reason. Returns -ESRCH if that thread has ended already (its parent is not `parent`), or
 * -errno of prctl(2).
 */
int child_die_with(pid_t parent, int signal);

/*
 * Called in a process or thread with its own descriptor table. Closes all descriptors but these,
 * which are sorted. Other tables have copies of them, so closing does not block. Allocates nothing.
 */
void child_keep_only(const int *sorted, size_t count);

/* The standard streams from input up to `last` are /dev/null from now on. -errno: some are as before. */
int child_close_streams(int last);

/* Sorts descriptors for child_keep_only(). Allocates nothing. */
void child_sort(int *fds, size_t count);

/*
 * Returns a descriptor of a process, close-on-exec, that becomes readable when all its threads have
 * ended and their descriptors are closed; or -errno.
 */
int child_open_process(pid_t pid);

struct child_options {
	const char *program;	  /* a path */
	char *const *arguments;	  /* from argv[0] on, with a NULL at the end */
	char *const *environment; /* the same */
	int fd;			  /* what the child has as descriptor `child_fd` */
	int child_fd;
	const int *defaults; /* signals that get their default action, with a 0 at the end */
};

/*
 * Starts a program with no signal blocked, also from a process with several threads. It has the
 * descriptors of the caller that are not close-on-exec, and `child_fd`. Returns 0 or -errno, such
 * as -ENOENT.
 */
int child_start(const struct child_options *options, pid_t *pid);

#endif
