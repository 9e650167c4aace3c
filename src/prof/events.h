/* SPDX-License-Identifier: MIT */
/*
 * Events: from the text of kpctl's `event` command to attrs for perf_event_open(2). Opens no
 * event.
 *
 * SPEC[,SPEC...]. Each SPEC is tried with these syntaxes in this order; the first that fits is
 * used:
 *
 *	default				cycles at 999 Hz, with a fallback to cpu-clock
 *	offcpu[:MODIFIER...]		times that tasks were away from the CPU: min=US, waker
 *	wall[:MODIFIER...]		both sides, samples of cpu-clock and those times: freq=HZ too
 *	rHEX[:MODIFIER...]		1 to 16 hex digits: the PMU's raw code
 *	SYSTEM:NAME[:MODIFIER...]	if tracefs has events/SYSTEM/NAME: a kernel tracepoint. Never
 *					a text with "::", which is libpfm4's PMU::EVENT
 *	[PMU::]EVENT[:UMASK...][:MODIFIER...]	an event of libpfm4
 *	[perf::]NAME[:MODIFIER...]	perf's generic hardware and software events, by our own table,
 *					if libpfm4 does not know them (LIBPFM_FORCE_PMU is set)
 *
 * A libpfm4 EVENT:UMASK that is also a tracepoint's SYSTEM:NAME is written as PMU::EVENT:UMASK.
 *
 * Modifiers: u, k (both if neither is given), period=N, freq=HZ (numbers in C syntax). libpfm4's
 * syntax also has all others of libpfm4 for that event; the raw syntax and our own table also
 * have h, mg, mh and, except for software events, precise=0..3. A rate that is not possible for
 * sampling (0, a period of 2^63 or more, a frequency above kernel.perf_event_max_sample_rate,
 * both at once) is refused. No period is too short, since the kernel throttles by the same
 * sysctl. cpu, pinned and excl are refused in every syntax: the CPUs are set by `cpus`, and
 * pinned and exclusive events take the counters of other users.
 *
 * Note on tracepoints: with u, or in a scope of user space only, the kernel delivers a tracepoint
 * only while user registers are current, which is almost never.
 *
 * One thread at a time for each list; lists are plain values.
 */
#ifndef KPROFS_PROF_EVENTS_H
#define KPROFS_PROF_EVENTS_H

#include <glib.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "prof/event_offcpu.h"

#define EVENTS_MAX 16	   /* at a time: each takes one descriptor a CPU and a counter */
#define EVENT_TEXT_MAX 256 /* bytes of one SPEC with its NUL: libpfm4's longest take about 150 */

#define EVENT_DEFAULT_HZ 999 /* not 1000: must not run in step with timers */

struct event {
	char text[EVENT_TEXT_MAX]; /* as given */
	/*
	 * Set: type, size, config, config1, config2, freq and sample_freq or sample_period,
	 * exclude_*, precise_ip. All other members are 0; the profiler sets them.
	 */
	struct perf_event_attr attr;
	uint32_t flags;	 /* KPROF_EVENT_FREQ, KPROF_EVENT_FALLBACK of <kprof/records.h> */
	bool is_default; /* event_fallback() may replace it */
	bool rate_given; /* the text says period= or freq= */
	struct event_away away;
};

/*
 * A list has at most EVENTS_MAX descriptors a CPU, so that it may have one event less with a `wall`.
 */
struct event_list {
	unsigned int count; /* 0 to EVENTS_MAX */
	struct event events[EVENTS_MAX];
};

/* Paths of the kernel's files. NULL members: the real ones. */
struct events_paths {
	const char *proc;    /* "/proc": for the sysctls */
	const char *tracefs; /* a directory with events/SYSTEM/NAME/id */
};

/* The list with `default` only, which a new profiler has. Uses no file and no library. */
void events_init(struct event_list *list);

/*
 * Parses a list of events into *list, which is unchanged after a failure. paths may be NULL. Returns
 * -EINVAL if the text is not an event list, or has more than EVENTS_MAX events, an empty or too long
 *	SPEC, the same SPEC twice, more than one of offcpu and wall, two software events of one
 *	kind whose samples the kernel would mix up (see sys/perf.h), a bad rate or modifier, or bytes
 *	that are not printable ASCII;
 * -ENOENT if an event is unknown; *err then has the nearest names;
 * -ENOMEM or -EOPNOTSUPP if libpfm4 returns it.
 * Blocks only for pseudo files: some ms, once also for libpfm4's initialisation.
 */
int events_parse(const char *specs, const struct events_paths *paths, struct event_list *list,
	struct err *err);

/*
 * Replaces each EVENT_WALL by its two sides, next to each other. Called for a copy of the list: see
 * profiler_resolve().
 */
void events_expand(struct event_list *list);
/* The event of which the programs of offcpu.h are the source; NULL if there is none. */
const struct event *events_offcpu(const struct event_list *list);

/* Whether this user can sample `offcpu` and `wall` here: 20..40 ms. -EOPNOTSUPP with what is missing. */
int events_try_offcpu(struct err *err);

/* Appends the SPECs as given, with commas: events_parse() of the result gives the same list. */
void events_print(const struct event_list *list, GString *out);

/*
 * Called at start, for a copy of the list. The kernel lowers kernel.perf_event_max_sample_rate by
 * itself when samples take too long, and then refuses events that were valid before. Default
 * frequencies are lowered to the new limit. Returns -EINVAL if a frequency in the text is above it.
 */
int events_fit(struct event_list *list, const struct events_paths *paths, struct err *err);

/*
 * Replaces a `default` event by cpu-clock at the same rate and marks it KPROF_EVENT_FALLBACK; the
 * text stays. Called at start, on a machine where cycles cannot be sampled, for a copy of the list,
 * so that the user's list is not changed. Returns false and changes nothing for any other event.
 */
bool event_fallback(struct event *event);

/*
 * perf's generic events that are parsed without libpfm4, for lists: the name of the i-th one,
 * several may mean the same; NULL if there are no more. *hardware: it needs a PMU.
 */
const char *events_generic(size_t i, bool *hardware);

/* period in events, or frequency in Hz (flags has KPROF_EVENT_FREQ) */
uint64_t event_rate(const struct event *event);

#endif
