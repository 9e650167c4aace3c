/* SPDX-License-Identifier: MIT */
/*
 * The events that can be asked for, of all sources: perf's generic ones, those of libpfm4, and the
 * kernel's tracepoints. One thread at a time.
 */
#ifndef KPROFS_CMD_EVENTLIST_H
#define KPROFS_CMD_EVENTLIST_H

#include <glib.h>
#include <regex.h>
#include <stdbool.h>

enum eventlist_kind {
	EVENTLIST_SOFTWARE, /* of perf */
	EVENTLIST_HARDWARE, /* of perf, where there is a PMU */
	EVENTLIST_PMU,	    /* of libpfm4 */
	EVENTLIST_TRACEPOINT,
};

struct eventlist_mask {
	const char *name;
	const char *text;
	bool is_default;
};

struct eventlist_event {
	enum eventlist_kind kind;
	const char *name; /* as kpctl and --event take it; with the PMU where it has one */
	const char *pmu;  /* "" where there is none */
	const char *text; /* "" where nobody says what it is */
	GArray *masks;	  /* struct eventlist_mask */
	GPtrArray *modifiers; /* "k", "period=N": char * */
	bool absent;	  /* its PMU is another machine's */
	bool available;	  /* this machine, and this user, can count it */
};

struct eventlist {
	GPtrArray *events; /* struct eventlist_event */
	GStringChunk *strings;
	int tracepoints; /* 0, or why there are none: -errno */
};

/*
 * Those whose name, or name with a unit mask, matches (NULL: all). With `all` also those of PMUs that are
 * not present. Sets what is available by opening each: some ms.
 */
struct eventlist *eventlist_create(const regex_t *pattern, bool all);
void eventlist_destroy(struct eventlist *list);

#endif
