/* SPDX-License-Identifier: MIT */
/*
 * Connection limits: how many connections a process, a user and all users may have, and which
 * connection is evicted for a new one. A connection is pending until its HELLO has been received;
 * only pending connections are evicted, so a process that sends nothing keeps no producer out.
 *
 * All functions are called by the thread of the listener only. None blocks.
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

/* One connection. Embedded in the struct that owns it, which outlives admission_remove(). */
struct admission_entry {
	pid_t pid; /* 0 if the process is not visible in this pid namespace */
	uid_t uid;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	bool attached; /* its HELLO has been received */
	GList link; /* in pending, until attached */
};

/* Limits are copied. The result is freed by admission_destroy(). */
struct admission *admission_create(const struct admission_limits *limits);
/* Called when all entries have been removed. */
void admission_destroy(struct admission *admission);

/*
 * Decides whether a new connection of this process may be added. If it may, returns NULL and sets
 * *pending to NULL. If it may once a pending connection has been evicted, returns NULL and sets
 * *pending to that one; the caller evicts it and calls again. Otherwise the connection is refused,
 * and the result is the reason, a static text.
 */
const char *admission_check(
	struct admission *admission, const struct ucred *cred, struct admission_entry **pending);

/* Counts a new connection; it is pending. Fills *entry. */
void admission_add(
	struct admission *admission, struct admission_entry *entry, const struct ucred *cred);
/* Called when the connection has ended. */
void admission_remove(struct admission *admission, struct admission_entry *entry);
/* Called when HELLO has been received: the connection is not pending any more. */
void admission_hello(struct admission *admission, struct admission_entry *entry);

/* Returns the connection that has been pending for longest, or NULL. */
struct admission_entry *admission_oldest_pending(struct admission *admission);

#endif
