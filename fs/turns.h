/* SPDX-License-Identifier: MIT */
/*
 * Selects the next job when several users have jobs for few threads. The users with the fewest
 * current jobs are served first, in turn, each with their oldest job. So a user with one job waits
 * for at most one job of each other user.
 *
 * A user gets at most all threads but one, so that another user's job can begin at once. Root and
 * the user who mounted share an additional thread.
 *
 * Not thread-safe: slow_ops.c calls it under its lock.
 */
#ifndef KPROFS_FS_TURNS_H
#define KPROFS_FS_TURNS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct turns {
	unsigned int threads; /* invariant: for users who are not privileged; one more with them */
	unsigned int others;  /* their current jobs */
	GQueue users;	      /* of struct turns_user; the next one is first */
};

void turns_init(struct turns *turns, unsigned int threads);
/* Called when no job is waiting or current. */
void turns_fini(struct turns *turns);

void turns_add(struct turns *turns, uid_t uid, bool privileged, void *job);
/*
 * Returns the job that may begin now and makes it current, or NULL if there is none. Sets *uid to
 * its user, for turns_done().
 */
void *turns_take(struct turns *turns, uid_t *uid);
/* Called when a job that was taken has ended. */
void turns_done(struct turns *turns, uid_t uid);

/* Removes a waiting job. */
void turns_remove(struct turns *turns, void *job);

#endif
