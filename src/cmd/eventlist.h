/* SPDX-License-Identifier: MIT */
/*
 * The events that can be sampled, from all sources: perf's generic ones, those of libpfm4, and the
 * kernel's tracepoints. One thread at a time.
 */
#ifndef KPROFS_CMD_EVENTLIST_H
#define KPROFS_CMD_EVENTLIST_H

#include <glib.h>
#include <regex.h>
#include <stdbool.h>

#include "base/err.h"

enum eventlist_kind {
	EVENTLIST_SOFTWARE, /* of perf */
	EVENTLIST_HARDWARE, /* of perf, if there is a PMU */
	EVENTLIST_PMU,      /* of libpfm4 */
	EVENTLIST_TRACEPOINT,
	EVENTLIST_TIME, /* offcpu and wall, which can't be counted */
};

struct eventlist_mask {
	const char *name;
	const char *text;
	bool is_default;
};

struct eventlist_event {
	enum eventlist_kind kind;
	const char *name; /* as kpctl and --event take it; with the PMU if it has one */
	const char *pmu;  /* "" if it has none */
	const char *text; /* "" if there is no description */
	GArray *masks;	  /* struct eventlist_mask */
	GPtrArray *modifiers; /* "k", "period=N": char * */
	bool absent;          /* its PMU is not one of this machine */
	bool available;       /* this user can count it on this machine; of EVENTLIST_TIME, sample it */
};

struct eventlist {
	GPtrArray *events; /* struct eventlist_event */
	GStringChunk *strings;
	int tracepoints; /* 0, or -errno: why there are none */
	struct err pfm;  /* why there are none of libpfm4; no sentence if there are */
};

/*
 * The events whose name, or name with a unit mask, matches (NULL for all). With `all` also those of
 * PMUs that are not present. Opens each to find out what is available: takes some ms.
 */
struct eventlist *eventlist_create(const regex_t *pattern, bool all);
void eventlist_destroy(struct eventlist *list);

#endif
