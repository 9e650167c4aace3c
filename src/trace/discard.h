/* SPDX-License-Identifier: MIT */
/*
 * Closing descriptors that strangers sent. close(2) of a file on somebody's own FUSE or network
 * mount waits for whoever serves it, and may do so for ever: so each is closed by a thread of its
 * own, and a process, or a user, who has too many of these sends no more. Descriptors that nobody
 * received are another thing: see hangup.h.
 *
 * One thread, the listener's. No timeouts, and nothing is left running when all are closed.
 */
#ifndef KPROFS_TRACE_DISCARD_H
#define KPROFS_TRACE_DISCARD_H

#include <stdbool.h>
#include <sys/types.h>

struct discard;

/* Packets whose descriptors are being closed: of one process, of one user's processes, and in all. */
#define DISCARD_PROCESS_MAX 2
#define DISCARD_USER_MAX 8
#define DISCARD_MAX 32

/* Whose descriptors they are. */
struct discard_owner {
	pid_t pid; /* 0: a process that can't be seen from here; together they are one user's */
	uid_t uid;
};

struct discard *discard_create(void);
/* Does not wait for closes that hang: they end with the process. */
void discard_destroy(struct discard *discard);

/* May the descriptors of another packet be taken from this process? */
bool discard_may(struct discard *discard, const struct discard_owner *owner);
/*
 * Has those of one packet closed, one after the other. Beyond the bounds, and without a thread to be
 * had, they are closed here. At most RECEIVE_DESCRIPTORS_MAX.
 */
void discard_close(struct discard *discard, const struct discard_owner *owner, const int *fds,
	unsigned int count);

#endif
