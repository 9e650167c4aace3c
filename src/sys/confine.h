/* SPDX-License-Identifier: MIT */
/*
 * A process gives up rights for good, before it touches what others wrote. Called at its start, with
 * one thread. On failure (-errno) the process must not go on.
 *
 * System calls that are not on a list end the process, but for those that look for files by name:
 * libraries try these, and get EPERM.
 *
 * In a build with a sanitizer, whose memory does not fit, memory is not bounded.
 */
#ifndef KPROFS_SYS_CONFINE_H
#define KPROFS_SYS_CONFINE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * May find and open files, anybody's, for reading, and see other processes' mappings and the kernel's
 * symbols; if it could do so before. Nothing else.
 */
int confine_opener(void);

/*
 * May see other processes, their mappings and the files behind them, and start threads. Nothing else.
 */
int confine_reader(void);

struct confine_child;

struct confine_limits {
	uint64_t data_bytes;	/* of memory that is written to */
	uint64_t mapped_bytes;	/* of all memory, with mapped files */
	uint64_t cpu_seconds;	/* of each process */
	uint64_t files;		/* descriptors open at a time */
};

/*
 * May read descriptors that it is handed, answer, and fork. *child: what its children need; it is
 * never freed.
 */
int confine_parser(const struct confine_limits *limits, struct confine_child **child);

/* In a child: as its parent, and no fork any more. It ends when its parent does. */
int confine_parser_child(const struct confine_child *child);

/* Becomes this user, without any capability; keeps the user's own rights. */
int confine_user(uid_t uid, gid_t gid);

/* Closes all descriptors from this one on. */
void confine_close_from(unsigned int first);

#endif
