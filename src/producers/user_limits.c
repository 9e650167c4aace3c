/* SPDX-License-Identifier: MIT */
/* Limits of users: see user_limits.h. */
#include "producers/user_limits.h"

#include <glib.h>
#include <stdint.h>

#include "base/ratelimit.h"
#include "base/units.h"
#include "sys/clock.h"

/* The time after which a user may do it once more. */
#define INTERVAL_NS NSEC_PER_SEC
#define USERS_BITS 7

struct user_limits_user {
	struct ratelimit limit;
	pid_t pid; /* the last one */
};

struct user_limits {
	unsigned int reserve; /* invariant */
	struct user_limits_user users[1u << USERS_BITS];
};

struct user_limits *user_limits_create(unsigned int most, unsigned int reserve)
{
	struct user_limits *limits = g_new0(struct user_limits, 1);

	limits->reserve = reserve;
	for (size_t i = 0; i < G_N_ELEMENTS(limits->users); i++) {
		ratelimit_init(&limits->users[i].limit, most, INTERVAL_NS, clock_monotonic_ns());
		limits->users[i].pid = -1;
	}
	return limits;
}

void user_limits_destroy(struct user_limits *limits)
{
	g_free(limits);
}

bool user_limits_take(struct user_limits *limits, uid_t uid, pid_t pid)
{
	/*
	 * A hash: users may share an entry, and there are so few that all users together are bounded.
	 * Adjacent uids get distant entries.
	 */
	uint32_t mixed = (uint32_t)uid * 2654435769u;
	struct user_limits_user *user = &limits->users[mixed >> (32 - USERS_BITS)];
	unsigned int reserve = pid == user->pid ? limits->reserve : 0;
	bool may = ratelimit_take(&user->limit, reserve, clock_monotonic_ns());

	if (may)
		user->pid = pid;
	return may;
}
