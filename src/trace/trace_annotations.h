/* SPDX-License-Identifier: MIT */
/*
 * The newest of what the trace holds, one event or line after the other, each with its text: for
 * views that show events beside something else, and are none the better for millions of them.
 *
 * One thread at a time for each; holds its part of the readings' memory until it is destroyed.
 */
#ifndef KPROFS_TRACE_TRACE_ANNOTATIONS_H
#define KPROFS_TRACE_TRACE_ANNOTATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"

struct trace_annotations;
struct readings;

/* Bytes of a text; what is more is cut. */
#define TRACE_ANNOTATIONS_TEXT_MAX 256u

/* What it points to is good until the next one is asked for. All strings are UTF-8. */
struct trace_annotation {
	uint64_t time_ns;    /* CLOCK_MONOTONIC */
	uint32_t cpu;        /* KPROF_CPU_UNKNOWN: not known */
	uint32_t pid, tid;   /* 0: of a line that was written through kptrace */
	const char *program; /* NULL: the same */
	const char *name;    /* "provider:event"; "": of a kprof_printf, or the same */
	const char *text;
};

/* What is not among them. */
struct trace_annotations_missing {
	uint64_t left_out; /* older than the newest so many, or than what trace_max holds */
	uint64_t lost;
};

/*
 * At most `max` of them, for `reader` (a user id). -ENODATA: the trace is empty; -EINTR:
 * cancelled. Blocks for as long as copying takes.
 */
int trace_annotations_create(struct readings *readings, uid_t reader, uint64_t max,
	const struct cancel *cancel, struct trace_annotations **marks);
void trace_annotations_destroy(struct trace_annotations *marks);

/* The next in the order of time. false: there is none. */
bool trace_annotations_next(struct trace_annotations *marks, struct trace_annotation *mark);

void trace_annotations_get_missing(
	const struct trace_annotations *marks, struct trace_annotations_missing *missing);

#endif
