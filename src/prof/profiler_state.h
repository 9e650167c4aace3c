/* SPDX-License-Identifier: MIT */
/*
 * The parts of a profiler: shared by its files and cursor.c (reading). No other file includes it.
 *
 * profiler.c (settings) and profiler_change.c (changes of a run that goes on) call profiler_run.c (start,
 * stop, CPUs). profiler_image.c (another profiler with the same capture) calls profiler.c. All of them and
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
#include "prof/only.h"
#include "prof/only_steps.h"
#include "prof/profiler.h"
#include "prof/readers.h"
#include "prof/record.h"
#include "prof/rings.h"
#include "prof/sample_owner.h"
#include "prof/sampler.h"
#include "prof/tally.h"
#include "prof/taskreader.h"
#include "prof/tasks.h"
#include "prof/userwatch.h"
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
	bool count_unknown; /* so is what the kernel counted */
};

/* An event whose samples a program of probes/ takes. */
struct program_event {
	char text[EVENT_TEXT_MAX];
	struct samples *samples;
	struct only_steps *steps; /* of the samples: what they check `only` by */
	unsigned int users; /* programs that have it: a new one and that which it replaces */
};

/* Perf events that are open. */
struct run {
	struct rings_config config; /* invariant, but `only`: lt */
	struct sampler *sampler;
	unsigned char cpus[CPU_BITMAP_BYTES]; /* of the sampler */
};

/* What the events of a run need besides perf. */
struct run_sources {
	struct offcpu *offcpu;	  /* NULL: no event needs it */
	struct only_filter *only; /* NULL: nothing is checked by programs */
	struct only_points *points; /* NULL: there are no tracepoints that are */
	struct err why;		  /* of a session that is restricted to one user: why `only` is NULL */
	bool in_cgroup;
	int cgroup_fd;
};

struct profiler_settings {
	struct event_list events;
	struct only *only; /* NULL: all */
	bool all_cpus;
	unsigned char cpus[CPU_BITMAP_BYTES];
	bool stack_kernel, stack_user, stack_dwarf;
	unsigned int depth;
	uint64_t qlimit_kb;
	uint64_t cpubufsz_kb;
	enum profiler_mode mode;
};

struct profiler_image {
	struct budget *budget; /* from which `kb` are taken */
	uint64_t kb;
	struct capture *capture;
	struct record_buf preamble;
	struct profiler_settings settings;
	GArray *known;		/* of struct known_event */
	struct tally counts;
	struct sampler_stats past;
	GHashTable *past_cpus; /* cpu to struct sampler_cpu_stats */
	GArray *times;	       /* of struct kprof_rec_cpu_times */
	uint64_t offcpu_missed, runs_ns;
	uint64_t points_missed[KNOWN_EVENTS_MAX];
	bool stacks_copied, has_wakers, is_loaded, other_boot;
	bool has_settings; /* else a profiler begins with the default ones */
};

/* The files of a profiler. */
struct kept;

