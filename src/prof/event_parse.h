/* SPDX-License-Identifier: MIT */
/*
 * The forms that one SPEC of kpctl's `event` command can have (see events.h), each a function that
 * fills the event's attr. Private to events.c.
 */
#ifndef KPROFS_PROF_EVENT_PARSE_H
#define KPROFS_PROF_EVENT_PARSE_H

#include "prof/events.h"

/* What one events_parse() has open: init, any number of SPECs, fini. */
struct event_parse {
	const char *tracefs_path; /* NULL: the real one */
	int tracefs;              /* descriptor; a -errno: not there; 0: not tried yet */
};

void event_parse_init(struct event_parse *forms, const char *tracefs_path);
void event_parse_fini(struct event_parse *forms);

/* cycles, or what stands in for it, on both sides; no rate is set */
void event_parse_default(struct perf_event_attr *attr);
void event_parse_fallback(struct perf_event_attr *attr);

/*
 * Takes the SPEC `text` (printable, shorter than EVENT_TEXT_MAX) by the first form that fits. On
 * success attr has what the text says; a rate, unchecked, stands in sample_period with attr->freq
 * where *rate_given, else both are 0. Errors as events_parse().
 */
int event_parse_parse(struct event_parse *forms, const char *text, struct perf_event_attr *attr,
	bool *rate_given, struct err *err);

#endif
