/* SPDX-License-Identifier: MIT */
/*
 * Events: kpctl's `event` command, from its text to what the kernel is asked for. Opens no event.
 *
 * SPEC[,SPEC...], and each SPEC is tried as these forms in this order; the first that fits decides:
 *
 *	default				cycles at 999 Hz, the fallback to cpu-clock being possible
 *	rHEX[:MODIFIER...]		1 to 16 hex digits: the PMU's raw code
 *	SYSTEM:NAME[:MODIFIER...]	where tracefs has events/SYSTEM/NAME: a kernel tracepoint. Never
 *					a text with "::", which is libpfm4's PMU::EVENT
 *	[PMU::]EVENT[:UMASK...][:MODIFIER...]	what libpfm4 knows
 *	[perf::]NAME[:MODIFIER...]	perf's generic hardware and software events, by our own table,
 *					where libpfm4 doesn't know them (LIBPFM_FORCE_PMU is set)
 *
 * A libpfm4 EVENT:UMASK that is also a tracepoint's SYSTEM:NAME is reached as PMU::EVENT:UMASK.
 *
 * Modifiers: u, k (both where neither is given), period=N, freq=HZ (numbers in C syntax); in libpfm4's
 * form also all others of libpfm4 for that event; in the raw form and our own table also h, mg, mh
 * and, but for software events, precise=0..3. A rate that sampling can't have (0, a period of 2^63
 * or more, a frequency above kernel.perf_event_max_sample_rate, both at once) is refused; no period
 * is too short, since the kernel throttles by the same sysctl. cpu, pinned and excl are refused in
 * every form: which CPUs are sampled is not the event's to say, and pinned and exclusive events
 * starve everybody else.
 *
 * Note on tracepoints: with u, or where only user space may be sampled, the kernel delivers a
 * tracepoint only where user registers are current; most never are.
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

#define EVENTS_MAX 16	   /* at a time: each costs one descriptor a CPU and a counter */
#define EVENT_TEXT_MAX 256 /* bytes of one SPEC with its NUL: libpfm4's longest take about 150 */

#define EVENT_DEFAULT_HZ 999 /* not 1000: must not beat in step with timers */

struct event {
	char text[EVENT_TEXT_MAX]; /* as given */
	/*
	 * Set: type, size, config, config1, config2, freq and sample_freq or sample_period, exclude_*,
	 * precise_ip. All else is 0 and the profiler's to fill in.
	 */
	struct perf_event_attr attr;
	uint32_t flags;	 /* KPROF_EVENT_FREQ, KPROF_EVENT_FALLBACK of <kprof/records.h> */
	bool is_default; /* event_fallback() may replace it */
	bool rate_given; /* the text says period= or freq= */
};

struct event_list {
	unsigned int count; /* 0 to EVENTS_MAX */
	struct event events[EVENTS_MAX];
};

/* Where the kernel's files are. NULL members: the real ones. */
struct events_paths {
	const char *proc;    /* "/proc": for the sysctls */
	const char *tracefs; /* a directory with events/SYSTEM/NAME/id */
};

/* The list that holds `default` alone: what a new profiler has. Touches no file, no library. */
void events_init(struct event_list *list);

/*
 * Parses into *list, all of it or, on failure, none. paths may be NULL.
 * -EINVAL: not an event list, too many (EVENTS_MAX), an empty or too long SPEC, the same SPEC twice,
 *	two software events of one kind whose samples the kernel would mix up (see sys/perf.h), a bad
 *	rate or modifier, bytes that are not printable ASCII;
 * -ENOENT: an unknown event, the nearest names are in *err; -ENOMEM, -EOPNOTSUPP: libpfm4's.
 * Blocks only for pseudo files: some ms, once also for libpfm4's initialisation.
 */
int events_parse(const char *specs, const struct events_paths *paths, struct event_list *list,
	struct err *err);

/* Appends the SPECs as given, with commas: events_parse() of it gives the same list. */
void events_print(const struct event_list *list, GString *out);

/*
 * For start, on a copy of the list: the kernel lowers kernel.perf_event_max_sample_rate by itself when
 * samples take it too long, and then refuses events that were fine before. Frequencies that nobody
 * asked for are lowered to what it allows now; -EINVAL for one that was asked for and is above.
 */
int events_fit(struct event_list *list, const struct events_paths *paths, struct err *err);

/*
 * Makes cpu-clock at the same rate of a `default` event and marks it KPROF_EVENT_FALLBACK; the text
 * stays. For start, on a machine where cycles can't be opened for sampling. The list that a person set
 * should stay as it was: do this to a copy. false, and nothing done, for any other event.
 */
bool event_fallback(struct event *event);

/*
 * perf's generic events that are taken without libpfm4, for lists: the i-th one's name, several may
 * mean the same; NULL: there are no more. *hardware: it needs a PMU.
 */
const char *events_generic(size_t i, bool *hardware);

/* period in events, or frequency in Hz (flags has KPROF_EVENT_FREQ) */
uint64_t event_rate(const struct event *event);

#endif
