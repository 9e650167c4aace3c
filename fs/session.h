/* SPDX-License-Identifier: MIT */
/*
 * A session: what belongs to one profiler and its files, kpctl to views/. Its settings, its run and
 * capture, the times of mpstat since its own baseline, and its lines of kperr; sessions share only
 * the server (server.h), which has the state of the machine.
 *
 * A file belongs to the session of its node (node_session()), and a node to that of its directory.
 */
#ifndef KPROFS_FS_SESSION_H
#define KPROFS_FS_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct accounting;
struct kperr;
struct kpctl_thread;
struct log;
struct profiler;
struct report;
struct server;

/* All invariant. The modules that are pointed to have locks of their own. */
struct session {
	struct server *server;
	struct kperr *kperr;
	struct report *report;
	struct profiler *profiler;
	struct kpctl_thread *kpctl;
	struct accounting *accounting;
	void (*data_ready)(struct server *server);
	void (*data_drained)(struct server *server);
};

struct session_options {
	struct server *server; /* for the files; it outlives the session */
	struct log *log;       /* the same */
	uid_t owner;	       /* who sees all lines of kperr, besides root */
	bool akaros;	       /* every open file of kpctl holds the run */
	/* hooks of the profiler (prof/profiler.h), from its threads */
	void (*data_ready)(struct server *server);
	void (*data_drained)(struct server *server);
};

/* With its thread for commands. To be followed by session_destroy() even when it fails. */
int session_create(const struct session_options *options, struct session **session, struct err *err);

/* Answers what waits (ESHUTDOWN), stops the run and ends the thread for commands. Harmless for NULL. */
void session_close(struct session *session);
/* After session_close(). No file of it is open and no node of it is left. Harmless for NULL. */
void session_destroy(struct session *session);

#endif
