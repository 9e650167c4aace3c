/* SPDX-License-Identifier: MIT */
/* The members of struct store, for store*.c. */
#ifndef KPROFS_PROBES_STORE_STATE_H
#define KPROFS_PROBES_STORE_STATE_H

#include <pthread.h>

#include "probes/store.h"

/* The cache of a map, shared with the programs; all 0 where the layout has none. */
struct store_cache {
	uint64_t *generation;
	const char *slots;
	size_t bytes; /* of both */
};

/* Invariant, but what the maps hold. */
struct store {
	const struct ast *ast;
	uint32_t keys;
	uint32_t cpus, cpu_slots; /* that can ever be there; the same as a power of two */
	uint64_t bytes, stack_bytes;
	uint64_t ready_bytes, ready_most;
	int *maps, *cache_fds;
	struct store_cache *caches;
	uint32_t cached; /* maps that have one */
	struct layout_map *layouts;
	int control_fd, counts_fd, zeros_fd, stacks_fd;
	struct gen_control *control; /* shared with the programs */
	struct gen_counts *counts;
	size_t counts_bytes;
	pthread_mutex_t sweeping; /* outer: of the map of stacks */
};

/* store.c: all keys of a map, which are to be freed with the array. */
GPtrArray *store_keys(const struct store *store, const struct ast_map *map);
/* Adds the value of a CPU to that of all. */
void store_add_cpu(const struct ast_map *map, const struct layout_map *layout, const uint64_t *values,
	uint64_t *sum);
/* An array map with one value, which is mapped into memory, writable: munmap(2). */
int store_create_shared(const char *name, size_t bytes, int *fd, void **memory, struct err *err);

/* store_cache.c */
uint64_t store_cache_bytes(const struct store *store, const struct layout_map *layout);
int store_cache_create(struct store *store, const struct ast_map *map, struct err *err);
void store_cache_destroy(struct store *store, uint32_t number);
/* What the cache has of each key, of all CPUs: GBytes -> uint64_t[]. */
GHashTable *store_cache_values(const struct store *store, const struct ast_map *map);
/* Frees all slots. The hash map is emptied before: a program adds a key to it before it takes a slot. */
void store_cache_clear(struct store *store, const struct ast_map *map);

/* store_stacks.c: whether keys or values of a map are stacks. */
bool store_has_stacks(const struct ast_map *map);

#endif
