/* SPDX-License-Identifier: MIT */
/*
 * The programs that check `only` at each sample of the perf events of a run, and in the session of an
 * ordinary user whether the sample is of that user (sample_owner.h), and count what they refuse.
 *
 * Each perf event has a program that calls the one of its index in a table and takes the sample if there is
 * none. So the expression is changed for all CPUs without a sample that no program has seen. Tracepoints
 * have programs of their own (only_points.h). What programs write (offcpu, probes) is filtered by those.
 *
 * The control thread opens, changes and closes it; counts may be read by any thread meanwhile.
 */
#ifndef KPROFS_PROF_ONLY_FILTER_H
#define KPROFS_PROF_ONLY_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "prof/events.h"
#include "prof/only.h"
#include "prof/sample_owner.h"

struct only_filter;

/* Whether samples of the event are checked by these programs. */
bool only_filter_takes(const struct event *event);

/*
 * For as many events as a run has: some ms. user: whose samples alone are taken, until it is closed, or NULL:
 * those of all. -EOPNOTSUPP if this kernel or the server's rights do not allow
 * it, with what is missing; -ENOMEM.
 */
int only_filter_open(unsigned int events, const struct sample_user *user, struct only_filter **filter,
	struct err *err);
/* Called when the events are closed. NULL is allowed. */
void only_filter_close(struct only_filter *filter);

/*
 * From now on this expression is checked; NULL: none. 20..30 ms. An error leaves the one before it. Errors
 * as above.
 */
int only_filter_set(struct only_filter *filter, const struct only *only, struct err *err);
/* The samples of a perf event of index `index` are checked, until it is closed. */
int only_filter_attach(struct only_filter *filter, unsigned int index, int perf_event, struct err *err);
/* Instructions that count a sample of another program of this index as refused; to `end` on other CPUs. */
void only_filter_emit_refused(const struct only_filter *filter, unsigned int index, struct code *code,
	int end);
/* How many of them the expression refused on this CPU. */
uint64_t only_filter_count(const struct only_filter *filter, unsigned int cpu, unsigned int index);
/* How many were refused since they are not of the user. */
uint64_t only_filter_count_others(const struct only_filter *filter, unsigned int cpu, unsigned int index);

/* Whether programs can check this expression here: the errors of only_filter_open(). */
int only_filter_try(const struct only *only, struct err *err);

#endif
