/* SPDX-License-Identifier: MIT */
/*
 * The syntaxes of one SPEC of kpctl's `event` command (see events.h), each a function that sets
 * the event's attr. Private to events.c.
 */
#ifndef KPROFS_PROF_EVENT_PARSE_H
#define KPROFS_PROF_EVENT_PARSE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The state of one events_parse(): init, any number of SPECs, fini. */
struct event_parse {
	const char *tracefs_path; /* NULL for the real one */
	int tracefs;              /* descriptor; -errno: not available; 0 if not tried yet */
};

void event_parse_init(struct event_parse *parser, const char *tracefs_path);
void event_parse_fini(struct event_parse *parser);

/* cycles, or its replacement, in the kernel and in user space; no rate is set */
void event_parse_default(struct perf_event_attr *attr);
void event_parse_fallback(struct perf_event_attr *attr);

/*
 * Parses the SPEC `text` (printable, shorter than EVENT_TEXT_MAX) by the first syntax that fits. On
 * success attr is set as the text says. If *rate_given, the rate, which is not checked, is in
 * sample_period with attr->freq; otherwise both are 0. Returns errors as events_parse().
 */
int event_parse_parse(struct event_parse *parser, const char *text, struct perf_event_attr *attr,
	bool *rate_given, struct err *err);

/* See events_generic(). */
const char *event_parse_generic_name(size_t i, bool *hardware);

#endif
