/* SPDX-License-Identifier: MIT */
/* How many reports are passed on: see reports.h. */
#include "trace/reports.h"

#include <glib.h>
#include <stdint.h>

#include "base/units.h"
#include "sys/clock.h"

/* When another report may be passed on. */
#define REPORT_NS NSEC_PER_SEC
#define USERS_BITS 7

/* About a user's programs. */
struct user {
	unsigned int left; /* that may be passed on now */
	uint64_t since_ns; /* when that was reckoned */
	pid_t pid;	   /* whose was the last */
};

struct reports {
	unsigned int most; /* invariant */
	struct user users[1u << USERS_BITS];
};

struct reports *reports_create(unsigned int most)
{
	struct reports *reports = g_new0(struct reports, 1);

	reports->most = most;
	for (size_t i = 0; i < G_N_ELEMENTS(reports->users); i++)
		reports->users[i] = (struct user){ most, clock_monotonic_ns(), -1 };
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
	uint64_t now_ns = clock_monotonic_ns(), more = (now_ns - user->since_ns) / REPORT_NS;

	if (more) {
		user->left = (unsigned int)MIN(user->left + more, reports->most);
		user->since_ns = now_ns;
	}
	if (user->left <= (pid == user->pid ? reports->most / 2 : 0))
		return false;
	user->left--;
	user->pid = pid;
	return true;
}
