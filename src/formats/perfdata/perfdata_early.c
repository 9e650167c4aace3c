/* SPDX-License-Identifier: MIT */
/* Finds the mappings that are valid from a capture's beginning on: see perfdata_early.h. */
#include "formats/perfdata/perfdata_early.h"

#include <string.h>

#include "base/bisect.h"

/*
 * If a process has more separate mappings than this (a large browser has some hundreds), further
 * ones are valid from their time on. This bounds the work for each.
 */
#define EARLY_RANGES_MAX 4096

struct perfdata_early_mapping {
	uint64_t process; /* section and pid */
	uint64_t time_ns;
	uint64_t start, end;
	uint32_t number;
};

void perfdata_early_init(struct perfdata_early *early)
{
	early->mappings = g_array_new(FALSE, FALSE, sizeof(struct perfdata_early_mapping));
	early->bits = g_byte_array_new();
	early->count = 0;
}

void perfdata_early_fini(struct perfdata_early *early)
{
	g_array_free(early->mappings, TRUE);
	g_byte_array_free(early->bits, TRUE);
}

void perfdata_early_add(struct perfdata_early *early, uint64_t process,
	const struct kprof_rec_mmap *mmap)
{
	struct perfdata_early_mapping mapping = {
		.process = process,
		.time_ns = mmap->time_ns,
		.start = mmap->addr,
		.number = early->count++,
	};

	if (__builtin_add_overflow(mmap->addr, mmap->size, &mapping.end))
		mapping.end = UINT64_MAX;
	g_array_append_val(early->mappings, mapping);
}

void perfdata_early_pass(struct perfdata_early *early)
{
	early->count++;
}

static int compare_mappings(const void *a, const void *b)
{
	const struct perfdata_early_mapping *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

struct perfdata_range {
	uint64_t start, end;
};

static bool ends_by(const void *range, const void *start)
{
	return ((const struct perfdata_range *)range)->end <= *(const uint64_t *)start;
}

/* Adds [start, end) to sorted ranges that don't touch; true if nothing of it was covered. */
static bool cover(GArray *ranges, uint64_t start, uint64_t end)
{
	struct perfdata_range range = { start, end };
	uint32_t low, last;
	bool fresh;

	low = (uint32_t)bisect(ranges->data, ranges->len, sizeof(range), ends_by, &start);
	for (last = low; last < ranges->len; last++) {
		const struct perfdata_range *r =
			&g_array_index(ranges, struct perfdata_range, last);

		if (r->start >= end)
			break;
		range.start = MIN(range.start, r->start);
		range.end = MAX(range.end, r->end);
	}
	fresh = last == low;
	if (!fresh)
		g_array_remove_range(ranges, low, last - low);
	g_array_insert_val(ranges, low, range);
	return fresh;
}

static bool is_forked(const struct pair_map *forked, uint64_t process)
{
	return pair_map_find(forked, process, (uint32_t)process) != NULL;
}

void perfdata_early_find(struct perfdata_early *early, const struct pair_map *forked)
{
	GArray *ranges = g_array_new(FALSE, FALSE, sizeof(struct perfdata_range));
	uint64_t process = UINT64_MAX;
	uint32_t i;

	g_byte_array_set_size(early->bits, early->count / 8 + 1);
	memset(early->bits->data, 0, early->bits->len);
	g_array_sort(early->mappings, compare_mappings);
	for (i = 0; i < early->mappings->len; i++) {
		const struct perfdata_early_mapping *m =
			&g_array_index(early->mappings, struct perfdata_early_mapping, i);

		if (m->process != process)
			g_array_set_size(ranges, 0);
		process = m->process;
		if (is_forked(forked, process) || ranges->len >= EARLY_RANGES_MAX)
			continue;
		if (cover(ranges, m->start, m->end))
			early->bits->data[m->number / 8] |= (uint8_t)(1 << m->number % 8);
	}
	g_array_free(ranges, TRUE);
	g_array_set_size(early->mappings, 0);
}

bool perfdata_early_has(const struct perfdata_early *early, uint32_t mapping)
{
	return mapping / 8 < early->bits->len && early->bits->data[mapping / 8] >> mapping % 8 & 1;
}

size_t perfdata_early_bytes(const struct perfdata_early *early)
{
	return early->mappings->len * sizeof(struct perfdata_early_mapping);
}
