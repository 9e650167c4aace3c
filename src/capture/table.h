/* SPDX-License-Identifier: MIT */
/*
 * A hash table from keys to indexes of an array that the caller keeps. With it each string, place,
 * stack and cell of a profile exists once. Eight bytes a slot, at most three quarters full.
 *
 * The keys stay in the caller's array: a lookup passes the hash and a function that compares the
 * key with entry i. It is in a header so that the comparison is inlined. One thread at a time.
 */
#ifndef KPROFS_CAPTURE_TABLE_H
#define KPROFS_CAPTURE_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define TABLE_NONE UINT32_MAX

struct table_slot {
	uint32_t hash;
	uint32_t index; /* TABLE_NONE: free */
};

struct table {
	struct table_slot *slots;
	uint32_t mask;
	uint32_t used;
};

typedef bool table_equal(const void *items, uint32_t i, const void *key);

/* Mixes two words. The table only needs the low bits to be well distributed. */
static inline uint32_t table_hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15ull;

	h ^= h >> 29;
	h = (h + b) * 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(h >> 32);
}

static inline void table_fini(struct table *table)
{
	g_free(table->slots);
	table->slots = NULL;
	table->mask = table->used = 0;
}

static inline void table_put(struct table *table, uint32_t hash, uint32_t index)
{
	uint32_t at = hash & table->mask;

	while (table->slots[at].index != TABLE_NONE)
		at = (at + 1) & table->mask;
	table->slots[at].hash = hash;
	table->slots[at].index = index;
}

static inline void table_grow(struct table *table)
{
	struct table_slot *old = table->slots;
	uint32_t count = old ? table->mask + 1 : 0, i;
	uint32_t bigger = count ? count * 2 : 64;

	table->slots = g_new(struct table_slot, bigger);
	table->mask = bigger - 1;
	for (i = 0; i < bigger; i++)
		table->slots[i].index = TABLE_NONE;
	for (i = 0; i < count; i++) {
		if (old[i].index != TABLE_NONE)
			table_put(table, old[i].hash, old[i].index);
	}
	g_free(old);
}

/* The index of the entry whose key is `key`; TABLE_NONE if there is none. */
static inline uint32_t table_find(const struct table *table, uint32_t hash, table_equal *equal,
	const void *items, const void *key)
{
	uint32_t at;

	if (!table->slots)
		return TABLE_NONE;
	for (at = hash & table->mask; table->slots[at].index != TABLE_NONE;
		at = (at + 1) & table->mask) {
		if (table->slots[at].hash == hash && equal(items, table->slots[at].index, key))
			return table->slots[at].index;
	}
	return TABLE_NONE;
}

/* Adds an index with its hash; the key must not be in the table yet. */
static inline void table_add(struct table *table, uint32_t hash, uint32_t index)
{
	if (!table->slots || table->used >= table->mask / 4 * 3)
		table_grow(table);
	table_put(table, hash, index);
	table->used++;
}

/*
 * The index of the entry of `items` whose key is that of `item`. If there is none, adds the item,
 * whose index is then the previous length of `items`.
 */
static inline uint32_t table_intern(
	struct table *table, GArray *items, uint32_t hash, table_equal *equal, const void *item)
{
	uint32_t i = table_find(table, hash, equal, items->data, item);

	if (i == TABLE_NONE) {
		i = items->len;
		g_array_append_vals(items, item, 1);
		table_add(table, hash, i);
	}
	return i;
}

#endif
