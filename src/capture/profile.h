/* SPDX-License-Identifier: MIT */
/*
 * A capture as a model in memory, from which all views are made.
 *
 * The samples are counted, not kept: a cell counts the samples with the same stack, thread, event
 * and CPU. So the size of a profile depends on how varied the capture is. It is made in two passes
 * over the records, since kpdata is not sorted by time: the first reads the processes, the second
 * the samples. Each distinct (file, offset) is one place, which is symbolized once (functions.h).
 *
 * After loading it is read only, and thread-safe except for processes_find_*().
 */
#ifndef KPROFS_CAPTURE_PROFILE_H
#define KPROFS_CAPTURE_PROFILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "capture/boots.h"
#include "capture/cputimes.h"
#include "capture/decode.h"
#include "capture/processes.h"
#include "capture/profile_places.h"
#include "capture/profile_wakers.h"
#include "capture/stacks.h"
#include "kprof/records.h"

/* One more than the last of enum kprof_lost_reason; [0] is any other reason. */
#define PROFILE_LOST_REASONS (KPROF_LOST_RING_RECORDS + 1)

/* How many sentences about damage are kept; further ones are only counted. */
#define PROFILE_DAMAGE_MAX 16

struct profile_count {
	uint64_t samples;
	uint64_t weight; /* in events: the sum of the samples' periods, at most UINT64_MAX */
};

struct profile_event {
	/* as given to kpctl, except for `default`: see decode.h; sections with the same text share it */
	const char *text;
	bool is_default; /* it was given as `default` */
	uint32_t perf_type; /* perf_event_attr's type and config */
	uint64_t config;
	uint64_t rate;	  /* period in events, or frequency in Hz, as flags say */
	uint32_t flags;	  /* enum kprof_event_flags */
	struct profile_count all;
	struct profile_count idle; /* of these, those of the idle task */
	struct profile_count own;  /* of these, those of the server that wrote the capture */
	struct profile_count away; /* of all, times away from the CPU */
	uint64_t lost[PROFILE_LOST_REASONS]; /* samples */
	uint64_t cut_stacks; /* samples whose stack ends at a return address outside of code */
	uint64_t throttles;	/* how often the kernel throttled the event */
	uint64_t throttled_ns; /* and for how long: the sum over all CPUs */
};

enum profile_cell_flags {
	PROFILE_IDLE = 1 << 0, /* the idle task */
	PROFILE_OWN = 1 << 1,  /* the server that wrote the capture */
	PROFILE_AWAY = 1 << 2, /* times away from the CPU (offcpu, wall) */
};

/* Behind the name of a process in samples of `wall` that it was away from the CPU. */
#define PROFILE_AWAY_SUFFIX " (off CPU)"

struct profile_cell {
	uint32_t event; /* index */
	uint32_t life;	/* see processes.h */
	uint32_t tid;
	uint32_t node; /* of the innermost frame; STACKS_ROOT if no stack was taken */
	uint16_t cpu;
	uint16_t flags;
	/* of the process when it was sampled; equal names are one pointer */
	const char *name;
	struct profile_count count;
};

/* One sample, for views that show when it was taken. */
struct profile_moment {
	uint64_t time_ns; /* CLOCK_MONOTONIC; of several boots that of the first one, see boots.h */
	uint64_t weight;
	uint32_t cell;
	uint32_t waker; /* who ended a time away: index into the profile's; 0 if not known */
};

struct profile {
	GArray *events; /* struct profile_event */
	GArray *places; /* struct profile_place */
	GArray *cells;	/* struct profile_cell */
	GArray *moments; /* struct profile_moment in the order of the capture; NULL if not kept */
	GArray *wakers; /* struct profile_waker; the first is none */
	bool waker_stacks; /* stacks of times away go on with those of their wakers */
	struct stacks stacks;
	struct processes *processes;
	GPtrArray *hosts; /* of each section the name of its machine, NULL if it is not known */
	struct boots *boots; /* of the sections */
	struct cputimes cpu_times; /* of the CPUs during the runs */
	GStringChunk *strings;

	uint64_t records; /* of known types */
	uint64_t unknown; /* of unknown types, skipped */
	uint64_t samples;
	uint64_t duration_ns; /* first to last sample; of several captures, the sum */
	uint32_t cpus;	      /* on which samples were taken, of all machines */

