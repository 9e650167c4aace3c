/* SPDX-License-Identifier: MIT */
/*
 * Reads copies of cpu/N/trace (kprof/trace.h): one event, message or gap after the other.
 *
 * The bytes are not trusted. Whatever they are, the reader stays inside them and holds at most one
 * block and the definitions of a bounded number of programs and events. An error names the offset
 * and the reason. One thread at a time for each file.
 */
#ifndef KPROFS_TRACE_TRACEFILE_H
#define KPROFS_TRACE_TRACEFILE_H

#include <stddef.h>
#include <stdint.h>

#include <kprof/trace.h>

#include "base/err.h"
#include "trace/trace_text.h"

struct tracefile;

/* How many programs, and how many meanings, a file may define. */
#define TRACEFILE_DEFINITIONS_MAX 65536u

/* Its pointers are valid until the next call for the same file. */
struct tracefile_item {
	enum kprof_trace_type type; /* EVENT, MESSAGE or MISSING */
	uint64_t time_ns;
	uint32_t program;	 /* of an event */
	struct trace_text_event event; /* EVENT */
	const char *text;	 /* MESSAGE: `bytes` of it, not checked */
	size_t bytes;
	uint64_t count; /* MISSING */
	uint32_t cpu, reason;
};

/* Reads from the descriptor's file position. The caller keeps the descriptor. */
struct tracefile *tracefile_create(int fd);
void tracefile_destroy(struct tracefile *file);

/*
 * Returns 1, 0 at the end, or a negative errno with a sentence that begins with the offset: -EINVAL
 * if the file is damaged, or -errno of read(2). After an error each call returns the same error.
 * Blocks as read(2) does.
 */
int tracefile_next(struct tracefile *file, struct tracefile_item *item, struct err *err);

/* Of the file's header. */
struct tracefile_head {
	uint32_t cpu;
	uint64_t monotonic_ns, realtime_ns; /* one moment */
};

/* Returns false if the head was not read: it is damaged, or tracefile_next was not called yet. */
bool tracefile_get_head(const struct tracefile *file, struct tracefile_head *head);

/* Whether `a` comes before `b`, for items of different files. */
bool tracefile_before(const struct tracefile_item *a, const struct tracefile_item *b);

/* Appends its lines. Control bytes are escaped, so the text is safe to print. */
void tracefile_show(const struct tracefile_item *item, struct trace_text *trace_text, GString *out);

#endif
