/* SPDX-License-Identifier: MIT */
/* All stacks of a profile as one tree: see stacks.h. */
#include "capture/stacks.h"

void stacks_init(struct stacks *stacks)
{
	struct stacks_node root = { 0, 0 };

	*stacks = (struct stacks){ .nodes = g_array_new(FALSE, FALSE, sizeof(root)) };
	g_array_append_val(stacks->nodes, root);
}

void stacks_fini(struct stacks *stacks)
{
	g_array_free(stacks->nodes, TRUE);
	stacks->nodes = NULL;
	table_fini(&stacks->table);
}

static bool equal_node(const void *items, uint32_t i, const void *key)
{
	const struct stacks_node *a = (const struct stacks_node *)items + i, *b = key;

	return a->caller == b->caller && a->place == b->place;
}

uint32_t stacks_push(struct stacks *stacks, uint32_t caller, uint32_t place)
{
	struct stacks_node key = {caller, place};

	return table_intern(
		&stacks->table, stacks->nodes, table_hash(caller, place), equal_node, &key);
}
