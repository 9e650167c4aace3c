/* SPDX-License-Identifier: MIT */
/*
 * The server: everything that one mount owns, and its threads.
 */
#ifndef KPROFS_FS_SERVER_H
#define KPROFS_FS_SERVER_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "base/err.h"
#include "base/log.h"
#include "base/ratelimit.h"
#include "fs/kperr.h"
#include "producers/producers.h"

struct accounting;
struct catalog;
struct kpctl_thread;
struct file_cpus;
struct file_ctf;
struct endpoint;
struct listener;
struct nodes;
struct openfiles;
struct fuse_ops;
struct options;
struct pipes;
struct producers;
struct profiler;
struct quotas;
struct streams;
struct switches;
struct readings;
struct trace;
struct viewproc;
struct slow_ops;

/* Requests take microseconds, and none waits in a worker: enough for two CPUs' worth of readers. */
#define SERVER_WORKERS 4

/* How long a server that ends goes on answering readers that have not come to the end yet. */
#define SERVER_LAST_READS_MS 500

/* Lines a second to the log about what people wrote; kperr has them all. */
#define SERVER_LOG_PER_SECOND 10

/*
 * i: invariant once threads exist; l: under log_lock; a: atomic; m: the main thread's.
 * The modules that are pointed to have locks of their own.
 */
struct server {
	struct log log;			   /* i */
	struct kperr *kperr;		   /* i */
	struct profiler *profiler;	   /* i */
	struct trace *trace;		   /* i */
	struct catalog *catalog;	   /* i */
	struct producers *producers;	   /* i */
	struct readings *readings;	   /* i */
	struct file_cpus *cpus;		   /* i */
	struct file_ctf *ctf;		   /* i */
	struct pipes *pipes;		   /* i */
	struct producers_limits limits;	   /* i */
	struct endpoint *endpoint;	   /* i; NULL: no programs */
	struct listener *listener;	   /* i; the same */
	struct accounting *accounting;	   /* i */
	struct streams *streams;	   /* i */
	struct switches *switches;	   /* i */
	struct kpctl_thread *control;      /* i */
	struct slow_ops *views;            /* i */
	struct slow_ops *trace_readers;    /* i */
	struct viewproc *viewproc;	   /* i */
	struct nodes *nodes;		   /* i */
	struct openfiles *files;	   /* i */
	struct quotas *quotas;		   /* i */
	struct fuse_ops *fuse;	   /* i */
	pthread_t workers[SERVER_WORKERS]; /* m */
	unsigned int n_workers;		   /* m */
	int signals;			   /* m: a signalfd */
	int mounts;			   /* m: the mount table, or -1 */
	dev_t device;			   /* m: of our tree in it */
	int bell;			   /* i: the main thread's */
	_Atomic bool ready;		   /* a: the kernel has greeted */
	_Atomic bool ended;		   /* a: a worker has ended, so the mount is gone */
	_Atomic bool trim;		   /* a: free memory is to be given back */
	pthread_mutex_t log_lock;	   /* a leaf */
	struct ratelimit log_limit;	   /* l */
};

/* The signals that end a server; main blocks them before there are threads. */
void server_signals(sigset_t *signals);

/* Makes all parts; nothing is mounted. To be followed by server_destroy() even when it fails. */
int server_create(struct server *server, const struct options *options, struct err *err);

/* Mounts, starts to answer, and returns when the tree can be used. */
int server_mount(struct server *server, const struct options *options, const char *mountpoint,
	struct err *err);

/* Waits for one of the signals, or for the end of the mount. */
void server_wait(struct server *server);

/* Answers who waits, ends the threads, unmounts, frees. */
void server_destroy(struct server *server);

/* From fuse_ops.c: the kernel has greeted; a worker has ended. */
void server_ready(struct server *server);
void server_worker_ended(struct server *server);

/* Much memory has been freed: it goes back to the machine soon, in the main thread. Any thread. */
void server_trim_memory(struct server *server);

/* Forgets the events of programs. */
void server_clear_events(struct server *server);

/* A refusal, or a success worth a note, at its boundary: one line of kperr and of the log. */
void server_report(struct server *server, struct kperr_entry *entry);

#endif