struct profiler {
	/*
	 * i: invariant; a: atomic; l: under profiler.lock; t: control thread only; lt: written by
	 * the control thread under the lock, read by it without and by others under the lock
	 */
	struct profiler_hooks hooks; /* i */
	struct profiler_paths paths; /* i */
	struct kprof_rec_host host;  /* i */
	struct {
		bool is_restricted; /* to the tasks of the user, in user space */
		bool any_rate;	    /* without the least period of such a profiler */
		struct sample_user user;
	} owner; /* i */
	struct budget *budget;	     /* i: has captured_kb, and rings_kb of a run */
	struct capture *capture;     /* i */
	struct tasks *tasks;	     /* i */
	struct taskreader *reader;   /* i */
	pthread_mutex_t lock;
	struct profiler_settings settings;  /* lt */
	struct run *run;		    /* lt: NULL while stopped */
	uint64_t rings_kb;		    /* t: taken from the budget for it */
	struct budget_share share; /* t: taken of what the user of a restricted profiler may have, for it */
	/* t: taken for the capture: settings.qlimit_kb, or what it held when that was lowered */
	uint64_t captured_kb;
	GArray *known;			    /* lt: of struct known_event */
	uint32_t numbers[EVENTS_MAX];	    /* lt: of settings.events, as resolved */
	struct rings_config resolved;	    /* lt: what a start would open */
	GPtrArray *programs; /* lt: of struct program_event; `users` l */
	bool programs_only;		    /* t: no command has started the run: it has no other events */
	bool restarting;		    /* t: a run ends and another one begins, for readers one run */
	struct tally counts;		    /* lt: of closed descriptors; reason COUNT_* */
	struct proc_kernel kernel_text;	    /* t */
	bool kernel_known;		    /* t */
	struct record_buf kernel;	    /* lt: records of the kernel and its modules */
	struct record_buf saved; /* lt: the preamble of the image that it was made of; empty after a clear */
	uint64_t saved_stamp;	 /* i: header_stamp of what that has */
	_Atomic bool saved_other_boot; /* relaxed; it was captured before this machine was booted */
	struct kept *kept;	 /* i: once it was given files; NULL: it has none */
	struct sampler_stats past;	    /* lt: of runs that ended */
	GHashTable *past_cpus;		    /* lt: cpu to struct sampler_cpu_stats */
	uint64_t offcpu_missed;		    /* lt: by the programs of the last run that ended */
	uint64_t points_missed[KNOWN_EVENTS_MAX]; /* lt: the same of tracepoints, by number */
	uint64_t since_ns;		    /* lt: when the state last changed */
	uint64_t times_since_ns; /* lt: when the times of the CPUs of this run began; 0: no run */
	uint64_t runs_ns; /* lt: the length of the runs since the last clear that ended */
	GArray *times; /* lt: of struct kprof_rec_cpu_times, of the last runs that ended */
	unsigned int cursors;		    /* l */
	struct readers readers;		    /* l */
	struct {
		uint64_t header_stamp, tasks_stamp;
		uint64_t bytes;	  /* of a preamble with these stamps, without LOST records */
		uint64_t made_ns; /* 0 if none was encoded yet */
	} preamble;			    /* l: for profiler_stream_bytes() */
	_Atomic uint64_t header_stamp;	    /* a: changes with known and kernel */
	_Atomic bool loaded;		    /* a: the capture was loaded (profiler_load.c) */
	_Atomic bool running;		    /* a: samples may still come */
	_Atomic bool interrupted;	    /* a: a start should give up */
	_Atomic bool stacks_copied;	    /* a: a run with copied stacks has existed */
	_Atomic bool has_wakers;	    /* a: a run since the last clear has wakers in its samples */
};

/* Reasons in `counts`: the kernel's counts, and the number of samples that follow from them. */
#define COUNT_KERNEL 1
#define COUNT_DUE 2
/* Of offcpu: times that a task came back after less than the minimum, or left unseen. */
#define COUNT_SHORTER 3
#define COUNT_UNSEEN 4
/* Samples that the program of their event refused: not of `only`, or not of the owner. */
#define COUNT_REFUSED 5

/* ---- profiler_run.c: control thread ---------------------------------------------------------- */

int profiler_begin_run(struct profiler *profiler, struct err *err);
/* -EBUSY with a sentence if nothing can be added to what is held: it has other times, or was loaded. */
int profiler_refuse_held(const struct profiler *profiler, struct err *err);
/* Whether the setting `cpus` has a CPU that may ever go online. */
bool profiler_may_sample(const struct profiler *profiler, unsigned int cpu);
/* There must be one. */
void profiler_end_run(struct profiler *profiler);

/* ---- profiler_sources.c: control thread ------------------------------------------------------ */

/*
 * What they need is refused here, before anything of the run exists; an error leaves what was opened, to be
 * closed.
 */
int profiler_open_sources(struct profiler *profiler, struct run_sources *sources, struct err *err);
void profiler_close_sources(const struct profiler *profiler, struct run_sources *sources);

/* ---- profiler_change.c: control thread ------------------------------------------------------- */

/* Whether samples of such events can be filtered so here. -EOPNOTSUPP with the reason. */
int profiler_only_fits(const struct only *only, const struct event_list *events, struct err *err);
/* Whether perf's events for cgroups are to filter, since programs can't. */
bool profiler_only_by_cgroup(const struct only *only);

/* ---- profiler.c ------------------------------------------------------------------------------ */

/* A profiler without capture, with default settings except prof_qlimit, of which nothing is resolved. */
struct profiler *profiler_allocate(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct budget *budget);
/* The lowest prof_qlimit. */
uint64_t profiler_qlimit_least_kb(const struct budget *budget);

/* ---- profiler_image.c ------------------------------------------------------------------------ */

/* Adds what the kernel has counted of a run on one CPU; rings may be NULL. */
void profiler_add_counts(const struct run *run, struct rings *rings, unsigned int cpu, struct tally *counts);
/* Adds the statistics of a run. */
void profiler_add_stats(const struct run *run, struct sampler_stats *past, GHashTable *past_cpus);

/* Without a capture. */
struct profiler_image *profiler_image_create(struct budget *budget);
/* Takes the memory of what it holds from the budget. -ENOSPC */
int profiler_image_take_memory(struct profiler_image *image, struct err *err);

