/* SPDX-License-Identifier: MIT */
/*
 * The reader of cpu/N/trace's bytes (kprof/trace.h): one event, message or gap after the other.
 *
 * The bytes may come from anybody: whatever they are, the reader stays inside them, holds at most
 * one block and what was said of a bounded number of programs and events, and says where and why it
 * could not go on. One thread at a time for each.
 */
#ifndef KPROFS_TRACE_TRACEFILE_H
#define KPROFS_TRACE_TRACEFILE_H

#include <stddef.h>
#include <stdint.h>

#include <kprof/trace.h>

#include "base/err.h"
#include "trace/trace_text.h"

struct tracefile;

/* Programs and meanings that a file may say. */
#define TRACEFILE_SAID_MAX 65536u

/* What it points to is good until the next call for the same file. */
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

/* Reads from where the descriptor stands, which stays the caller's. */
struct tracefile *tracefile_create(int fd);
void tracefile_destroy(struct tracefile *file);

/*
 * 1, 0 at the end, or below zero with a sentence that begins with the offset; the same again from
 * then on. -EINVAL: damaged; or the errno of read(2). Blocks as read(2) does.
 */
int tracefile_next(struct tracefile *file, struct tracefile_item *item, struct err *err);

/* Of the file's header. */
struct tracefile_head {
	uint32_t cpu;
	uint64_t monotonic_ns, realtime_ns; /* one moment */
};

/* false: it was not read, since it is damaged or nobody asked for an item yet. */
bool tracefile_get_head(const struct tracefile *file, struct tracefile_head *head);

/* What comes first of two items of different files. */
bool tracefile_before(const struct tracefile_item *a, const struct tracefile_item *b);

/* Appends its lines. Whatever is in it, what is appended can be shown. */
void tracefile_show(const struct tracefile_item *item, struct trace_text *line, GString *out);

#endif
