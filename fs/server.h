/* SPDX-License-Identifier: MIT */
/*
 * struct server: the state of the machine and of the mount, which all sessions (session.h) share.
 * server_run.h has the functions that create and end it.
 */
#ifndef KPROFS_FS_SERVER_H
#define KPROFS_FS_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "base/log.h"
#include "producers/producers.h"

struct catalog;
struct kernel;
struct cpus;
struct file_cpudir;
struct file_ctf;
struct endpoint;
struct exact;
struct listener;
struct nodes;
struct openfiles;
struct fuse_ops;
struct options;
struct pipes;
struct producers;
struct quotas;
struct streams;
struct switches;
struct readings;
struct trace_metrics;
struct trace;
struct viewproc;
struct session;
struct sessions;
struct budget;
struct capture_pool;
struct disk;
struct userwatch;
struct slow_ops;

/* Enough for readers on two CPUs, since a request takes microseconds and none waits in a worker. */
#define SERVER_WORKERS 4

/*
 * i: invariant once threads exist; a: atomic; m: the main thread's. The modules to which it points
 * have their own locks.
 */
struct server {
	struct log log;			   /* i */
	/* i: of the files at the top; for server_run.c alone: a file has the session of its node */
	struct session *session_at_top;
	struct sessions *sessions;	   /* i: those that users made */
	struct disk *disk;		   /* i: of state=; NULL: none */
	struct capture_pool *memory;	   /* i: of all captures, in its files; NULL: each has its own */
	struct budget *budget;		   /* i: the memory of all profilers */
	struct userwatch *userwatch;	   /* i: tells profilers the users of processes */
	_Atomic uint32_t probe_serials;	   /* a: the last number of a program of probes/ */
	uint32_t probe_keys, probe_strlen, probe_pid; /* i: mount options; 0: not given */
	bool probe_json;		   /* i: the same */
	struct file_links *file_links;	   /* i: of the programs of all sessions */
	struct exact *exact;		   /* i: the measured times behind mpstat */
	struct trace *trace;		   /* i */
	struct catalog *catalog;	   /* i */
	struct producers *producers;	   /* i */
	struct kernel *kernel;		   /* i */
	struct readings *readings;	   /* i */
	struct trace_metrics *trace_metrics; /* i */
	struct cpus *cpus;		   /* i */
	struct file_cpudir *cpudir;	   /* i */
	struct file_ctf *ctf;		   /* i */
	struct pipes *pipes;		   /* i */
	struct producers_limits limits;	   /* i */
	struct endpoint *endpoint;	   /* i; NULL if no programs can attach */
	struct listener *listener;	   /* i; the same */
	struct streams *streams;	   /* i */
	struct switches *switches;	   /* i */
	struct slow_ops *view_ops;	   /* i */
	struct slow_ops *trace_ops;	   /* i */
	struct viewproc *viewproc;	   /* i */
	struct nodes *nodes;		   /* i */
	struct openfiles *files;	   /* i */
	struct quotas *quotas;		   /* i */
	struct fuse_ops *fuse;	   /* i */
	char *mountpoint;		   /* i: set before the first request is answered */
	pthread_t workers[SERVER_WORKERS]; /* m */
	unsigned int n_workers;		   /* m */
	int signals;			   /* m: a signalfd */
	int mounts;			   /* m: the mount table, or -1 */
	dev_t device;			   /* m: of our tree in it */
	int bell;			   /* i: the main thread's */
	_Atomic bool ready;		   /* a: the INIT request has come */
	_Atomic bool ended;		   /* a: a worker has ended, so the file system is unmounted */
	_Atomic bool trim;		   /* a: free memory is to be given back */
	_Atomic bool names;		   /* a: the kernel is to forget names that were made */
	/* a: programs with libkprof have attached: programs of probes/ are to be attached to them */
	_Atomic bool programs;
};

#endif
