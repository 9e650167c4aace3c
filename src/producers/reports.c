/* SPDX-License-Identifier: MIT */
/* How many reports are passed on: see reports.h. */
#include "producers/reports.h"

#include <glib.h>
#include <stdint.h>

#include "base/ratelimit.h"
#include "base/units.h"
#include "sys/clock.h"

/* When another report may be passed on. */
#define REPORT_NS NSEC_PER_SEC
#define USERS_BITS 7

/* About a user's programs. */
struct user {
	struct ratelimit limit;
	pid_t pid; /* whose was the last */
};

struct reports {
	unsigned int most; /* invariant */
	struct user users[1u << USERS_BITS];
};

struct reports *reports_create(unsigned int most)
{
	struct reports *reports = g_new0(struct reports, 1);

	reports->most = most;
	for (size_t i = 0; i < G_N_ELEMENTS(reports->users); i++) {
		ratelimit_init(&reports->users[i].limit, most, REPORT_NS, clock_monotonic_ns());
		reports->users[i].pid = -1;
	}
	return reports;
}

void reports_destroy(struct reports *reports)
{
	g_free(reports);
}

/* Users share one only by chance: there are so few that all of them together are bounded, too. */
static struct user *user_of(struct reports *reports, uid_t uid)
{
	uint32_t mixed = (uint32_t)uid * 2654435769u; /* neighbours are far from each other */

	return &reports->users[mixed >> (32 - USERS_BITS)];
}

bool reports_may(struct reports *reports, pid_t pid, uid_t uid)
{
	struct user *user = user_of(reports, uid);
	unsigned int reserve = pid == user->pid ? reports->most / 2 : 0;
	bool may = ratelimit_take(&user->limit, reserve, clock_monotonic_ns());

	if (may)
		user->pid = pid;
	return may;
}
