/* SPDX-License-Identifier: MIT */
/*
 * Selects the connection that is served next: round-robin among users, and among the connections of
 * a user. Each user has a budget of CPU time. When it is used up, no producer of that user is
 * served until it is refilled, also no new one, so that a producer gains nothing by a new
 * connection.
 *
 * All functions: the thread of the listener only. None blocks.
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
	uint64_t burst_ns;  /* CPU time that a user may use at once */
	uint64_t per_s_ns;  /* added to the budget in each second */
};

/* One connection; embedded in it. */
struct user_turn {
	struct turns_user *user;
	void *connection;
	GList link; /* in the user's queue, while data is set */
};

struct user_turns *user_turns_create(const struct user_turns_limits *limits);
/* All connections have left. Does nothing for NULL. */
void user_turns_destroy(struct user_turns *turns);

/* A connection begins, and ends. `connection` is what user_turns_next() returns. */
void user_turns_join(struct user_turns *turns, struct user_turn *turn, uid_t uid, void *connection);
void user_turns_leave(struct user_turns *turns, struct user_turn *turn);

/* The connection has work. A second call before its turn does nothing. */
void user_turns_add(struct user_turns *turns, struct user_turn *turn);

/*
 * Removes and returns the connection whose turn it is, or NULL if none has budget. now_ns:
 * CLOCK_MONOTONIC
 */
void *user_turns_next(struct user_turns *turns, uint64_t now_ns);

/* Charges a user with CPU time. Returns true if this used up the budget. */
bool user_turns_charge(struct user_turns *turns, uid_t uid, uint64_t used_ns, uint64_t now_ns);

/* ns from now until a waiting user has budget again; 0 if one has it; UINT64_MAX if none waits. */
uint64_t user_turns_wait_ns(const struct user_turns *turns, uint64_t now_ns);

#endif
