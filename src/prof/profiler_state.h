/* SPDX-License-Identifier: MIT */
/*
 * What a profiler is made of: shared by profiler.c (commands), profiler_run.c (starting, stopping,
 * CPUs), profiler_stats.c (kpctl's and kpstat's text) and cursor.c (reading). Nobody else includes it.
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
 * Different events that one capture can hold; each keeps its number until `clear`. Enough for four
 * full lists.
 */
#define KNOWN_EVENTS_MAX (4 * EVENTS_MAX)

/* An event that has a number. Its number is its place in the list, counted from 1. */
struct known_event {
	struct event event;
	uint32_t flags; /* of its EVENT record: KPROF_EVENT_* */
	bool was_run;
	enum scope scope; /* of its last run */
	bool due_unknown; /* of a run: nobody can tell how many samples should be there */
};

/* Perf events that are open. */
struct run {
	struct rings_config config; /* invariant */
	struct sampler *sampler;
	unsigned char cpus[CPU_BITMAP_BYTES]; /* that the sampler has */
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
	/* I: invariant; C: the control thread's; L: written by the control thread under lock, read by
	 * it without and by others under lock; A: atomic */
	struct profiler_hooks hooks; /* I */
	struct profiler_paths paths; /* I */
	struct capture *capture;     /* I */
	struct tasks *tasks;	     /* I */
	struct taskreader *reader;   /* I */
	pthread_mutex_t lock;
	struct profiler_settings settings;  /* L */
	struct run *run;		    /* L: NULL while stopped */
	GArray *known;			    /* L: of struct known_event */
	uint32_t numbers[EVENTS_MAX];	    /* L: of settings.events, as resolved */
	struct rings_config resolved;	    /* L: what a start would open */
	struct tally counts;		    /* L: of closed descriptors; reason COUNT_* */
	struct proc_kernel kernel_text;	    /* C */
	bool kernel_known;		    /* C */
	struct record_buf kernel;	    /* L: records of the kernel and its modules */
	struct sampler_stats past;	    /* L: of runs that ended */
	GHashTable *past_cpus;		    /* L: cpu to struct sampler_cpu_stats */
	uint64_t since_ns;		    /* L: when the state last changed */
	unsigned int cursors;		    /* under lock */
	struct readers readers;		    /* under lock */
	struct {
		uint64_t header_stamp, tasks_stamp;
		uint64_t bytes;	  /* of a preamble made at these stamps, LOST records not counted */
		uint64_t made_ns; /* 0: none was made yet */
	} preamble;			    /* under lock: for profiler_stream_bytes() */
	_Atomic uint64_t header_stamp;	    /* A: changes with known and kernel */
	_Atomic bool running;		    /* A: samples may still come */
	_Atomic bool interrupted;	    /* A: a start should give up */
	_Atomic bool stacks_copied;	    /* A: there was a run with copied stacks */
};

/* The reasons under which `counts` keeps the kernel's counters, and the samples due by them. */
#define COUNT_KERNEL 1
#define COUNT_DUE 2

/* ---- profiler_run.c, control thread ------------------------------------------------------------- */

/*
 * Finds out what `settings.events` means on this machine and gives each event its number. -ENOSPC:
 * more events than one capture can tell apart.
 */
int profiler_resolve(struct profiler *profiler, struct err *err);
/* Forgets the numbers; those of the settings begin at 1 again. */
void profiler_renumber(struct profiler *profiler);

/* Makes the records of the kernel and its modules anew. */
void profiler_describe_kernel(struct profiler *profiler);

/* The CPUs that are online now. Any thread. */
void profiler_online_cpus(const struct profiler *profiler, unsigned char *bitmap);

/* ---- profiler.c ---------------------------------------------------------------------------------- */

/* What `past_cpus` has of the CPU, made where it has nothing yet. Under lock. */
struct sampler_cpu_stats *profiler_past_cpu(struct profiler *profiler, unsigned int cpu);

/* ---- profiler_stats.c --------------------------------------------------------------------------- */

/* How many events one sample stands for; 0 where the kernel changes it as it goes. */
uint64_t profiler_fixed_period(const struct event *event, enum scope scope);
/* How many samples are due by what one run counted; 0 where nobody can tell. */
uint64_t profiler_due(const struct event *event, enum scope scope, const struct rings_count *count);

/* ---- cursor.c ----------------------------------------------------------------------------------- */

/* The records that begin a stream: EVENTs, the kernel, its modules. Takes the lock. */
void profiler_encode_header(struct profiler *profiler, struct record_buf *buf);

#endif
