/* SPDX-License-Identifier: MIT */
/*
 * The trace behind kptrace and kptrace_ctl: messages written to the file.
 *
 * A message is held as the lines that a reader sees, each with its header
 *
 *	[SEC.NSEC]:cpuN: text
 *
 * and is not formatted later. It is written once, by a shell, in a request that costs far more than
 * the formatting. So the size that stat shows is the ring's sum, and an open is one copy.
 *
 * The time is CLOCK_MONOTONIC, read under the lock, so times in the ring never go back. The CPU is
 * the one on which the write is handled: FUSE does not pass on the writer's.
 *
 * All functions are thread-safe (one mutex, under which no other is taken) and answer from memory.
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

/* Sizes of the ring. With less no useful line fits; with more each open would copy too much. */
#define TRACE_RING_BYTES_MIN ((size_t)1024)
#define TRACE_RING_BYTES_MAX ((size_t)64 * 1024 * 1024)
/* As Akaros. */
#define TRACE_RING_BYTES_DEFAULT ((size_t)128 * 1024)

/* The longest message, without its headers. */
#define TRACE_MESSAGE_BYTES_MAX ((size_t)65535)

/* Returns 0; -EINVAL if ring_bytes is outside the bounds above; or -ENOMEM. */
int trace_create(size_t ring_bytes, struct trace **trace);
void trace_destroy(struct trace *trace);

/*
 * Appends one message. Each of its lines, blank ones too, gets the same header; a missing last
 * newline is added; bytes below 32 except newline and tab, and 127, become \xNN (lower case). Room
 * is made by evicting the oldest messages whole. A text of no bytes appends nothing, without an
 * error.
 *
 * Returns -EINVAL if the text has a NUL; -EMSGSIZE if it is longer than TRACE_MESSAGE_BYTES_MAX or,
 * counted in trace.dropped_big, longer than the whole ring with its headers. After both, nothing
 * has changed.
 */
int trace_append(struct trace *trace, const char *text, size_t length);

/* The same with time and CPU given. A time before the newest message's is replaced by that one. */
int trace_append_at(struct trace *trace, uint64_t time_ns, unsigned int cpu, const char *text,
	size_t length);

/* Appends all messages held at this moment, oldest first. -ENOMEM */
int trace_print(struct trace *trace, GString *out);

/* The length of what trace_print would append now. */
size_t trace_bytes(struct trace *trace);

/*
 * Finds the newest message of one line that has exactly this text, also one that `kprof mark` sent.
 * Sets *time_ns, or returns -ENOENT. Bytes that the trace shows as \xNN are compared in that form.
 */
int trace_find(struct trace *trace, const char *text, uint64_t *time_ns);

/* Removes all messages. They are not counted as overwritten. */
void trace_clear(struct trace *trace);

/*
 * A reader's position. It pins no message: one that is evicted before the reader comes to it is
 * missing, and counted. Several traces are merged by time by keeping the next message of each.
 */
struct trace_cursor {
	uint64_t next;   /* number of the next message */
	uint64_t end;    /* number at which this reader stops; UINT64_MAX: never */
	uint64_t missed; /* messages that were evicted or cleared before they were read */
	bool no_memory;	 /* the last call had no memory for the message; it can be repeated */
};

/* A cursor over the messages held now: from the oldest up to the newest. */
void trace_cursor_init(struct trace *trace, struct trace_cursor *cursor);
/* A cursor over future messages: from the next one on, without an end. */
void trace_cursor_init_follow(struct trace *trace, struct trace_cursor *cursor);

/*
 * Appends the next message (whole lines) to `out`, sets *time_ns, and moves the cursor. False:
 * there is none (at the cursor's end there never will be, at the ring's end there may be later), or
 * there is no memory for it. Times never go back from one call to the next. One thread at a time
 * for each cursor.
 */
bool trace_next(struct trace *trace, struct trace_cursor *cursor, uint64_t *time_ns, GString *out);

/*
 * Adds trace.written (messages appended), trace.overwritten (messages evicted to make room),
 * trace.dropped_big (messages refused since the whole ring was too small) and trace.bytes (text
 * held). The first two include the events of `programs`; so are trace.dropped_full, trace.torn and
 * trace.producers, which are theirs only.
 */
void trace_print_stats(struct trace *trace, const struct producers_totals *programs,
	struct stats *stats);

#endif
