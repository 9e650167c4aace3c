/* SPDX-License-Identifier: MIT */
/*
 * Samples of tracepoints while `only` is set. A program on the perf event of a tracepoint that refuses a hit
 * would hide it from all others who trace it. So a program of our own is attached to the raw tracepoint, and
 * writes the samples that are wanted to perf events of the kind BPF_OUTPUT, one for each CPU, which add the
 * stacks (bpf/samples.h).
 *
 * The control thread opens and closes it; counts may be read by any thread meanwhile.
 */
#ifndef KPROFS_PROF_ONLY_POINTS_H
#define KPROFS_PROF_ONLY_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/samples.h"
#include "prof/events.h"
#include "prof/only_filter.h"

struct only_points;

static inline bool only_points_takes(const struct event *event)
{
	return event->attr.type == PERF_TYPE_TRACEPOINT;
}

/* Whether a list has such events. */
bool only_points_any(const struct event_list *events);

/*
 * Programs for the tracepoints of a list; *points is NULL if there is none. What they refuse is counted in
 * the filter, which must stay open. -EOPNOTSUPP with the sentence for a tracepoint that has no raw one
 * (system calls), or for other modifiers than period=1.
 */
int only_points_open(const struct event_list *events, struct only_filter *filter, const struct only *only,
	struct only_points **points, struct err *err);
int only_points_attach(struct only_points *points, struct err *err);
/* NULL is allowed. */
void only_points_close(struct only_points *points);
/* What the program of the event of this index writes to; NULL if it has none. */
struct samples *only_points_samples(const struct only_points *points, unsigned int index);
/* How often it did not run, since it was running on that CPU already. */
uint64_t only_points_missed(const struct only_points *points, unsigned int index);

/* Whether all of this is possible here: tried by attaching. */
int only_points_try(const struct event_list *events, const struct only *only, struct err *err);

#endif
