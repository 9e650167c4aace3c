/* SPDX-License-Identifier: MIT */
/* A small map from a pair of numbers to a third: see pair_map.h. */
#include "capture/pair_map.h"

void pair_map_init(struct pair_map *map)
{
	*map = (struct pair_map){
		.array = g_array_new(FALSE, FALSE, sizeof(struct pair_map_entry))};
}

void pair_map_fini(struct pair_map *map)
{
	g_array_free(map->array, TRUE);
	map->array = NULL;
	table_fini(&map->table);
}

void pair_map_clear(struct pair_map *map)
{
	if (!map->array->len)
		return;
	g_array_set_size(map->array, 0);
	table_fini(&map->table);
}

static bool equal_pair(const void *items, uint32_t i, const void *key)
{
	const struct pair_map_entry *x = (const struct pair_map_entry *)items + i, *y = key;

	return x->a == y->a && x->b == y->b;
}

const uint64_t *pair_map_find(const struct pair_map *map, uint64_t a, uint64_t b)
{
	struct pair_map_entry key = {a, b, 0};
	uint32_t i = table_find(&map->table, table_hash(a, b), equal_pair, map->array->data, &key);

	return i == TABLE_NONE ? NULL : &pair_map_at(map, i)->value;
}

void pair_map_set(struct pair_map *map, uint64_t a, uint64_t b, uint64_t value)
{
	struct pair_map_entry added = {a, b, value};
	uint32_t i = table_intern(&map->table, map->array, table_hash(a, b), equal_pair, &added);

	g_array_index(map->array, struct pair_map_entry, i).value = value;
}
