/* SPDX-License-Identifier: MIT */
/*
 * Closing descriptors that strangers sent. close(2) of a file on somebody's own FUSE or network
 * mount waits for whoever serves it, and may do so for ever: so each is closed by a thread of its
 * own, and a user who has too many of these sends no more.
 *
 * One thread, the listener's. No timeouts, and nothing is left running when all are closed.
 */
#ifndef KPROFS_TRACE_DISCARD_H
#define KPROFS_TRACE_DISCARD_H

#include <stdbool.h>
#include <sys/types.h>

struct discard;

/* Closes that may be under way at once, for one user and in all. */
#define DISCARD_USER_MAX 4
#define DISCARD_MAX 32

struct discard *discard_create(void);
/* Does not wait for closes that hang: they end with the process. */
void discard_destroy(struct discard *discard);

/* May another descriptor be taken from this user? */
bool discard_may(struct discard *discard, uid_t uid);
/* Has it closed. Beyond the bounds, and without a thread to be had, it is closed here. */
void discard_close(struct discard *discard, uid_t uid, int fd);

#endif
