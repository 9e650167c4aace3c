/* SPDX-License-Identifier: MIT */
/*
 * The places for programs that connect: how many a process, a user and all may have, and who makes
 * way for a newcomer. Whoever has not greeted yet does, so that who says nothing keeps nobody out.
 *
 * One thread, the listener's.
 */
#ifndef KPROFS_PRODUCERS_PLACES_H
#define KPROFS_PRODUCERS_PLACES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct places;

struct places_limits {
	unsigned int all, user, process;
};

/* Who has one; lies in what it is a place for. */
struct place {
	pid_t pid; /* 0: one that can't be seen from here, as all others of its namespace */
	uid_t uid;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	bool greeted;
	GList link; /* in late, until it has greeted */
};

struct places *places_create(const struct places_limits *limits);
/* Nobody has a place any more. */
void places_destroy(struct places *places);

/*
 * Looks for a place for a newcomer. NULL: there is one, or, if *late is not NULL, there may be one
 * when this one has been removed: then ask again. Else it is to be sent away, and this is why.
 */
const char *places_find(struct places *places, const struct ucred *who, struct place **late);

void places_take(struct places *places, struct place *place, const struct ucred *who);
void places_leave(struct places *places, struct place *place);
void places_greet(struct places *places, struct place *place);

/* Who has waited longest without a greeting; NULL: nobody. */
struct place *places_first_late(struct places *places);

#endif
