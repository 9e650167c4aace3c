/* SPDX-License-Identifier: MIT */
/*
 * A small map from a pair of numbers to a third: the last value that a stream had for a CPU and a
 * process or event. One thread at a time.
 */
#ifndef KPROFS_CAPTURE_PAIR_MAP_H
#define KPROFS_CAPTURE_PAIR_MAP_H

#include <glib.h>
#include <stdint.h>

#include "capture/table.h"

struct pair_map_entry {
	uint64_t a, b;
	uint64_t value;
};

struct pair_map {
	GArray *array; /* struct pair_map_entry */
	struct table table;
};

void pair_map_init(struct pair_map *map);
void pair_map_fini(struct pair_map *map);
void pair_map_clear(struct pair_map *map);

/* The value of (a, b); NULL if none was set. Valid until the next pair_map_set. */
const uint64_t *pair_map_find(const struct pair_map *map, uint64_t a, uint64_t b);
void pair_map_set(struct pair_map *map, uint64_t a, uint64_t b, uint64_t value);

static inline uint32_t pair_map_count(const struct pair_map *map)
{
	return map->array->len;
}

static inline const struct pair_map_entry *pair_map_at(const struct pair_map *map, uint32_t i)
{
	return &g_array_index(map->array, struct pair_map_entry, i);
}

#endif
