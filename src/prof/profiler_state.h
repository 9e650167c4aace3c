/* SPDX-License-Identifier: MIT */
/*
 * The parts of a profiler: shared by its files and cursor.c (reading). No other file includes it.
 *
 * profiler.c (commands and settings) calls profiler_run.c (start, stop, CPUs). Both of them and
 * profiler_stats.c (kpstat) call profiler_events.c (numbers and periods of events) and
 * profiler_machine.c (CPUs, the kernel), which call none of the others.
 *
 * Locks, in this order: profiler.lock, the sampler's drain lock, those inside tasks and capture.
 */
#ifndef KPROFS_PROF_PROFILER_STATE_H
#define KPROFS_PROF_PROFILER_STATE_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "prof/capture.h"
#include "prof/events.h"
#include "prof/profiler.h"
#include "prof/readers.h"
#include "prof/record.h"
#include "prof/rings.h"
#include "prof/sampler.h"
#include "prof/tally.h"
#include "prof/taskreader.h"
#include "prof/tasks.h"
#include "sys/cpu.h"
#include "sys/proc.h"

/*
 * The number of different events in one capture; each keeps its number until `clear`. Enough for
 * four full lists.
 */
#define KNOWN_EVENTS_MAX (4 * EVENTS_MAX)

/* An event that has a number: its index in the list, counted from 1. */
struct known_event {
	struct event event;
	uint32_t flags; /* of its EVENT record: KPROF_EVENT_* */
	bool was_run;
	enum scope scope; /* of its last run */
	bool due_unknown; /* the number of samples that should exist is unknown for a run */
};

/* Perf events that are open. */
struct run {
	struct rings_config config; /* invariant */
	struct sampler *sampler;
	unsigned char cpus[CPU_BITMAP_BYTES]; /* of the sampler */
};

struct profiler_settings {
	struct event_list events;
	bool all_cpus;
	unsigned char cpus[CPU_BITMAP_BYTES];
	bool stack_kernel, stack_user, stack_dwarf;
	unsigned int depth;
	uint64_t qlimit_kb;
	uint64_t cpubufsz_kb;
	enum profiler_mode mode;
};

struct profiler {
	/*
	 * i: invariant; a: atomic; l: under profiler.lock; t: control thread only; lt: written by
	 * the control thread under the lock, read by it without and by others under the lock
	 */
	struct profiler_hooks hooks; /* i */
	struct profiler_paths paths; /* i */
	struct capture *capture;     /* i */
	struct tasks *tasks;	     /* i */
	struct taskreader *reader;   /* i */
	pthread_mutex_t lock;
	struct profiler_settings settings;  /* lt */
	struct run *run;		    /* lt: NULL while stopped */
	GArray *known;			    /* lt: of struct known_event */
	uint32_t numbers[EVENTS_MAX];	    /* lt: of settings.events, as resolved */
	struct rings_config resolved;	    /* lt: what a start would open */
	struct tally counts;		    /* lt: of closed descriptors; reason COUNT_* */
	struct proc_kernel kernel_text;	    /* t */
	bool kernel_known;		    /* t */
	struct record_buf kernel;	    /* lt: records of the kernel and its modules */
	struct sampler_stats past;	    /* lt: of runs that ended */
	GHashTable *past_cpus;		    /* lt: cpu to struct sampler_cpu_stats */
	uint64_t offcpu_missed;		    /* lt: by the programs of the last run that ended */
	uint64_t since_ns;		    /* lt: when the state last changed */
	uint64_t times_since_ns; /* lt: when the times of the CPUs of this run began; 0: no run */
	GArray *times; /* lt: of struct kprof_rec_cpu_times, of the last runs that ended */
	unsigned int cursors;		    /* l */
	struct readers readers;		    /* l */
	struct {
		uint64_t header_stamp, tasks_stamp;
		uint64_t bytes;	  /* of a preamble with these stamps, without LOST records */
		uint64_t made_ns; /* 0 if none was encoded yet */
	} preamble;			    /* l: for profiler_stream_bytes() */
	_Atomic uint64_t header_stamp;	    /* a: changes with known and kernel */
	_Atomic bool running;		    /* a: samples may still come */
	_Atomic bool interrupted;	    /* a: a start should give up */
	_Atomic bool stacks_copied;	    /* a: a run with copied stacks has existed */
};

/* Reasons in `counts`: the kernel's counts, and the number of samples that follow from them. */
#define COUNT_KERNEL 1
#define COUNT_DUE 2
/* Of offcpu: times that a task came back after less than the minimum, or left unseen. */
#define COUNT_SHORTER 3
#define COUNT_UNSEEN 4

/* ---- profiler_events.c ----------------------------------------------------------------------- */

/*
 * Finds the meaning of `settings.events` on this machine and gives each event its number. Returns
 * -ENOSPC if there are more different events than one capture has numbers for. Called by the
 * control thread.
 */
int profiler_resolve(struct profiler *profiler, struct err *err);
/* Resets the numbers; those of the settings begin at 1 again. Control thread. */
void profiler_renumber(struct profiler *profiler);

/* How many events one sample stands for; 0 if the kernel varies it. */
uint64_t profiler_fixed_period(const struct event *event, enum scope scope);
/* The number of samples that follow from the counts of one run; 0 if it is unknown. */
uint64_t profiler_due(const struct event *event, enum scope scope, const struct rings_count *count);

/* ---- profiler_times.c ------------------------------------------------------------------------ */

/*
 * The times of the CPUs during runs. A run begins and ends, and all runs so far are forgotten (that
 * which goes on begins again): control thread.
 */
void profiler_times_begin(struct profiler *profiler);
void profiler_times_end(struct profiler *profiler);
void profiler_times_clear(struct profiler *profiler);
/* Appends them to a reader's own records. Any thread, without the lock. */
void profiler_times_encode(struct profiler *profiler, struct record_buf *buf);

/* ---- profiler_machine.c ---------------------------------------------------------------------- */

/* Encodes the records of the kernel and its modules again. Control thread. */
void profiler_describe_kernel(struct profiler *profiler);

/* The CPUs that are online now. Any thread. */
void profiler_online_cpus(const struct profiler *profiler, unsigned char *bitmap);

#endif
