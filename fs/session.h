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
struct exact;
struct sched;
struct kperr;
struct kpctl_thread;
struct log;
struct probes;
struct profiler;
struct report;
struct server;

/* All members are invariant. The modules to which they point have their own locks. */
struct session {
	struct server *server;
	struct kperr *kperr;
	struct report *report;
	struct profiler *profiler;
	struct probes *probes;
	struct kpctl_thread *kpctl;
	struct accounting *accounting;
	struct exact *exact; /* the server's */
	struct sched *sched;
	struct accounting *run_accounting; /* since the start of the run, whatever is written to mpstat */
	void (*data_ready)(struct server *server);
	void (*data_drained)(struct server *server);
};

struct session_options {
	struct server *server; /* for the files; it outlives the session */
	struct log *log;       /* the same */
	struct exact *exact;   /* the same */
	uid_t owner;	       /* who sees all lines of kperr, besides root */
	struct probes *(*create_probes)(struct session *session); /* the programs of probes/ */
	bool akaros;	       /* every open file of kpctl holds the run */
	/* hooks of the profiler (prof/profiler.h), from its threads */
	void (*data_ready)(struct server *server);
	void (*data_drained)(struct server *server);
};

/*
 * Creates a session with its thread for commands. The caller calls session_destroy() even if it
 * fails.
 */
int session_create(const struct session_options *options, struct session **session, struct err *err);

/*
 * Answers waiting requests with ESHUTDOWN, stops the run and ends the thread for commands. NULL is
 * allowed.
 */
void session_close(struct session *session);
/*
 * Called after session_close(), when no file of it is open and no node of it is left. NULL is
 * allowed.
 */
void session_destroy(struct session *session);

#endif
