/* SPDX-License-Identifier: MIT */
/*
 * Limits how often the processes of each user may do something that takes from a memory that all users
 * share: messages to the trace, and reports about refused producers. Called by one thread.
 */
#ifndef KPROFS_PRODUCERS_USER_LIMITS_H
#define KPROFS_PRODUCERS_USER_LIMITS_H

#include <stdbool.h>
#include <sys/types.h>

struct user_limits;

/*
 * A user may do it `most` times at once, and then once a second. `reserve` of these are left to other
 * processes than the last one, so that one process does not use up what its user may do.
 */
struct user_limits *user_limits_create(unsigned int most, unsigned int reserve);
void user_limits_destroy(struct user_limits *limits);

/* Returns whether this process of the user may do it once more, and counts it if so. */
bool user_limits_take(struct user_limits *limits, uid_t uid, pid_t pid);

#endif
