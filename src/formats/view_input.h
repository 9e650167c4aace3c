/* SPDX-License-Identifier: MIT */
/* The input from which a format is written; see view.h. */
#ifndef KPROFS_FORMATS_VIEW_INPUT_H
#define KPROFS_FORMATS_VIEW_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "capture/functions.h"
#include "capture/profile.h"

enum view_annotation_kind {
	VIEW_ANNOTATION_EVENT,
	VIEW_ANNOTATION_SPAN,	 /* it lasted for duration_ns, and ended at time_ns */
	VIEW_ANNOTATION_BEGIN,	 /* a span of a program begins; its end is an annotation of its own */
	VIEW_ANNOTATION_COUNTER, /* the text is the value of a counter */
};

/*
 * An annotation: an event or line of the trace, which a view with a time axis shows beside the
 * samples. Strings are UTF-8.
 */
struct view_annotation {
	uint64_t time_ns;    /* CLOCK_MONOTONIC */
	uint32_t cpu;	     /* VIEW_CPU_UNKNOWN: not known */
	uint32_t pid, tid;
	const char *program; /* NULL if it is of no process; pid and tid are then not used */
	const char *name;    /* "" if it has none */
	const char *text;
	enum view_annotation_kind kind;
	uint64_t duration_ns;
	const char *const *stack; /* its callers, innermost first: "0xADDRESS FUNCTION+0xN (FILE)" */
	uint32_t stack_count;
};
#define VIEW_CPU_UNKNOWN 0xffffu

/* The source of annotations. */
struct view_annotations {
	/* the next one in the order of time, valid until the next call. false if no more */
	bool (*next)(void *arg, struct view_annotation *annotation);
	void *arg;
	uint64_t left_out; /* older ones, which are not given */
	uint64_t lost;
};

struct summary_source;

struct view_input {
	const struct profile *profile; /* NULL if the format reads the records itself */
	const struct functions *functions; /* NULL if the format needs none */
	/* the records: seekable; read with pread(2), so that the file position does not change */
	int capture_fd;
	/* for a format with VIEW_ANNOTATIONS, which reads all of them; NULL if there are none */
	const struct view_annotations *annotations;
	/* for a format with VIEW_DIFFERENCE: an earlier capture, with which this one is compared; or NULL */
	const struct view_input *before;
	/* approximate memory that a format which reads the records may use; 0 for no limit */
	size_t bytes_max;
	const struct summary_source *source; /* where the capture is from; NULL if not known */
	struct cancel cancel; /* checked at least every 10 ms of work */
};

static inline bool view_cancelled(const struct view_input *input)
{
	return cancel_requested(&input->cancel);
}

#endif