/* ---- profiler_disk.c ------------------------------------------------------------------------- */

/* Writes what has changed to the files, if it has any: control thread; the sampler, with its drain lock. */
void profiler_keep_header(struct profiler *profiler);
void profiler_keep_tasks(struct profiler *profiler);
void profiler_free_kept(struct kept *kept);

/* ---- cursor.c -------------------------------------------------------------------------------- */

/* Appends what comes first in a stream, before times, tasks and LOST records. Without the lock. */
void cursor_encode_header(struct profiler *profiler, struct record_buf *buf);

/* ---- profiler_events.c ----------------------------------------------------------------------- */

/*
 * Finds the meaning of `settings.events` on this machine and gives each event its number. Returns
 * -ENOSPC if there are more different events than one capture has numbers for. Called by the
 * control thread.
 */
int profiler_resolve(struct profiler *profiler, struct err *err);
/* The event of a program, a new one if there is none; NULL: an error. Control thread. */
struct program_event *profiler_program(struct profiler *profiler, const char *text, struct err *err);
/*
 * Samples of programs are checked by this expression from now on; NULL: by none. Control thread. -E2BIG,
 * -ENOMEM: some may be already.
 */
int profiler_choose_programs(struct profiler *profiler, const struct only *only, struct err *err);
/* Whether any program has such an event now. */
bool profiler_has_programs(struct profiler *profiler);
/* Resets the numbers; those of the settings begin at 1 again. Control thread. */
void profiler_renumber(struct profiler *profiler);

/* cpu-clock and task-clock, which count ns. */
bool profiler_is_clock(const struct event *event);
/* How many events one sample stands for; 0 if the kernel varies it. */
uint64_t profiler_fixed_period(const struct event *event, enum scope scope);
/* The number of samples that follow from the counts of one run; 0 if it is unknown. */
uint64_t profiler_due(const struct event *event, enum scope scope, const struct rings_count *count);

/* What the kernel has counted on one CPU since the last clear, without periods of other users' samples. */
struct profiler_counts {
	uint64_t value;   /* events */
	uint64_t due;     /* samples that follow; 0 if it is unknown */
	uint64_t refused; /* those of them that `only` refused */
};
void profiler_read_counts(const struct run *run, const struct rings *rings, unsigned int index,
	struct profiler_counts *counts);

/* ---- profiler_owner.c ------------------------------------------------------------------------ */

/*
 * What a profiler that is restricted to one user refuses, -EPERM with the reason; 0 in others: an event
 * that is not of the user's tasks in user space, and `what`, which is never allowed.
 */
int profiler_check_events(const struct profiler *profiler, const struct event_list *list, struct err *err);
int profiler_check_own(const struct profiler *profiler, const char *what, struct err *err);
/*
 * A run that is about to begin takes its part of what the user may have, in place of that of the run before.
 * -ENOSPC with what is left. Does nothing in profilers that are not restricted, as the other one.
 */
int profiler_take_share(struct profiler *profiler, const struct run_sources *sources, struct err *err);
void profiler_return_share(struct profiler *profiler);
/* Whether its prof_qlimit may be raised to this: -ENOSPC with the sizes. */
int profiler_check_qlimit(const struct profiler *profiler, uint64_t kb, struct err *err);

/* ---- profiler_times.c ------------------------------------------------------------------------ */

/*
 * The times of the CPUs during runs. A run begins and ends, and all runs so far are forgotten (that
 * which goes on begins again): control thread.
 */
void profiler_times_begin(struct profiler *profiler);
void profiler_times_end(struct profiler *profiler);
void profiler_times_clear(struct profiler *profiler);
/* The length of the runs since the last clear in ns. Under the lock. */
uint64_t profiler_times_length(const struct profiler *profiler);
/*
 * Appends them: to an array of struct kprof_rec_cpu_times; to a reader's own records. Any thread, without
 * the lock.
 */
void profiler_times_copy(struct profiler *profiler, GArray *times);
void profiler_times_encode(struct profiler *profiler, struct record_buf *buf);

/* ---- profiler_load.c ------------------------------------------------------------------------- */

/* -EBUSY with a sentence if what is held was loaded. */
int profiler_refuse_loaded(const struct profiler *profiler, struct err *err);

/* ---- profiler_machine.c ---------------------------------------------------------------------- */

/* Encodes the records of the kernel and its modules again. Control thread. */
void profiler_describe_kernel(struct profiler *profiler);

/* Reads the ids of the machine, once. */
void profiler_describe_host(struct profiler *profiler);

/* The CPUs that are online now. Any thread. */
void profiler_online_cpus(const struct profiler *profiler, unsigned char *bitmap);

#endif
