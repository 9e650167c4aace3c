/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a profile as one tree of functions, for views that show callers and callees: an
 * event at the top, below it processes, below these their functions, each called by the one above
 * it. Stacks with different addresses inside of the same functions are one. All addresses of a file
 * without a symbol are one function, named `[FILE]`; without a file it is `[unknown]`. In an
 * inverted tree the functions in which samples were taken are below the event, and below each
 * function its callers, the last of which is the process.
 *
 * Samples of the idle task and of the server itself are not in it. Thread-safe once created.
 */
#ifndef KPROFS_FORMATS_CALLTREE_H
#define KPROFS_FORMATS_CALLTREE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/functions.h"
#include "capture/profile.h"
#include "formats/view_input.h"

/*
 * A tree takes about 60 bytes a node: some 240 MiB at most. A capture of 64 MiB in which all frames
 * are different has twice as many nodes; a real one of that size has a hundredth.
 */
#define CALLTREE_NODES_MAX (4u << 20)

#define CALLTREE_NO_NODE UINT32_MAX

enum calltree_kind {
	CALLTREE_EVENT,
	CALLTREE_PROCESS,
	CALLTREE_USER,
	CALLTREE_KERNEL,
	CALLTREE_INLINED,
};

struct calltree_node {
	uint32_t parent;   /* a smaller number; of an event its own number */
	uint32_t what; /* by kind: index of the profile's event, tree's process, or function */
	uint32_t children; /* index of the first one in calltree.order */
	uint32_t count;	   /* of children */
	enum calltree_kind kind;
	bool away; /* of times away from the CPU */
	bool waker; /* of the task that ended it, called by what is below; or a text beside it (profile.h) */
	struct profile_count self;  /* samples in this node itself */
	struct profile_count total; /* samples in it and below it */
};

struct calltree {
	const struct profile *profile;
	const struct functions *functions; /* NULL: of another source (stackmap.h) */
	GArray *nodes;	      /* struct calltree_node; the events come first */
	uint32_t *order;      /* all but the events: siblings next to each other, hottest first */
	uint32_t *of_cell;    /* with options.cells: the node of each cell of the profile */
	GPtrArray *processes; /* names, owned by the profile */
	/* by index of a function: the function that represents it, and its name */
	uint32_t *function_of;
	const char **function_names;
	GStringChunk *strings;
};

struct calltree_options {
	bool inverted; /* callers below the functions that they call */
	bool cells;    /* keep of which node each cell is; CALLTREE_NO_NODE: of none */
	bool by_name;  /* functions with the same name are one, whatever their files are */
};

/*
 * Counts all cells. Returns -EINTR if the view was cancelled, -EFBIG if there are more nodes than
 * CALLTREE_NODES_MAX; *err then has the sentence. The input's profile and functions must outlive
 * the tree.
 */
int calltree_create(const struct view_input *input, const struct calltree_options *options,
	struct calltree **tree, struct err *err);
void calltree_destroy(struct calltree *tree);
/*
 * Sets totals, children and the order of nodes whose other members are set, as the last step of a tree that
 * is made of another source: without `functions`, function_names is by node.what. input: NULL if it can't
 * be cancelled. -EINTR
 */
int calltree_finish(struct calltree *tree, const struct view_input *input);

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

/* Returns the sum of the children of a node from `from` on. */
struct profile_count calltree_sum(const struct calltree *tree, const struct calltree_node *node,
	uint32_t from);

/*
 * A walk over a node and all below it, each node before its children, these hottest first. It is
 * not recursive: a deep tree takes heap memory and not the thread's stack.
 */
struct calltree_walk {
	const struct calltree *tree;
	GArray *steps; /* struct calltree_step: from the top to the current node */
	bool started;
	bool descend;  /* into the current node; the caller may clear it, for that node only */
};

struct calltree_step {
	uint32_t node;
	uint32_t next; /* index of the next child, below count */
};

void calltree_walk_init(struct calltree_walk *walk, const struct calltree *tree, uint32_t top);
void calltree_walk_fini(struct calltree_walk *walk);

/* The next node; the first call gives the top. false if there is none. *depth is 0 for the top. */
bool calltree_walk_next(struct calltree_walk *walk, uint32_t *node, uint32_t *depth);

/* Skips what is below the current node, and its next siblings. */
void calltree_walk_leave(struct calltree_walk *walk);

/* Text of the event, name of the process or of the function; not escaped. */
const char *calltree_name(const struct calltree *tree, const struct calltree_node *node);

/* Returns the path of the function's file, or "-" if it has none or the node is not a function. */
const char *calltree_file(const struct calltree *tree, const struct calltree_node *node);

#endif
