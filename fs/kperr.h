/* SPDX-License-Identifier: MIT */
/*
 * The last refusals, for people: what kperr shows.
 *
 * The lines of each user are kept apart, so that no user's refusals push out another's. Thread-safe;
 * never blocks longer than a copy of the lines takes.
 */
#ifndef KPROFS_FS_KPERR_H
#define KPROFS_FS_KPERR_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kperr;

#define KPERR_LINES 16	     /* refusals kept of each user */
/*
 * Users whose refusals are kept, besides root and the user who mounted. A machine rarely has more
 * users of a profiler. A user who has many user ids (subuid(5)) can displace the lines of other
 * users, but not those of root and of the user who mounted.
 */
#define KPERR_USERS 64
#define KPERR_WRITTEN_MAX 200 /* bytes of what was written that are shown */
#define KPERR_FILE_MAX 300 /* bytes of the path, which may be a query of any length */

/* One refusal or note. */
struct kperr_entry {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	pid_t pid;
	uid_t uid;
	const char *file;
	unsigned int line; /* of the write, from 1; 0 if it was no write: then it is not shown */
	const char *written;
	size_t written_size;
	const char *reason;
	const char *usage; /* NULL if none is shown */
	bool has_lines;	  /* the reason may have more lines, which are shown as such, indented */
};

/* owner is the user who mounted, who sees the same lines as root. */
struct kperr *kperr_create(uid_t owner);
void kperr_destroy(struct kperr *kperr);
/* The owner is another user from now on, who does not see lines of before: they are removed. */
void kperr_set_owner(struct kperr *kperr, uid_t owner);

/*
 * Keeps a line made of the entry and returns a copy of it, which the caller frees with g_free. If
 * there are lines of too many users, those of the user whose last refusal is the oldest are
 * removed.
 */
char *kperr_add(struct kperr *kperr, const struct kperr_entry *entry);

/*
 * Appends the lines that `reader` may see, newest last: the user's own lines, or all lines for root
 * and the owner.
 */
void kperr_print(struct kperr *kperr, uid_t reader, GString *out);

/* Returns the number of lines that were ever added. */
uint64_t kperr_count(struct kperr *kperr);

#endif
