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
 * May find files of all users and open them for reading, and see other processes' mappings and
 * the kernel's symbols, if it could do so before. Nothing else.
 */
int confine_opener(void);

/*
 * May see other processes, their mappings and the files behind them, and start threads. Nothing
 * else.
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
 * May read descriptors that it receives, send answers, and fork. *child: what its children need;
 * it is never freed.
 */
int confine_parser(const struct confine_limits *limits, struct confine_child **child);

/* In a child: as its parent, without fork. It ends when its parent does. */
int confine_parser_child(const struct confine_child *child);

/* Becomes this user, without capabilities; keeps the user's own rights. */
int confine_user(uid_t uid, gid_t gid);

/* Closes all descriptors from this one on. */
void confine_close_from(unsigned int first);

#endif
