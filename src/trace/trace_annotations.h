/* SPDX-License-Identifier: MIT */
/*
 * The newest events and lines of the trace, each with its text, for views that show them beside
 * samples. Their number is limited, since millions of them would be of no use there.
 *
 * One thread at a time for each object, which holds its part of the readings' budget until it is
 * destroyed.
 */
#ifndef KPROFS_TRACE_TRACE_ANNOTATIONS_H
#define KPROFS_TRACE_TRACE_ANNOTATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"

struct trace_annotations;
struct readings;

/* Bytes of a text; a longer one is cut. */
#define TRACE_ANNOTATIONS_TEXT_MAX 256u

/* Addresses of a stack; a longer one, which libkprof does not write, is a part of the text. */
#define TRACE_ANNOTATIONS_STACK_MAX 32u

enum trace_annotation_kind {
	TRACE_ANNOTATION_EVENT,
	TRACE_ANNOTATION_SPAN,	  /* it lasted for duration_ns, and ended at time_ns */
	TRACE_ANNOTATION_BEGIN,	  /* a span of a program begins; its end is an annotation of its own */
	TRACE_ANNOTATION_COUNTER, /* the text is the value of a counter */
};

/* Its pointers are valid until the next call. All strings are UTF-8. */
struct trace_annotation {
	uint64_t time_ns;    /* CLOCK_MONOTONIC */
	uint32_t cpu;        /* KPROF_CPU_UNKNOWN if it is not known */
	uint32_t pid, tid;   /* 0 for a line that was written to kptrace */
	uint32_t uid;	     /* of the program; 0 for a line that was written to kptrace; or MERGE_NO_UID */
	const char *program; /* NULL for a line that was written to kptrace */
	const char
		*name; /* "provider:event"; "" for a kprof_printf, or a line written to kptrace */
	const char *text;
	enum trace_annotation_kind kind;
	uint64_t duration_ns;
	const uint64_t *stack; /* of a kprof_backtrace: return addresses, innermost first */
	uint32_t stack_count;
};

/* Events and lines that are not shown. */
struct trace_annotations_missing {
	uint64_t left_out; /* too old for `max` of them, or for the bound trace_max */
	uint64_t lost;
};

/*
 * Takes at most the `max` newest annotations, for `reader` (a user id). Returns -ENODATA if the
 * trace is empty, -EINTR if it was cancelled. Blocks for as long as copying takes.
 */
int trace_annotations_create(struct readings *readings, uid_t reader, uint64_t max,
	const struct cancel *cancel, struct trace_annotations **annotations);
void trace_annotations_destroy(struct trace_annotations *annotations);

/* The next in the order of time. Returns false if there is none. */
bool trace_annotations_next(
	struct trace_annotations *annotations, struct trace_annotation *annotation);

void trace_annotations_get_missing(
	const struct trace_annotations *annotations, struct trace_annotations_missing *missing);

#endif
