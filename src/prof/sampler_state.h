/* SPDX-License-Identifier: MIT */
/*
 * What the sampler is made of: shared by sampler.c (its thread, its CPUs, questions) and sampler_drain.c
 * (what a drain does). Nobody else includes it.
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
	uint64_t throttled_since[EVENTS_MAX]; /* 0: not throttled */
};

struct sampler {
	/* I: invariant after create; D: under drain; T: the sampler thread's; A: atomic, relaxed,
	 * written under drain and read by anybody */
	const struct rings_config *config;    /* I */
	struct capture *capture;	      /* I */
	struct tasks *tasks;		      /* I */
	struct profiler_hooks hooks;	      /* I */
	bool foreign;			      /* I: not in the first pid namespace */
	pthread_mutex_t drain;		      /* before the locks of tasks and capture */
	GHashTable *cpus;		      /* D: cpu to struct sampler_cpu */
	struct taskevents *taskevents;	      /* D */
	void *scratch;			      /* D: PERF_RECORD_MAX */
	struct tally run_samples;	      /* D: scratch too */
	int epoll_fd;			      /* I */
	int quit_fd;			      /* I: bell, rung to end the thread */
	int unusable;			      /* I: -errno: the two above were not to be had */
	int uevent_fd;			      /* I: -1 where uevents don't arrive */
	pthread_t thread;
	bool thread_runs; /* control thread's */
	bool tasks_lost;  /* D: since the last take */
	GHashTable *offline; /* D: CPUs that went offline since the last take */
	struct sampler_stats stats;		    /* D */
	GHashTable *cpu_stats;			    /* D: cpu to struct sampler_cpu_stats */
};

/* ---- sampler.c: under drain ---------------------------------------------------------------------- */

/* What is counted of the CPU, made where there is nothing yet. */
struct sampler_cpu_stats *sampler_cpu_stats_of(struct sampler *s, unsigned int cpu);

/* ---- sampler_drain.c: under drain --------------------------------------------------------------- */

/*
 * Everything from the rings of all CPUs into the capture. last: the rings are disabled, nothing follows.
 * True where readers have something new.
 */
bool sampler_drain_all(struct sampler *s, bool last);

#endif
