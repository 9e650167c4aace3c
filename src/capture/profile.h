/* SPDX-License-Identifier: MIT */
/*
 * A capture as a model in memory: what every view of it is made from.
 *
 * The samples are counted, not kept: a cell is how often one stack of one thread was met for one
 * event on one CPU, so a profile is as large as a capture is varied. Two passes over the records
 * make it, since kpdata is not sorted by time: the first takes what is said about processes, the
 * second the samples. Each distinct (file, offset) is one place, to be given a name once (see
 * names.h).
 *
 * Everything in here is for reading once it is loaded; then it is thread-safe, but for
 * processes_find_*().
 */
#ifndef KPROFS_CAPTURE_PROFILE_H
#define KPROFS_CAPTURE_PROFILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kprof/records.h"
#include "capture/decode.h"
#include "capture/processes.h"
#include "capture/stacks.h"

/* One more than the last of enum kprof_lost_reason; [0] is any other reason. */
#define PROFILE_LOST_REASONS (KPROF_LOST_RING_RECORDS + 1)

/* So many sentences about damage are kept; the rest is counted. */
#define PROFILE_DAMAGE_MAX 16

struct profile_count {
	uint64_t samples;
	uint64_t weight; /* in events: each sample by its period. Stops at UINT64_MAX */
};

struct profile_event {
	const char *text; /* as given to kpctl; sections that say the same share the event */
	uint32_t perf_type; /* what the kernel was asked for: perf_event_attr's type and config */
	uint64_t config;
	uint64_t rate;	  /* period in events, or frequency in Hz, as flags say */
	uint32_t flags;	  /* enum kprof_event_flags */
	struct profile_count all;
	struct profile_count idle; /* of these: taken in the idle task */
	struct profile_count own;  /* of these: taken in the server that wrote the capture */
	uint64_t lost[PROFILE_LOST_REASONS]; /* samples */
	uint64_t cut_stacks; /* samples whose stack ends at a return address that is no code */
	uint64_t throttles;	/* how often the kernel stopped taking samples */
	uint64_t throttled_ns; /* and for how long, all CPUs together */
};

struct profile_place {
	uint32_t file;	 /* see processes_file(), or PROCESSES_NONE: in no mapping */
	bool kernel;
	uint64_t offset; /* into the file; in the kernel, and without a file, the address */
};

enum profile_cell_flags {
	PROFILE_IDLE = 1 << 0, /* the idle task */
	PROFILE_OWN = 1 << 1,  /* the server that wrote the capture */
};

struct profile_cell {
	uint32_t event; /* index */
	uint32_t life;	/* see processes.h */
	uint32_t tid;
	uint32_t node; /* of the innermost frame; STACKS_ROOT: no stack was taken */
	uint16_t cpu;
	uint16_t flags;
	const char *name; /* of the process when it was sampled; equal names are one pointer */
	struct profile_count count;
};

/* One sample, for views that show when it was taken. */
struct profile_moment {
	uint64_t time_ns; /* CLOCK_MONOTONIC of its section */
	uint64_t weight;
	uint32_t cell;
};

struct profile {
	GArray *events; /* struct profile_event */
	GArray *places; /* struct profile_place */
	GArray *cells;	/* struct profile_cell */
	GArray *moments; /* struct profile_moment as read, not by time; NULL: not asked for */
	struct stacks stacks;
	struct processes *processes;
	GStringChunk *strings;

	uint64_t records; /* of types we know */
	uint64_t unknown; /* of others, skipped */
	uint64_t samples;
	uint64_t duration_ns; /* first to last sample; of several captures, the sum */
	uint32_t cpus;	      /* on which samples were taken */

	uint64_t damaged;  /* how often the decoder complained */
	GPtrArray *damage; /* the first of its sentences (char *), each with an offset */
};

/*
 * Loads what the decoder gives, from where it stands. Damage is no failure: what is readable is in
 * the profile, and what isn't in its damage. -ESPIPE: the decoder can't be rewound, and so on of
 * decode_rewind(). Blocks where read(2) does. The decoder is not needed any more afterwards.
 */
int profile_load(struct decoder *decoder, struct profile **profile, struct err *err);

struct profile_options {
	bool no_samples; /* only the processes and the damage: reads the capture once */
	bool no_stacks; /* all samples are counted at STACKS_ROOT, and there are no places */
	bool leaves; /* of each stack only the innermost frame is kept, as one that nobody called */
	bool moments; /* keep each sample's time */
	/*
	 * What the profile, and names for it, may take beyond the strings of the capture, roughly:
	 * -EFBIG. 0: whatever it needs
	 */
	size_t bytes_max;
};

/* Adds what a record tells of processes, if anything: what a load begins with. */
void profile_learn(struct processes *processes, uint32_t section,
	const struct decode_record *record);

/* The same, with more in it or less. */
int profile_load_with(struct decoder *decoder, const struct profile_options *options,
	struct profile **profile, struct err *err);
void profile_destroy(struct profile *profile);

/* Whether an event counts the ns of a clock (PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK). */
static inline bool profile_is_clock(const struct profile_event *event)
{
	return event->perf_type == 1 && event->config <= 1;
}

/* Adds without wrapping: weights come from whoever wrote the capture. */
static inline void profile_add(struct profile_count *to, uint64_t samples, uint64_t weight)
{
	if (__builtin_add_overflow(to->samples, samples, &to->samples))
		to->samples = UINT64_MAX;
	if (__builtin_add_overflow(to->weight, weight, &to->weight))
		to->weight = UINT64_MAX;
}

static inline const struct profile_event *profile_event(const struct profile *p, uint32_t i)
{
	return &g_array_index(p->events, struct profile_event, i);
}

static inline const struct profile_place *profile_place(const struct profile *p, uint32_t i)
{
	return &g_array_index(p->places, struct profile_place, i);
}

static inline const struct profile_moment *profile_moment(const struct profile *p, uint32_t i)
{
	return &g_array_index(p->moments, struct profile_moment, i);
}

static inline const struct profile_cell *profile_cell(const struct profile *p, uint32_t i)
{
	return &g_array_index(p->cells, struct profile_cell, i);
}

#endif
