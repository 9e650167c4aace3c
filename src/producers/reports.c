/* SPDX-License-Identifier: MIT */
/* Limits reports: see reports.h. */
#include "producers/reports.h"

#include <glib.h>
#include <stdint.h>

#include "base/ratelimit.h"
#include "base/units.h"
#include "sys/clock.h"

/* The time after which a user has one report more. */
#define REPORT_NS NSEC_PER_SEC
#define USERS_BITS 7

/* The reports about the producers of a user. */
struct reports_user {
	struct ratelimit limit;
	pid_t pid; /* of the last report */
};

struct reports {
	unsigned int most; /* invariant */
	struct reports_user users[1u << USERS_BITS];
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

/*
 * A hash: users may share an entry. There are so few entries that all users together are bounded,
 * too.
 */
static struct reports_user *find_user(struct reports *reports, uid_t uid)
{
	uint32_t mixed = (uint32_t)uid * 2654435769u; /* adjacent uids get distant entries */

	return &reports->users[mixed >> (32 - USERS_BITS)];
}

bool reports_may(struct reports *reports, pid_t pid, uid_t uid)
{
	struct reports_user *user = find_user(reports, uid);
	unsigned int reserve = pid == user->pid ? reports->most / 2 : 0;
	bool may = ratelimit_take(&user->limit, reserve, clock_monotonic_ns());

	if (may)
		user->pid = pid;
	return may;
}
