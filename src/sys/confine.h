/* SPDX-License-Identifier: MIT */
/*
 * A process gives up rights permanently, before it reads data that other users wrote. Called at
 * its start, while it has one thread. On failure (-errno) the process must not go on.
 *
 * A system call that is not on the list ends the process, except those that find files by name:
 * libraries try these, and get EPERM.
 *
 * In a build with a sanitizer memory is not bounded, since the sanitizer's own memory does not
 * fit.
 */
#ifndef KPROFS_SYS_CONFINE_H
#define KPROFS_SYS_CONFINE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Leaves the rights to find files of all users and open them for reading, and to see other
 * processes' mappings and the kernel's symbols, as far as the process had them.
 */
int confine_opener(void);

/*
 * Leaves the rights to see other processes, their mappings and the mapped files, and to start
 * threads.
 */
int confine_reader(void);

struct confine_child;

struct confine_limits {
	uint64_t data_bytes;	/* of writable memory */
	uint64_t mapped_bytes;	/* of all memory, mapped files included */
	uint64_t cpu_seconds;	/* of each process */
	uint64_t files;		/* descriptors that are open at a time */
};

/*
 * Leaves the rights to read descriptors that it receives, to send answers, and to fork. Sets *child
 * to the data that its children need, which is never freed.
 */
int confine_parser(const struct confine_limits *limits, struct confine_child **child);

/*
 * Called in a child: leaves the rights of its parent except fork. The child ends when its parent
 * does.
 */
int confine_parser_child(const struct confine_child *child);

/* Becomes this user, without capabilities; keeps the user's own rights. */
int confine_user(uid_t uid, gid_t gid);

/* Closes all descriptors from this one on. */
void confine_close_from(unsigned int first);

#endif