	uint64_t damaged;  /* how often the decoder reported damage */
	GPtrArray *damage; /* the first of its sentences (char *), each with an offset */
};

/*
 * Loads the records of the decoder, from its position on. Damage is no failure: readable records
 * are in the profile, and the others are reported in its `damage`. -ESPIPE and other errors of
 * decode_rewind(): the decoder can't be rewound. Blocks where read(2) does. The decoder is not
 * needed afterwards.
 */
int profile_load(struct decoder *decoder, struct profile **profile, struct err *err);

struct profile_options {
	bool no_samples; /* only the processes and the damage: reads the capture once */
	bool no_stacks; /* all samples are counted at STACKS_ROOT, and there are no places */
	bool leaves; /* of each stack only the innermost frame is kept, below the root */
	bool moments; /* keep each sample's time */
	bool wakers; /* the stack of a time away goes on with PROFILE_WAKER_LINE, its waker's, and its name */
	/*
	 * The approximate memory that the profile and its functions may take, without the strings
	 * of the capture: beyond it -EFBIG. 0 for no limit
	 */
	size_t bytes_max;
};

/* Adds to `processes` what the record has about them, if anything: the first pass of a load. */
void profile_learn(struct processes *processes, uint32_t section,
	const struct decode_record *record);

/* As profile_load(), with options. */
int profile_load_with(struct decoder *decoder, const struct profile_options *options,
	struct profile **profile, struct err *err);
void profile_destroy(struct profile *profile);

/*
 * Whether an event counts the ns of a clock (PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK), or those
 * away from the CPU.
 */
static inline bool profile_is_clock(const struct profile_event *event)
{
	return (event->perf_type == 1 && event->config <= 1) || event->flags & KPROF_EVENT_OFFCPU;
}

/* Whether samples of an event weigh so differently that their number says little: by their ns. */
static inline bool profile_is_time(const struct profile_event *event)
{
	return event->flags & (KPROF_EVENT_OFFCPU | KPROF_EVENT_WALL);
}

/* Adds without overflow: the weights of a capture are not trusted. */
static inline void profile_add(struct profile_count *to, uint64_t samples, uint64_t weight)
{
	if (__builtin_add_overflow(to->samples, samples, &to->samples))
		to->samples = UINT64_MAX;
	if (__builtin_add_overflow(to->weight, weight, &to->weight))
		to->weight = UINT64_MAX;
}

/* The lost samples of an event, whatever the reason. */
static inline uint64_t profile_lost(const struct profile_event *event)
{
	uint64_t lost = 0;
	int i;

	for (i = 0; i < PROFILE_LOST_REASONS; i++)
		if (__builtin_add_overflow(lost, event->lost[i], &lost))
			lost = UINT64_MAX;
	return lost;
}

static inline const struct profile_event *profile_event(const struct profile *p, uint32_t i)
{
	return &g_array_index(p->events, struct profile_event, i);
}

/* Whether an event is meant by a text: its own, or that with which it was given to kpctl. */
static inline bool profile_event_is(const struct profile_event *event, const char *text)
{
	return strcmp(event->text, text) == 0 ||
	       (event->is_default && strcmp(text, DECODE_EVENT_DEFAULT) == 0);
}

/* The first event that the text means; UINT32_MAX if the profile does not have it. */
static inline uint32_t profile_find_event(const struct profile *p, const char *text)
{
	uint32_t i;

	for (i = 0; i < p->events->len; i++)
		if (profile_event_is(profile_event(p, i), text))
			return i;
	return UINT32_MAX;
}

/* The name of the machine on which the samples of a cell were taken; NULL if it is not known. */
const char *profile_host(const struct profile *profile, const struct profile_cell *cell);
/* The number of its boot: see boots.h. */
uint32_t profile_boot(const struct profile *profile, const struct profile_cell *cell);

static inline const struct profile_place *profile_place(const struct profile *p, uint32_t i)
{
	return &g_array_index(p->places, struct profile_place, i);
}

static inline const struct profile_moment *profile_moment(const struct profile *p, uint32_t i)
{
	return &g_array_index(p->moments, struct profile_moment, i);
}

static inline const struct profile_waker *profile_waker(const struct profile *p, uint32_t i)
{
	return &g_array_index(p->wakers, struct profile_waker, i);
}

static inline const struct profile_cell *profile_cell(const struct profile *p, uint32_t i)
{
	return &g_array_index(p->cells, struct profile_cell, i);
}

#endif
