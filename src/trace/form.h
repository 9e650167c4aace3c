/* SPDX-License-Identifier: MIT */
/*
 * The two forms in which the trace is read: lines of text, of all CPUs; or the records of
 * kprof/trace.h, of one CPU. One thread at a time for each.
 */
#ifndef KPROFS_TRACE_FORM_H
#define KPROFS_TRACE_FORM_H

#include <glib.h>
#include <stdint.h>

#include <kprof/trace.h>

#include "trace/merge.h"

struct form;

/* All CPUs, as text. */
#define FORM_TEXT UINT32_MAX

/* What a form of records is about. */
struct form_cpu {
	uint32_t cpu;	/* or FORM_TEXT: then nothing else counts */
	uint32_t first; /* the lowest CPU: it gets what belongs to none */
	uint32_t count; /* events of CPUs from here on are of none */
};

struct form *form_create(const struct form_cpu *cpu);
void form_destroy(struct form *form);

/* What stands before everything else. Forgets what was said of programs. */
void form_begin(struct form *form, const struct clock_map_map *map, GString *out);
/* The item, with what must be known before it; nothing where it is another CPU's. */
void form_append(struct form *form, const struct merge_item *item, GString *out);
/* How many bytes that appends: over all items the sum is right whatever the order. */
uint64_t form_measure(struct form *form, const struct merge_item *item);
/* So many events are missing before `next` (NULL: nothing is there yet, at this time). */
void form_append_missing(struct form *form, const struct merge_item *next, uint64_t now_ns,
	uint64_t count, enum kprof_trace_reason reason, GString *out);

/* "N events ...": how the reasons read. */
const char *form_reason(uint32_t reason);

#endif
