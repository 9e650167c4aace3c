/* SPDX-License-Identifier: MIT */
/*
 * The first lines of a view in text: what the capture holds, and what is missing from it. Each
 * begins with `# `.
 */
#ifndef KPROFS_FORMATS_SUMMARY_H
#define KPROFS_FORMATS_SUMMARY_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#include "capture/profile.h"

/* What the view below makes of the samples. */
struct summary {
	bool own;            /* those taken in the server itself are counted */
	uint64_t counted;    /* samples, all events */
	uint64_t unresolved; /* of these: the innermost frame has no symbol */
};

void summary_write(const struct profile *profile, const struct summary *head, FILE *out);

/*
 * Two of these lines without `# ` and without their ends: about the capture, and about one event.
 */
void summary_append_summary(GString *line, const struct profile *profile);
void summary_append_event(GString *line, const struct profile_event *event, bool own);

/* Percent; 0 of nothing. */
static inline double summary_share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

#endif
