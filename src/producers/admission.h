/* SPDX-License-Identifier: MIT */
/*
 * The places for programs that connect: how many a process, a user and all may have, and who makes
 * way for a newcomer. Whoever has not greeted yet does, so that who says nothing keeps nobody out.
 *
 * One thread, the listener's.
 */
#ifndef KPROFS_PRODUCERS_ADMISSION_H
#define KPROFS_PRODUCERS_ADMISSION_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct admission;

struct admission_limits {
	unsigned int all, user, process;
};

/* Who has one; lies in what it is a place for. */
struct admission_entry {
	pid_t pid; /* 0: one that can't be seen from here, as all others of its namespace */
	uid_t uid;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	bool greeted;
	GList link; /* in late, until it has greeted */
};

struct admission *admission_create(const struct admission_limits *limits);
/* Nobody has a place any more. */
void admission_destroy(struct admission *places);

/*
 * Looks for a place for a newcomer. NULL: there is one, or, if *late is not NULL, there may be one
 * when this one has been removed: then ask again. Else it is to be sent away, and this is why.
 */
const char *admission_find(
	struct admission *places, const struct ucred *who, struct admission_entry **late);

void admission_take(
	struct admission *places, struct admission_entry *place, const struct ucred *who);
void admission_leave(struct admission *places, struct admission_entry *place);
void admission_greet(struct admission *places, struct admission_entry *place);

/* Who has waited longest without a greeting; NULL: nobody. */
struct admission_entry *admission_first_late(struct admission *places);

#endif
