/* SPDX-License-Identifier: MIT */
/*
 * An event of a program, from which its lines are made (trace_text.h) or measured (text_length.h).
 */
#ifndef KPROFS_TRACE_TEXT_EVENT_H
#define KPROFS_TRACE_TEXT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <kprof/ring_abi.h>

/* The bytes of program and label that a header has. */
#define TEXT_EVENT_PROGRAM_MAX 200
#define TEXT_EVENT_LABEL_MAX 201

/*
 * The most that one event is shown with: bytes of text before escapes, and lines. The rest is cut.
 */
#define TRACE_TEXT_BYTES_MAX 16384u
#define TRACE_TEXT_LINES_MAX 128u
/* The longest header: numbers of at most 20 digits, names as in attach_abi.h. */
#define TRACE_TEXT_HEADER_MAX 512u
/* All lines of one event: every byte escaped, every line with its header. */
#define TRACE_TEXT_EVENT_MAX                                                                       \
	(TRACE_TEXT_LINES_MAX * (TRACE_TEXT_HEADER_MAX + 1) + 4 * TRACE_TEXT_BYTES_MAX)

struct trace_text_event {
	uint64_t time_ns;
	uint32_t cpu; /* KPROF_CPU_UNKNOWN: shown as ? */
	uint32_t pid, tid;
	uint32_t flags;      /* KPROF_RECORD_* */
	const char *program; /* printable, at most 200 bytes */
	const char *label;   /* "provider:event", at most 201 bytes; "": a text */
	const char *format;  /* never passed to printf; needs no NUL */
	uint32_t format_bytes;
	bool stays; /* program, label and format are the same bytes as long as the trace_text exists */
	uint32_t args_bytes;
	const char *args; /* the bytes of the record; need not be aligned */
};

#endif
