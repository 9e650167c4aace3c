/* SPDX-License-Identifier: MIT */
/*
 * The summary: the first lines of a text view, with the numbers of samples and of what was lost.
 * Each line begins with `# `.
 */
#ifndef KPROFS_FORMATS_SUMMARY_H
#define KPROFS_FORMATS_SUMMARY_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#include "capture/profile.h"

/* Where a capture is from. */
struct summary_source {
	const char *name;    /* the path and the part, as one line; NULL if not known */
	const char *text;    /* the same with the age */
	const char *control; /* the path of kpctl if it is from a mount, or NULL */
	uint64_t run_ns; /* of a mount: the length of its runs, 0 if there was none */
};

/* How the view counts the samples. */
struct summary {
	const struct summary_source *source; /* NULL if not known */
	bool own;            /* samples of the server itself are counted */
	uint64_t counted;    /* samples, all events */
	uint64_t unresolved; /* of these, those whose innermost frame has no symbol */
};

void summary_write(const struct profile *profile, const struct summary *summary, FILE *out);

/*
 * Two of these lines without `# ` and without their newlines: about the capture, and about one
 * event.
 */
void summary_append_capture(GString *line, const struct profile *profile);
void summary_append_event(GString *line, const struct profile_event *event, bool own);
/* The most important of the latter, for narrow screens. */
void summary_append_event_briefly(GString *line, const struct profile_event *event);

/*
 * Why there is no sample that is shown: nothing was captured, none was taken, or all were taken in the
 * idle task or in the server.
 */
void summary_append_nothing(
	GString *line, const struct profile *profile, const struct summary_source *source);

/* Sets this as the error; returns -ENODATA. */
int summary_refuse(
	const struct profile *profile, const struct summary_source *source, struct err *err);

/* What is to be known of the records and stacks besides: one line, empty if there is nothing. */
void summary_append_notes(GString *line, const struct profile *profile);

/* Percent; 0 if `whole` is 0. */
static inline double summary_share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

#endif
