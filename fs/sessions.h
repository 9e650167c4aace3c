/* SPDX-License-Identifier: MIT */
/*
 * The sessions that users make beside the one at the top of the mount: the directories in sessions/.
 *
 * To make or to end a session takes milliseconds, so requests for that are parked (parked.h) and carried
 * out by the thread "kp-sessions", which exists since the first one. A session that was removed is stopped
 * at once; its memory is freed by that thread when no open file and no name of it is left.
 *
 * Thread-safe. sessions_close() and sessions_destroy() block, and sessions_take_snapshot() while a session
 * is made.
 */
#ifndef KPROFS_FS_SESSIONS_H
#define KPROFS_FS_SESSIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/stats.h"
#include "fs/dirtab.h"

struct fuse_req;
struct node;
struct nodes;
struct origin;
struct quotas;
struct session;
struct session_options;
struct sessions;
struct snapshots_made;

/* Each has some three threads and, while it runs, one perf event for each CPU and event at least. */
#define SESSIONS_DEFAULT 64
#define SESSIONS_USER_DEFAULT 8
#define SESSIONS_MAX 1024
#define SESSIONS_NAME_MAX 64

struct sessions_options {
	const struct session_options *session; /* for each one; name, owner and hooks are set here */
	struct nodes *nodes;		       /* which requests name, and which outlive sessions_close() */
	struct quotas *quotas;		       /* says who is bound by user_max */
	unsigned int max, user_max;	       /* of all users, and of one that is not privileged */
	/* a session was removed without a request of the kernel, which may remember its name; with arg */
	void (*removed)(void *arg);
	void *arg;
};

/* Copies the options and what `session` points to. */
struct sessions *sessions_create(const struct sessions_options *options);

/*
 * Carries out mkdir or rmdir of `name` in a directory with DIRTAB_SESSIONS and answers the request: 0 or
 * an entry, or -EINVAL (no such name can be), -EEXIST, -ENOENT, -ENOSPC (too many sessions, or no memory
 * is left for another), with a line in kperr.
 */
void sessions_make(struct sessions *sessions, struct fuse_req *req, struct node *dir, const char *name,
	const struct origin *origin);
void sessions_remove(struct sessions *sessions, struct fuse_req *req, struct node *dir, const char *name,
	const struct origin *origin);

/*
 * Makes a session of what another one holds now; in the control thread of that one. Returns -EINVAL,
 * -EEXIST, -ENOSPC (too many sessions, or no memory is left), -EACCES (the user may write to the session but
 * not read it) or -ESHUTDOWN, with the sentence.
 */
int sessions_take_snapshot(struct sessions *sessions, struct session *from,
	const struct snapshots_made *made, struct err *err);
/* Whether that snapshot would be refused now for a reason other than memory. */
int sessions_check_snapshot(struct sessions *sessions, struct session *from, const char *name,
	const struct origin *origin, struct err *err);
/* Removes a session soon that a program asked for; none if there is no such one. Any thread. */
void sessions_remove_numbered(struct sessions *sessions, const char *name);

/*
 * Makes a session of its files, before the first request. Returns NULL with the sentence if it can't be; else
 * one that is there until the end, or a request removes it.
 */
struct session *sessions_restore(struct sessions *sessions, const struct snapshots_made *made,
	const struct dirtab_owner *owner, struct err *err);

/* Returns a reference to the session of this name, or NULL. */
struct session *sessions_find(struct sessions *sessions, const char *name);
/* Appends references to all of them, by name. */
void sessions_list(struct sessions *sessions, GPtrArray *list);
void sessions_print_stats(struct sessions *sessions, struct stats *stats);

/* Refuses waiting requests with ESHUTDOWN, ends the thread, and stops all sessions. NULL is allowed. */
void sessions_close(struct sessions *sessions);
/* Called after sessions_close(), when no node is left. NULL is allowed. */
void sessions_destroy(struct sessions *sessions);

#endif
