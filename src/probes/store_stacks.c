/* SPDX-License-Identifier: MIT */
/* The stacks of one program: a map that has the frames of each hash in keys and values of the other maps. */
#include "probes/store_state.h"

#include <string.h>

#include "bpf/map.h"

uint32_t store_stack(const struct store *store, uint64_t hash, uint64_t *frames, uint32_t most)
{
	struct gen_stack stack;
	uint32_t count;

	if (map_lookup(store->stacks_fd, &hash, &stack))
		return 0;
	count = (uint32_t)MIN(stack.count, (uint64_t)MIN(most, AST_FRAMES_MAX));
	memcpy(frames, stack.frames, count * sizeof(*frames));
	return count;
}

/* ---- sweeping ---------------------------------------------------------------------------------- */

/* Adds the hashes of stacks in a value of this type. */
static void add_hashes(const struct ast_type *type, const char *data, GHashTable *hashes)
{
	uint64_t hash;

	if (type->kind == AST_KSTACK || type->kind == AST_USTACK) {
		memcpy(&hash, data, sizeof(hash));
		g_hash_table_add(hashes, g_memdup2(&hash, sizeof(hash)));
	}
	for (uint32_t i = 0; type->kind == AST_TUPLE && i < type->count; i++) {
		add_hashes(&type->parts[i], data, hashes);
		data += layout_bytes(&type->parts[i]);
	}
}

bool store_has_stacks(const struct ast_map *map)
{
	bool has = map->value_kind == AST_PLAIN && layout_has_stack(&map->value);

	for (uint32_t i = 0; i < map->key_count; i++)
		has = has || layout_has_stack(&map->keys[i]);
	return has;
}

static void add_map(const struct store *store, const struct ast_map *map, GHashTable *hashes)
{
	const uint32_t offset = layout_plain_offset(store_layout(store, map));
	const bool in_value = map->value_kind == AST_PLAIN && layout_has_stack(&map->value);
	g_autoptr(GArray) entries = NULL;

	if (!store_has_stacks(map))
		return;
	entries = store_read(store, map);
	for (guint i = 0; i < entries->len; i++) {
		const struct store_entry *entry = &g_array_index(entries, struct store_entry, i);
		const char *key = entry->key;

		for (uint32_t k = 0; k < map->key_count; k++) {
			add_hashes(&map->keys[k], key, hashes);
			key += layout_bytes(&map->keys[k]);
		}
		if (in_value)
			add_hashes(&map->value, entry->value + offset, hashes);
	}
}

/* The hashes that are in a key or a value now. */
static GHashTable *used_hashes(const struct store *store)
{
	GHashTable *hashes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

	for (const struct ast_map *map = store->ast->maps; map; map = map->next)
		add_map(store, map, hashes);
	return hashes;
}

/* Takes out of the map those that are not used: hash -> struct gen_stack. */
static GHashTable *take_unused(const struct store *store, GHashTable *used)
{
	GHashTable *taken = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	g_autoptr(GArray) hashes = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	uint64_t hash, *at = NULL;

	while (hashes->len < store->keys && !map_next_key(store->stacks_fd, at, &hash)) {
		g_array_append_val(hashes, hash);
		at = &g_array_index(hashes, uint64_t, hashes->len - 1);
	}
	for (guint i = 0; i < hashes->len; i++) {
		const uint64_t *one = &g_array_index(hashes, uint64_t, i);
		struct gen_stack stack;

		if (g_hash_table_contains(used, one) || map_lookup(store->stacks_fd, one, &stack))
			continue;
		map_delete(store->stacks_fd, one);
		g_hash_table_insert(taken, g_memdup2(one, sizeof(*one)), g_memdup2(&stack, sizeof(stack)));
	}
	return taken;
}

/* A program that saw the stack in the map may have made a key of it meanwhile: then it is put back. */
void store_sweep(struct store *store)
{
	g_autoptr(GHashTable) used = NULL, taken = NULL, after = NULL;
	GHashTableIter iter;
	void *hash, *stack;

	pthread_mutex_lock(&store->sweeping);
	used = used_hashes(store);
	taken = take_unused(store, used);
	after = g_hash_table_size(taken) ? used_hashes(store) : NULL;
	g_hash_table_iter_init(&iter, taken);
	while (after && g_hash_table_iter_next(&iter, &hash, &stack))
		if (g_hash_table_contains(after, hash))
			map_update(store->stacks_fd, hash, stack, BPF_ANY);
	pthread_mutex_unlock(&store->sweeping);
}
