/* SPDX-License-Identifier: MIT */
/* The members of struct store, for store*.c. */
#ifndef KPROFS_PROBES_STORE_STATE_H
#define KPROFS_PROBES_STORE_STATE_H

#include <pthread.h>

#include "probes/store.h"

/* Invariant, but what the maps hold. */
struct store {
	const struct ast *ast;
	uint32_t keys;
	uint32_t cpus, cpu_slots; /* that can ever be there; the same as a power of two */
	uint64_t bytes, stack_bytes;
	uint64_t ready_bytes, ready_most;
	int *maps;
	struct layout_map *layouts;
	int control_fd, counts_fd, zeros_fd, stacks_fd;
	struct gen_control *control; /* shared with the programs */
	struct gen_counts *counts;
	size_t counts_bytes;
	pthread_mutex_t sweeping; /* outer: of the map of stacks */
};

/* store.c: all keys of a map, which are to be freed with the array. */
GPtrArray *store_keys(const struct store *store, const struct ast_map *map);

/* store_stacks.c: whether keys or values of a map are stacks. */
bool store_has_stacks(const struct ast_map *map);

#endif
