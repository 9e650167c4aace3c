/* SPDX-License-Identifier: MIT */
/*
 * A session: what belongs to one profiler and its files, kpctl to views/. Its settings, its run and
 * capture, the times of mpstat since its own baseline, its programs of probes/, and its lines of kperr;
 * sessions share only the server (server.h), which has the state of the machine.
 *
 * A file belongs to the session of its node (node_session()), and a node to that of its directory. The
 * session at the top of the mount is the server's; those below sessions/ (sessions.h) are counted: their
 * directories, and so all files below them, have a reference each.
 */
#ifndef KPROFS_FS_SESSION_H
#define KPROFS_FS_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "base/err.h"
#include "fs/dirtab.h"

struct accounting;
struct budget;
struct capture_pool;
struct disk;
struct exact;
struct sched;
struct kperr;
struct kpctl_thread;
struct log;
struct probes;
struct profiler;
struct profiler_image;
struct readings;
struct report;
struct server;
struct snapshots;
struct snapshots_ops;
struct trace_metrics;
struct viewproc;

/*
 * l: under the lock; a: atomic; p: with probes.changing held. All others are invariant; the modules to which
 * they point have their own locks.
 */
struct session {
	struct server *server;
	bool is_restricted; /* to the programs of `maker`, also when another user owns the directory */
	uid_t maker;
	gid_t maker_group;
	/* of a restricted session; NULL of others, which use those of the server */
	struct viewproc *viewproc;
	struct readings *readings;
	struct trace_metrics *trace_metrics;
	char *name; /* of its directory; NULL at the top */
	pthread_mutex_t lock; /* a leaf */
	struct dirtab_owner owner; /* l: of the directory, and so of its files; unused at the top */
	_Atomic unsigned int references; /* a */
	_Atomic bool removed;		 /* a: it is in no table any more */
	void (*unused)(void *arg, struct session *session);
	void (*left)(void *arg, struct session *session);
	void *arg;
	struct kperr *kperr;
	struct report *report;
	struct profiler *profiler;
	struct probes *probes;
	struct helpers *probe_files; /* p: open what cat() names; NULL before the first one */
	struct kpctl_thread *kpctl;
	struct snapshots *snapshots;
	struct disk *disk;    /* for its files; NULL: none */
	char *settings;	      /* the control thread's: as they were written there */
	_Atomic bool keeps_settings; /* a: those that were there have been read */
	bool is_numbered; /* a snapshot that a program of probes/ has asked for */
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
	struct budget *budget; /* the same: for the memory of all profilers */
	const char *name;      /* copied; NULL at the top */
	uid_t owner;	       /* who sees all lines of kperr, besides root; and has the directory */
	gid_t group;	       /* of the directory */
	struct probes *(*create_probes)(struct session *session); /* the programs of probes/ */
	/* `owner` is an ordinary user: samples are of the programs of that user and that group only */
	bool is_restricted;
	const struct snapshots_ops *snapshots; /* outlive it */
	struct profiler_image *image; /* what its profiler is made of, and takes; NULL: nothing is held */
	bool is_numbered;	      /* of a snapshot */
	struct disk *disk; /* in which it has files; NULL: none. The session does not outlive it */
	struct capture_pool *memory; /* likewise, for its capture */
	bool is_restored;	     /* it holds what its files have */
	bool any_rate;	       /* also if it is restricted */
	bool akaros;	       /* every open file of kpctl holds the run */
	/* hooks of the profiler (prof/profiler.h), from its threads */
	void (*data_ready)(struct server *server);
	void (*data_drained)(struct server *server);
	/*
	 * hooks with arg, for a session with a name. unused: the last reference was dropped, by any
	 * thread: session_destroy() should be called soon. left: the file that held it was closed, in the
	 * control thread: it should be removed.
	 */
	void (*unused)(void *arg, struct session *session);
	void (*left)(void *arg, struct session *session);
	void *arg;
};

/*
 * Creates a session with its thread for commands and one reference. The caller calls session_close() and
 * session_destroy() even if it fails.
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

struct session *session_get(struct session *session);
void session_put(struct session *session);

/* From now on its settings are written to its files. */
void session_keep_settings(struct session *session);

/* NULL for the session at the top. */
const char *session_name(const struct session *session);

/*
 * Who makes its views, and the readings of the trace that these show: of a restricted session a process with
 * the rights of its maker, and the events of the maker's programs.
 */
struct viewproc *session_viewproc(const struct session *session);
struct readings *session_readings(const struct session *session);
struct trace_metrics *session_trace_metrics(const struct session *session);

/* Marks the session as removed from the table of sessions. */
void session_set_removed(struct session *session);
/* Whether it is marked. */
bool session_is_removed(struct session *session);

/* Who owns the directory, and its mode. Not for the session at the top. */
void session_owner(struct session *session, struct dirtab_owner *owner);
void session_set_owner(struct session *session, const struct dirtab_owner *owner);

#endif
