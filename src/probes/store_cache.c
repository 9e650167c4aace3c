/* SPDX-License-Identifier: MIT */
/* The server's side of the caches (layout.h): programs write them, without a call of the kernel. */
#include "probes/store_state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "bpf/map.h"

static size_t slots_bytes(const struct store *store, const struct layout_map *layout)
{
	return (size_t)store->cpu_slots * layout_cache_cpu_bytes(layout);
}

uint64_t store_cache_bytes(const struct store *store, const struct layout_map *layout)
{
	return layout->cache.slots ? LAYOUT_CACHE_HEAD + slots_bytes(store, layout) : 0;
}

int store_cache_create(struct store *store, const struct ast_map *map, struct err *err)
{
	struct store_cache *cache = &store->caches[map->number];
	void *memory = NULL;
	int ret;

	cache->bytes = (size_t)store_cache_bytes(store, &store->layouts[map->number]);
	if (!cache->bytes)
		return 0;
	ret = store_create_shared("kp_cache", cache->bytes, &store->cache_fds[map->number], &memory, err);
	if (ret)
		return ret;
	cache->generation = memory;
	cache->slots = (const char *)memory + LAYOUT_CACHE_HEAD;
	*cache->generation = 1;
	return 0;
}

void store_cache_destroy(struct store *store, uint32_t number)
{
	struct store_cache *cache = &store->caches[number];

	if (cache->generation)
		munmap(cache->generation, cache->bytes);
	if (store->cache_fds[number] >= 0)
		close(store->cache_fds[number]);
}

/* Only the server changes it. Programs that have looked before count for what was cleared. */
void store_cache_clear(struct store *store, const struct ast_map *map)
{
	uint64_t *generation = store->caches[map->number].generation;

	if (generation)
		atomic_plain_add_release(generation, 1);
}

/*
 * Copies a slot; false if it is free. The program that takes a slot for a key sets its generation last, and
 * to 0 before it changes anything. It takes each slot once in a generation, so that one look behind the copy
 * is enough.
 */
static bool copy_slot(const struct layout_map *layout, const char *slot, uint64_t generation, uint64_t *copy)
{
	const uint64_t *words = (const void *)slot;
	const uint32_t count = layout_slot_bytes(layout) / sizeof(*words);

	if (atomic_plain_read_acquire(&words[0]) != generation)
		return false;
	for (uint32_t i = 1; i < count; i++)
		copy[i] = atomic_plain_read_relaxed(&words[i]);
	atomic_fence_acquire();
	return atomic_plain_read_relaxed(&words[0]) == generation;
}

/* Adds what a slot has to the value of its key. */
static void add_slot(const struct ast_map *map, const struct layout_map *layout, const char *slot,
	GHashTable *values)
{
	g_autoptr(GBytes) key = g_bytes_new(slot + LAYOUT_SLOT_KEY, layout->key_bytes);
	uint64_t *sum = g_hash_table_lookup(values, key);

	if (!sum) {
		sum = g_new0(uint64_t, layout->value_bytes / sizeof(*sum));
		g_hash_table_insert(values, g_bytes_ref(key), sum);
	}
	store_add_cpu(map, layout, (const void *)(slot + layout_slot_value(layout)), sum);
}

GHashTable *store_cache_values(const struct store *store, const struct ast_map *map)
{
	const struct layout_map *layout = &store->layouts[map->number];
	const struct store_cache *cache = &store->caches[map->number];
	GHashTable *values = g_hash_table_new_full(g_bytes_hash, g_bytes_equal,
		(GDestroyNotify)g_bytes_unref, g_free);
	g_autofree char *copy = g_malloc(layout_slot_bytes(layout));
	uint64_t generation;

	if (!cache->generation)
		return values;
	generation = atomic_plain_read_acquire(cache->generation);
	for (uint32_t cpu = 0; cpu < store->cpu_slots; cpu++) {
		const char *slot = cache->slots + (size_t)cpu * layout_cache_cpu_bytes(layout);

		for (uint32_t i = 0; i < layout->cache.slots; i++, slot += layout_slot_bytes(layout))
			if (copy_slot(layout, slot, generation, (uint64_t *)(void *)copy))
				add_slot(map, layout, copy, values);
	}
	return values;
}
