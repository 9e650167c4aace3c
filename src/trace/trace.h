/* SPDX-License-Identifier: MIT */
/*
 * The trace behind kptrace and kptrace_ctl: messages written through the file.
 *
 * A message is held as the lines that a reader sees, each behind its header
 *
 *	[SEC.NSEC]:cpuN: text
 *
 * and not in pieces to be formatted later: it is written once, by a shell, in a request that costs
 * far more than this; so the size that stat tells is the ring's own sum, and an open is one copy.
 *
 * The time is CLOCK_MONOTONIC, taken under the lock, so times in the ring never go back. The CPU is
 * the one that the thread which handles the write runs on: a FUSE server isn't told the writer's.
 *
 * All functions are thread-safe (one mutex, nothing is called under it that takes another) and
 * answer from memory.
 */
#ifndef KPROFS_TRACE_TRACE_H
#define KPROFS_TRACE_TRACE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"

struct producers_totals;
struct trace;

/* What the ring may hold. Below, no line of any use fits; above, each open would copy too much. */
#define TRACE_RING_BYTES_MIN ((size_t)1024)
#define TRACE_RING_BYTES_MAX ((size_t)64 * 1024 * 1024)
/* As Akaros. */
#define TRACE_RING_BYTES_DEFAULT ((size_t)128 * 1024)

/* The longest message, before its headers. */
#define TRACE_MESSAGE_BYTES_MAX ((size_t)65535)

/* -EINVAL: outside the bounds above; -ENOMEM. */
int trace_create(size_t ring_bytes, struct trace **trace);
void trace_destroy(struct trace *trace);

/*
 * Appends one message. Each of its lines, blank ones too, gets the same header; a missing last
 * newline is added; bytes below 32 except newline and tab, and 127, become \xNN (lower case). Room
 * is made by evicting the oldest messages whole. No bytes: success, and nothing is appended.
 *
 * -EINVAL: a NUL in it. -EMSGSIZE: longer than TRACE_MESSAGE_BYTES_MAX, or, counted in
 * trace.dropped_big, longer than the whole ring with its headers. Nothing has changed then.
 */
int trace_append(struct trace *trace, const char *text, size_t length);

/* The same with time and CPU given; a time before the newest message's is taken for that one. */
int trace_append_at(struct trace *trace, uint64_t time_ns, unsigned int cpu, const char *text,
	size_t length);

/* Appends all messages held, oldest first, as of one moment. -ENOMEM */
int trace_print(struct trace *trace, GString *out);

/* The length of what trace_print would append now. */
size_t trace_bytes(struct trace *trace);

/* Forgets all messages. They are not counted as overwritten. */
void trace_clear(struct trace *trace);

/*
 * A reader's place. It holds nothing: what leaves the ring before the reader comes to it is
 * missing, and counted. Several traces are merged by time by keeping the next message of each.
 */
struct trace_cursor {
	uint64_t next;   /* number of the next message */
	uint64_t end;    /* where this reader stops, UINT64_MAX: never */
	uint64_t missed; /* messages that were evicted or cleared before they were read */
	bool no_memory;	 /* the last one did not come for want of memory, and can be asked for again */
};

/* A cursor over what is held now: from the oldest message up to the newest. */
void trace_cursor_init(struct trace *trace, struct trace_cursor *cursor);
/* A cursor over what will come: from the next message on, without an end. */
void trace_cursor_init_follow(struct trace *trace, struct trace_cursor *cursor);

/*
 * Appends the next message (whole lines) to `out`, gives its time, and moves on. False: there is
 * none, at the cursor's end for good, at the ring's end for now, or no memory for it. Times never go
 * back from one call to the next. One thread at a time for each cursor.
 */
bool trace_next(struct trace *trace, struct trace_cursor *cursor, uint64_t *time_ns, GString *out);

/*
 * Adds trace.written (messages appended), trace.overwritten (messages evicted to make room),
 * trace.dropped_big (messages refused since the whole ring was too small), trace.bytes (text held),
 * and to the first two, and in trace.dropped_full, trace.torn and trace.producers, what programs have.
 */
void trace_print_stats(struct trace *trace, const struct producers_totals *programs,
	struct stats *stats);

#endif
