/* SPDX-License-Identifier: MIT */
/*
 * The snapshots of one session: what it has captured becomes another session, which is stopped. They are
 * taken in its control thread: at once for the word `snapshot`, and later for `snapshot NAME after TIME`
 * and for snapshot() of programs of probes/.
 *
 * snapshots_take(), _take_later() and _serve() are for the control thread, the others for any thread.
 */
#ifndef KPROFS_FS_SNAPSHOTS_H
#define KPROFS_FS_SNAPSHOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/stats.h"

struct origin;
struct report;
struct session;
struct snapshots;

struct snapshots_made {
	const char *name;
	const struct origin *origin; /* its user has the new session */
	bool is_numbered;	     /* a program asked for it */
};

/* What the sessions of the server do for them. */
struct snapshots_ops {
	/* whether a snapshot of this name would be refused now for another reason than memory */
	int (*check)(struct session *session, const char *name, const struct origin *origin,
		struct err *err);
	int (*take)(struct session *session, const struct snapshots_made *made, struct err *err);
	/* removes a session soon that a program asked for, if there is such a one */
	void (*remove)(struct session *session, const char *name);
};

/* Snapshots that wait for their time, of one session. */
#define SNAPSHOTS_WAITING_MAX 16
/* The longest such time: it is for moments that are near. */
#define SNAPSHOTS_AFTER_MAX_S 3600
/* The snapshots that are held of one name in programs of probes/. */
#define SNAPSHOTS_NUMBERED_MAX 16

/* All of it must outlive them. */
struct snapshots *snapshots_create(struct session *session, const struct snapshots_ops *ops,
	struct report *report);
/* NULL is allowed. */
void snapshots_destroy(struct snapshots *snapshots);

/* Takes a snapshot of this name, which belongs to the user of `origin`. Errors: those of `take`. */
int snapshots_take(struct snapshots *snapshots, const char *name, const struct origin *origin,
	struct err *err);
/* The same later; an error at that time goes to kperr. -EEXIST, -EINVAL, -ERANGE, -EBUSY (too many wait) */
int snapshots_take_later(struct snapshots *snapshots, const char *name, uint64_t after_ns,
	const struct origin *origin, struct err *err);
/*
 * A program of probes/ has called snapshot(): NAME.1, NAME.2, ... soon. At most one of a name each second
 * is taken; the others are counted as lost, as are those that fail. Returns whether the control thread has
 * to call snapshots_serve().
 */
bool snapshots_request(struct snapshots *snapshots, const char *label, const char *name,
	const struct origin *origin);
/* Takes those that are due. Returns when the next one is, or 0. */
uint64_t snapshots_serve(struct snapshots *snapshots);

void snapshots_print_stats(struct snapshots *snapshots, struct stats *stats);

#endif
