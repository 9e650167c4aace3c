/* SPDX-License-Identifier: MIT */
/* A small map from two words to a third: see pairs.h. */
#include "capture/pairs.h"

void pairs_init(struct pairs *pairs)
{
	*pairs = (struct pairs){ .array = g_array_new(FALSE, FALSE, sizeof(struct pair)) };
}

void pairs_fini(struct pairs *pairs)
{
	g_array_free(pairs->array, TRUE);
	pairs->array = NULL;
	table_fini(&pairs->table);
}

void pairs_clear(struct pairs *pairs)
{
	if (!pairs->array->len)
		return;
	g_array_set_size(pairs->array, 0);
	table_fini(&pairs->table);
}

static bool equal_pair(const void *items, uint32_t i, const void *key)
{
	const struct pair *x = (const struct pair *)items + i, *y = key;

	return x->a == y->a && x->b == y->b;
}

static uint32_t find_index(const struct pairs *pairs, uint64_t a, uint64_t b)
{
	struct pair key = { a, b, 0 };

	return table_find(&pairs->table, table_hash(a, b), equal_pair, pairs->array->data, &key);
}

const uint64_t *pairs_find(const struct pairs *pairs, uint64_t a, uint64_t b)
{
	uint32_t i = find_index(pairs, a, b);

	return i == TABLE_NONE ? NULL : &pairs_at(pairs, i)->value;
}

void pairs_set(struct pairs *pairs, uint64_t a, uint64_t b, uint64_t value)
{
	struct pair added = { a, b, value };
	uint32_t i = find_index(pairs, a, b);

	if (i != TABLE_NONE) {
		g_array_index(pairs->array, struct pair, i).value = value;
		return;
	}
	table_add(&pairs->table, table_hash(a, b), pairs->array->len);
	g_array_append_val(pairs->array, added);
}
