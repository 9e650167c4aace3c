/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a profile as one tree of functions, for views that show who called whom: an event
 * at the top, below it processes, below these their functions, each called by the one above it.
 * Stacks that differ only in where inside of the same functions they were are one; addresses
 * without a symbol count as one function a file, named `[FILE]`, else `[unknown]`. Turned round,
 * the functions in which samples were taken stand below the event, and below each function its
 * callers, the last of which is the process.
 *
 * Samples of the idle task and of the server itself are not in it. Thread-safe once made.
 */
#ifndef KPROFS_FORMATS_CALLTREE_H
#define KPROFS_FORMATS_CALLTREE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/functions.h"
#include "capture/profile.h"
#include "formats/view.h"

/*
 * A tree takes about 60 bytes a node: some 240 MiB at most. A capture of 64 MiB in which no two
 * frames are the same has twice as many; a real one of that size has a hundredth.
 */
#define CALLTREE_NODES_MAX (4u << 20)

enum calltree_kind {
	CALLTREE_EVENT,
	CALLTREE_PROCESS,
	CALLTREE_USER,
	CALLTREE_KERNEL,
	CALLTREE_INLINED,
};

struct calltree_node {
	uint32_t parent;   /* a smaller number; of an event itself */
	uint32_t what; /* by kind: event of the profile, process of the tree, function of names */
	uint32_t children; /* the first one's place in calltree.order */
	uint32_t count;	   /* of children */
	enum calltree_kind kind;
	struct profile_count self;  /* met in this node itself */
	struct profile_count total; /* and below it */
};

struct calltree {
	const struct profile *profile;
	const struct functions *names;
	GArray *nodes;	      /* struct calltree_node; the events first, one each */
	uint32_t *order;      /* all but the events: siblings side by side, hottest first */
	GPtrArray *processes; /* names, the profile's */
	/* by function of names: the one that stands for it, and its name */
	uint32_t *function_of;
	const char **function_names;
	GStringChunk *strings;
};

struct calltree_options {
	bool inverted; /* callers below the functions that they call */
	bool by_name;  /* functions of one name are one, whatever their files are */
};

/*
 * Counts all cells. -EINTR: the view was cancelled; -EFBIG: more nodes than CALLTREE_NODES_MAX,
 * said in *err. The input's profile and names must outlive the tree.
 */
int calltree_create(const struct view_input *input, const struct calltree_options *options,
	struct calltree **tree, struct err *err);
void calltree_destroy(struct calltree *tree);

static inline const struct calltree_node *calltree_node(const struct calltree *tree, uint32_t node)
{
	return &g_array_index(tree->nodes, struct calltree_node, node);
}

/* The i-th child of a node, i < count. */
static inline uint32_t calltree_child(const struct calltree *tree, const struct calltree_node *node,
	uint32_t i)
{
	return tree->order[node->children + i];
}

/*
 * A walk over a node and all below it, each node before its children, these hottest first. However
 * deep the tree is, it takes memory and not the thread's stack.
 */
struct calltree_walk {
	const struct calltree *tree;
	GArray *steps; /* struct calltree_step: from the top to the node at hand */
	bool started;
	bool descend;  /* into the node at hand; the caller may clear it, for that node only */
};

struct calltree_step {
	uint32_t node;
	uint32_t next; /* child to come, as a number below count */
};

void calltree_walk_init(struct calltree_walk *walk, const struct calltree *tree, uint32_t top);
void calltree_walk_fini(struct calltree_walk *walk);

/* The next node, the first time the top; false: there is none. *depth is 0 for the top. */
bool calltree_walk_next(struct calltree_walk *walk, uint32_t *node, uint32_t *depth);

/* The node at hand is not entered, and its siblings to come are passed over. */
void calltree_walk_leave(struct calltree_walk *walk);

/* Text of the event, name of the process or of the function; as they are, not made printable. */
const char *calltree_name(const struct calltree *tree, const struct calltree_node *node);

/* Path of the function's file, "-" where there is none and for what is no function. */
const char *calltree_file(const struct calltree *tree, const struct calltree_node *node);

#endif
