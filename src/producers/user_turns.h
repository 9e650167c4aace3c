/* SPDX-License-Identifier: MIT */
/*
 * Whose connection is served next: users in turn, and the connections of a user in turn. What is
 * done for a user's programs takes time of his: who has used his up waits until he has some again,
 * and so do all his programs, also new ones: a user who connects again gains nothing.
 *
 * One thread, the listener's.
 */
#ifndef KPROFS_PRODUCERS_USER_TURNS_H
#define KPROFS_PRODUCERS_USER_TURNS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct user_turns;
struct turns_user;

struct user_turns_limits {
	uint64_t burst_ns;  /* CPU time that a user may use at once, */
	uint64_t per_s_ns;  /* and then in each second */
};

/* Of one connection; lies in it. */
struct user_turn {
	struct turns_user *user;
	void *connection;
	GList link; /* in the user's queue, while data is set */
};

struct user_turns *user_turns_create(const struct user_turns_limits *limits);
/* All have left. */
void user_turns_destroy(struct user_turns *turns);

void user_turns_join(struct user_turns *turns, struct user_turn *turn, uid_t uid, void *connection);
void user_turns_leave(struct user_turns *turns, struct user_turn *turn);

/* There is something to do for this connection; twice is once. */
void user_turns_add(struct user_turns *turns, struct user_turn *turn);

/*
 * Removes and returns the connection whose turn it is; NULL: nobody's now. now_ns: CLOCK_MONOTONIC
 */
void *user_turns_next(struct user_turns *turns, uint64_t now_ns);

/* So much CPU time was used for a user; true: he has none left, and had some before. */
bool user_turns_charge(struct user_turns *turns, uid_t uid, uint64_t used_ns, uint64_t now_ns);

/* When somebody who waits has time again: ns from now, 0: at once; UINT64_MAX: nobody waits. */
uint64_t user_turns_wait_ns(const struct user_turns *turns, uint64_t now_ns);

#endif
