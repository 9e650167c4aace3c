/* SPDX-License-Identifier: MIT */
/*
 * Jobs of several users for few threads: which is next. The user with the fewest jobs under way is
 * served first, and of these users each in turn, with the oldest of their jobs. So a user with one
 * job waits for at most one of each other user.
 *
 * A user has all threads but one at most, so that another user's job can begin at once. Root and the user
 * who mounted have a thread more, for which they wait only for each other.
 *
 * Not thread-safe: under the lock of slow_ops.c.
 */
#ifndef KPROFS_FS_TURNS_H
#define KPROFS_FS_TURNS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct turns {
	unsigned int threads; /* invariant: for users who are not privileged; one more with them */
	unsigned int others;  /* their jobs under way */
	GQueue users;	      /* of struct turns_user: whose turn is next is first */
};

void turns_init(struct turns *turns, unsigned int threads);
/* Nothing waits and nothing is under way any more. */
void turns_fini(struct turns *turns);

void turns_add(struct turns *turns, uid_t uid, bool privileged, void *job);
/*
 * The job that may begin now, which is under way from then on; NULL if there is none. *uid is its
 * user, for turns_done().
 */
void *turns_take(struct turns *turns, uid_t *uid);
/* A job that was taken has ended. */
void turns_done(struct turns *turns, uid_t uid);

/* Takes a job out that waits. */
void turns_remove(struct turns *turns, void *job);

#endif
