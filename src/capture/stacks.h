/* SPDX-License-Identifier: MIT */
/*
 * All stacks of a profile as one tree: a node is a frame below its caller. So stacks share their
 * outermost frames, and a stack is identified by one number. One thread at a time.
 */
#ifndef KPROFS_CAPTURE_STACKS_H
#define KPROFS_CAPTURE_STACKS_H

#include <glib.h>
#include <stdint.h>

#include "capture/table.h"

#define STACKS_ROOT 0u /* the root, which has no frame */

struct stacks_node {
	uint32_t caller; /* a node with a smaller number */
	uint32_t place;	 /* of the profile; not used in the root */
};

struct stacks {
	GArray *nodes; /* struct stacks_node, the first is the root */
	struct table table;
};

void stacks_init(struct stacks *stacks);
void stacks_fini(struct stacks *stacks);

/* The node of this place, called from `caller`; it is made if there is none. */
uint32_t stacks_push(struct stacks *stacks, uint32_t caller, uint32_t place);

static inline const struct stacks_node *stacks_node(const struct stacks *stacks, uint32_t node)
{
	return &g_array_index(stacks->nodes, struct stacks_node, node);
}

#endif
