/* SPDX-License-Identifier: MIT */
/*
 * The samples of a profile sorted by time, with a track for each thread and event, for views with a
 * time axis. Samples of the idle task and of the server itself are in it only with `all`.
 *
 * Thread-safe once created.
 */
#ifndef KPROFS_FORMATS_TIMELINE_H
#define KPROFS_FORMATS_TIMELINE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/view_input.h"

struct timeline_track {
	uint32_t life; /* see processes.h */
	uint32_t boot; /* of which machine and boot: see boots.h */
	uint32_t pid;  /* KPROF_PID_GONE: of a task that had exited */
	uint32_t tid;
	uint32_t event;
	uint16_t flags; /* enum profile_cell_flags */
	/* 0 for the first sampled process with this pid; counts up for other ones, also of other machines */
	uint32_t generation;
	const char *process; /* its name at its first sample */
	const char *host;    /* its machine; NULL if that is not known, or all samples are of one boot */
	const char *thread;  /* the thread's name, else the process's */
	uint32_t first;	     /* index of its first sample in the timeline's order */
	uint32_t count;	     /* samples, at least one */
};

struct timeline {
	const struct profile *profile;
	GArray *tracks;	 /* struct timeline_track, by pid, boot, life, thread, event */
	uint32_t *order; /* indexes of the profile's moments: track by track, each by time */
	uint32_t samples;
	uint64_t first_ns, last_ns; /* of all samples in it, as moments have it */
	uint64_t wall_ns; /* the wall clock at first_ns; 0 if not known */
	GHashTable *names; /* of threads */
};

/*
 * The input's profile must have its moments, and outlive the timeline. With `all` it also has the
 * samples of the idle task and of the server itself. Returns -ENODATA if there are no samples and
 * no annotations, -EINTR if the view was cancelled.
 */
int timeline_create(
	const struct view_input *input, bool all, struct timeline **timeline, struct err *err);
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
