/* SPDX-License-Identifier: MIT */
/*
 * The two forms in which the trace is read: lines of text, of all CPUs; or the records of
 * kprof/trace.h, of one CPU. One thread at a time for each.
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

/* What a form of records is about. */
struct trace_records_cpu {
	uint32_t cpu;   /* or TRACE_RECORDS_TEXT: then nothing else counts */
	uint32_t first; /* the lowest CPU: it gets what belongs to none */
	uint32_t count; /* events of CPUs from here on are of none */
};

struct trace_records *trace_records_create(const struct trace_records_cpu *cpu);
void trace_records_destroy(struct trace_records *form);

/* What stands before everything else. Forgets what was said of programs. */
void trace_records_begin(struct trace_records *form, const struct clock_map_map *map, GString *out);
/* The item, with what must be known before it; nothing where it is another CPU's. */
void trace_records_append(struct trace_records *form, const struct merge_item *item, GString *out);
/* How many bytes that appends: over all items the sum is right whatever the order. */
uint64_t trace_records_measure(struct trace_records *form, const struct merge_item *item);
/* So many events are missing before `next` (NULL: nothing is there yet, at this time). */
void trace_records_append_missing(struct trace_records *form, const struct merge_item *next,
	uint64_t now_ns, uint64_t count, enum kprof_trace_reason reason, GString *out);

/* "N events ...": how the reasons read. */
const char *trace_records_reason(uint32_t reason);

#endif
