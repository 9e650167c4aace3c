/* SPDX-License-Identifier: MIT */
/*
 * The SPECs `offcpu` and `wall` of kpctl's `event` command (see events.h): their syntax, and what they add
 * to an event.
 */
#ifndef KPROFS_PROF_EVENT_OFFCPU_H
#define KPROFS_PROF_EVENT_OFFCPU_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Where the samples of an event come from. */
enum event_source {
	EVENT_PERF,	   /* perf alone */
	EVENT_OFFCPU,	   /* programs at the switches of tasks (offcpu.h) */
	EVENT_WALL,	   /* perf's cpu-clock; the other side is an event of its own in a run: */
	EVENT_WALL_OFFCPU, /* with the number of the EVENT_WALL before it; in no list of a user */
};

struct event_away {
	enum event_source source;
	/* not of EVENT_PERF: */
	uint64_t min_ns; /* shorter times are left out */
	bool waker;	 /* each sample has the task that woke it */
};

/*
 * Sets all three by the text of a SPEC. Returns -ESRCH for another event, which changes nothing, or
 * -EINVAL for a wrong modifier. A frequency is not checked.
 */
int event_offcpu_parse(const char *text, struct event_away *away, struct perf_event_attr *attr,
	bool *rate_given, struct err *err);

/* Turns an EVENT_WALL into its other side, EVENT_WALL_OFFCPU. */
void event_offcpu_side(struct event_away *away, struct perf_event_attr *attr);

#endif
