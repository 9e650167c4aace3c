/* SPDX-License-Identifier: MIT */
/* Finds the mapping that contained an address at a given time: see mapindex.h. */
#include "capture/mapindex.h"

#include <glib.h>
#include <stdlib.h>

#include "base/bisect.h"

struct mapindex {
	const struct mapindex_mapping *mappings;
	uint64_t *cuts; /* sorted, each once; piece i is cuts[i] to cuts[i + 1] */
	uint32_t pieces;
	/* node n (root 1, children 2n and 2n + 1, piece i is node pieces + i) has the mappings
	   entries[first[n]] to entries[first[n + 1]], by time */
	size_t *first;
	uint32_t *entries;
};

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_at_or_below(const void *cut, const void *address)
{
	return *(const uint64_t *)cut <= *(const uint64_t *)address;
}

static uint32_t count_cuts(const struct mapindex *index, uint64_t address)
{
	return (uint32_t)bisect(index->cuts, (size_t)index->pieces + 1, sizeof(*index->cuts),
		is_at_or_below, &address);
}

static void make_cuts(struct mapindex *index, uint32_t count)
{
	uint32_t i, n = 0;

	index->cuts = g_new(uint64_t, 2 * (size_t)count);
	for (i = 0; i < count; i++) {
		index->cuts[2 * (size_t)i] = index->mappings[i].start;
		index->cuts[2 * (size_t)i + 1] = index->mappings[i].end;
	}
	qsort(index->cuts, 2 * (size_t)count, sizeof(uint64_t), compare_u64);
	for (i = 0; i < 2 * count; i++) {
		if (!n || index->cuts[n - 1] != index->cuts[i])
			index->cuts[n++] = index->cuts[i];
	}
	index->pieces = n ? n - 1 : 0;
}

/*
 * Visits the nodes that together make up a mapping, and counts it in ends[node]. In the second pass
 * (entries is set) it also enters the mapping at the node's end.
 */
static void cover_nodes(struct mapindex *index, uint32_t mapping, size_t *ends)
{
	const struct mapindex_mapping *m = &index->mappings[mapping];
	size_t low = count_cuts(index, m->start) - 1 + (size_t)index->pieces;
	size_t high = count_cuts(index, m->end) - 1 + (size_t)index->pieces;

	for (; low < high; low /= 2, high /= 2) {
		if (low & 1) {
			if (index->entries)
				index->entries[ends[low]] = mapping;
			ends[low++]++;
		}
		if (high & 1) {
			high--;
			if (index->entries)
				index->entries[ends[high]] = mapping;
			ends[high]++;
		}
	}
}

struct mapindex *mapindex_create(const struct mapindex_mapping *mappings, uint32_t count)
{
	struct mapindex *index = g_new0(struct mapindex, 1);
	size_t nodes, n, sum = 0;
	g_autofree size_t *ends = NULL;
	uint32_t i;

	index->mappings = mappings;
	if (!count)
		return index;
	make_cuts(index, count);
	nodes = 2 * (size_t)index->pieces;
	ends = g_new0(size_t, nodes + 1);
	for (i = 0; i < count; i++) {
		if (mappings[i].start < mappings[i].end)
			cover_nodes(index, i, ends);
	}
	index->first = g_new(size_t, nodes + 1);
	for (n = 0; n < nodes; n++) {
		index->first[n] = sum;
		sum += ends[n];
		ends[n] = index->first[n];
	}
	index->first[nodes] = sum;
	index->entries = g_new(uint32_t, sum + 1);
	for (i = 0; i < count; i++) {
		if (mappings[i].start < mappings[i].end)
			cover_nodes(index, i, ends);
	}
	return index;
}

void mapindex_destroy(struct mapindex *index)
{
	if (!index)
		return;
	g_free(index->cuts);
	g_free(index->first);
	g_free(index->entries);
	g_free(index);
}

/* The node of the piece that contains the address; 0 if there is none. */
static size_t find_leaf(const struct mapindex *index, uint64_t address)
{
	uint32_t cuts;

	if (!index->pieces)
		return 0;
	cuts = count_cuts(index, address);
	if (!cuts || cuts > index->pieces)
		return 0;
	return (size_t)index->pieces + cuts - 1;
}

struct mapindex_key {
	const struct mapindex_mapping *mappings;
	uint64_t time_ns;
};

static bool is_made_by(const void *entry, const void *key)
{
	const struct mapindex_key *k = key;

	return k->mappings[*(const uint32_t *)entry].time_ns <= k->time_ns;
}

const struct mapindex_mapping *mapindex_find(const struct mapindex *index, uint64_t address,
	uint64_t time, uint64_t *from, uint64_t *to)
{
	const struct mapindex_key key = {index->mappings, time};
	const struct mapindex_mapping *best = NULL;
	size_t node;

	*from = 0;
	*to = UINT64_MAX;
	for (node = find_leaf(index, address); node; node /= 2) {
		const uint32_t *entries = &index->entries[index->first[node]];
		size_t count = index->first[node + 1] - index->first[node];
		size_t made = bisect(entries, count, sizeof(*entries), is_made_by, &key);
		const struct mapindex_mapping *m;

		if (made < count)
			*to = MIN(*to, index->mappings[entries[made]].time_ns);
		if (!made)
			continue;
		m = &index->mappings[entries[made - 1]];
		/* the caller's array is sorted by time, then by the order in the stream */
		if (!best || m > best)
			best = m;
	}
	if (best)
		*from = best->time_ns;
	return best;
}

const struct mapindex_mapping *mapindex_find_earliest(const struct mapindex *index,
	uint64_t address)
{
	const struct mapindex_mapping *best = NULL;
	size_t node;

	for (node = find_leaf(index, address); node; node /= 2) {
		const struct mapindex_mapping *m;

		if (index->first[node] == index->first[node + 1])
			continue;
		m = &index->mappings[index->entries[index->first[node]]];
		if (!best || m < best)
			best = m;
	}
	return best;
}
