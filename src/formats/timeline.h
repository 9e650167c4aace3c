/* SPDX-License-Identifier: MIT */
/*
 * The samples of a profile in order of time, a track for each thread and event: for views that show
 * when something happened. Samples of the idle task and of the server itself are not in it.
 *
 * Thread-safe once made.
 */
#ifndef KPROFS_FORMATS_TIMELINE_H
#define KPROFS_FORMATS_TIMELINE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/view.h"

struct timeline_track {
	uint32_t life; /* see processes.h */
	uint32_t pid;  /* KPROF_PID_GONE: of a task that was gone */
	uint32_t tid;
	uint32_t event;
	/* a pid that was used again is another process: 0 for the first one that was sampled */
	uint32_t generation;
	const char *process; /* its name when it was sampled first */
	const char *thread;  /* the thread's own name, else the process's */
	uint32_t first;	     /* of the timeline's order */
	uint32_t count;	     /* samples, at least one */
};

struct timeline {
	const struct profile *profile;
	GArray *tracks;	 /* struct timeline_track, by pid, life, thread, event */
	uint32_t *order; /* indexes of the profile's moments: track by track, each by time */
	uint32_t samples;
	uint64_t first_ns, last_ns; /* of all samples in it, CLOCK_MONOTONIC */
	uint64_t wall_ns; /* the wall clock at first_ns, 0: the capture does not say */
	GHashTable *names; /* of threads */
};

/*
 * The input's profile must have its moments, and outlive the timeline. -ENODATA: no samples, nor
 * marks beside them; -EINTR:
 * the view was cancelled.
 */
int timeline_create(const struct view_input *input, struct timeline **timeline, struct err *err);
void timeline_destroy(struct timeline *timeline);

static inline const struct timeline_track *timeline_track(const struct timeline *timeline,
	uint32_t i)
{
	return &g_array_index(timeline->tracks, struct timeline_track, i);
}

/* The i-th sample of a track, i < count. */
static inline const struct profile_moment *timeline_moment(const struct timeline *timeline,
	const struct timeline_track *track, uint32_t i)
{
	return profile_moment(timeline->profile, timeline->order[track->first + i]);
}

#endif
