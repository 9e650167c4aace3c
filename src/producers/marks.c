/* SPDX-License-Identifier: MIT */
/* Limits messages: see marks.h. */
#include "producers/marks.h"

#include <glib.h>

#include "base/ratelimit.h"
#include "base/units.h"
#include "sys/clock.h"

/* The time after which a user has one message more. */
#define MARK_NS NSEC_PER_SEC
#define USERS_BITS 7

struct marks {
	uid_t owner; /* invariant */
	struct ratelimit users[1u << USERS_BITS];
};

struct marks *marks_create(unsigned int most, uid_t owner)
{
	struct marks *marks = g_new0(struct marks, 1);

	marks->owner = owner;
	for (size_t i = 0; i < G_N_ELEMENTS(marks->users); i++)
		ratelimit_init(&marks->users[i], most, MARK_NS, clock_monotonic_ns());
	return marks;
}

void marks_destroy(struct marks *marks)
{
	g_free(marks);
}

bool marks_may(struct marks *marks, uid_t uid)
{
	/*
	 * A hash: users may share an entry, and there are so few that all users together are bounded.
	 * Adjacent uids get distant entries.
	 */
	uint32_t mixed = (uint32_t)uid * 2654435769u;

	return uid == 0 || uid == marks->owner ||
	       ratelimit_take(&marks->users[mixed >> (32 - USERS_BITS)], 0, clock_monotonic_ns());
}
