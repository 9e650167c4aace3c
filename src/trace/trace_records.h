/* SPDX-License-Identifier: MIT */
/*
 * Writes the trace in one of its two formats: lines of text, of all CPUs; or the records of
 * kprof/trace.h, of one CPU. One thread at a time for each object.
 */
#ifndef KPROFS_TRACE_TRACE_RECORDS_H
#define KPROFS_TRACE_TRACE_RECORDS_H

#include <glib.h>
#include <stdint.h>

#include <kprof/trace.h>

#include "trace/merge.h"

struct trace_records;

/* All CPUs, as text. */
#define TRACE_RECORDS_TEXT UINT32_MAX

/* Which events are written. */
struct trace_records_cpu {
	uint32_t cpu;   /* or TRACE_RECORDS_TEXT: then the other members are not used */
	uint32_t first; /* the lowest CPU: it also gets events that belong to no CPU */
	uint32_t count; /* events with this CPU number or a higher one belong to no CPU */
};

struct trace_records *trace_records_create(const struct trace_records_cpu *cpu);
void trace_records_destroy(struct trace_records *records);

/* Appends the header. Programs and meanings are then written again before their first event. */
void trace_records_begin(
	struct trace_records *records, const struct clock_map_copy *clock, GString *out);
/* Appends the item, after its program and meaning; nothing if it is another CPU's. */
void trace_records_append(
	struct trace_records *records, const struct merge_item *item, GString *out);
/* How many bytes that appends. The sum over all items is right in any order of calls. */
uint64_t trace_records_measure(struct trace_records *records, const struct merge_item *item);
/*
 * Appends that `count` events are missing before `next`, or at now_ns if `next` is NULL because
 * there is no next item.
 */
void trace_records_append_missing(struct trace_records *records, const struct merge_item *next,
	uint64_t now_ns, uint64_t count, enum kprof_trace_reason reason, GString *out);

/* The rest of the line "N events ..." for this reason. */
const char *trace_records_reason(uint32_t reason);

#endif
