/* SPDX-License-Identifier: MIT */
/*
 * The parts of a sampler: shared by sampler.c (its thread, its CPUs, its counters) and
 * sampler_drain.c (drains). No other file includes it.
 */
#ifndef KPROFS_PROF_SAMPLER_STATE_H
#define KPROFS_PROF_SAMPLER_STATE_H

#include <glib.h>
#include <pthread.h>

#include "prof/encoder.h"
#include "prof/sampler.h"
#include "prof/taskevents.h"

struct sampler_cpu {
	struct rings *rings;
	struct rings_samples *samples; /* the ring that is being drained */
	struct encoder *encoder;
	uint64_t throttled_since[EVENTS_MAX]; /* 0 if not throttled */
	/* if tasks are hidden: the process of the last sample in this run and its time; 0 if there is none */
	uint32_t seen_pid;
	uint64_t seen_ns;
};

struct sampler {
	/* i: invariant after create; d: under the drain lock; t: control thread only */
	const struct rings_config *config;    /* i */
	struct capture *capture;	      /* i */
	struct tasks *tasks;		      /* i */
	struct profiler_hooks hooks;	      /* i */
	bool foreign;			      /* i: not in the first pid namespace */
	pthread_mutex_t drain;		      /* before the locks of tasks and capture */
	GHashTable *cpus;		      /* d: cpu to struct sampler_cpu */
	struct taskevents *taskevents;	      /* d */
	void *scratch;			      /* d: PERF_RECORD_MAX */
	struct tally run_samples;	      /* d: scratch too */
	int epoll_fd;			      /* i */
	int quit_fd;			      /* i: bell, rung to end the thread */
	int unusable;			      /* i: -errno: the two above could not be opened */
	int uevent_fd;			      /* i: -1 if uevents are not available */
	pthread_t thread;
	bool thread_runs; /* t */
	bool tasks_lost;  /* d: since sampler_take_tasks_lost() */
	uint64_t drained_ns; /* d: the begin of the last drain; 0 before the first */
	GHashTable *offline; /* d: CPUs that went offline since sampler_take_offline() */
	struct sampler_stats stats;		    /* d */
	GHashTable *cpu_stats;			    /* d: cpu to struct sampler_cpu_stats */
};

/* ---- sampler.c: under drain ------------------------------------------------------------------ */

/* The counters of the CPU, created if missing. */
struct sampler_cpu_stats *sampler_cpu_stats_of(struct sampler *s, unsigned int cpu);

/* ---- sampler_drain.c: under drain ------------------------------------------------------------ */

/*
 * Moves everything from the rings of all CPUs into the capture. last: the rings are disabled,
 * nothing follows. True if readers can read something new.
 */
bool sampler_drain_all(struct sampler *s, bool last);

#endif
