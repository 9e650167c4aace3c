/* SPDX-License-Identifier: MIT */
/* The stacks of a profile as one tree of functions: see calltree.h. */
#include "formats/calltree.h"

#include <errno.h>
#include <string.h>

#include "capture/table.h"

/* Cancellation is checked once for this many cells counted or nodes sorted. */
#define CANCEL_CELLS 1024
#define NODES_PER_LOOK 16384

#define FULL UINT32_MAX /* instead of a node: the tree has CALLTREE_NODES_MAX already */

/* The node of a stack in the tree, below one process of one event. */
struct calltree_known {
	uint32_t process; /* a node of the tree */
	uint32_t stack;	  /* a node of the profile's stacks */
	uint32_t node;	  /* of the tree */
};

struct calltree_builder {
	const struct view_input *input;
	struct calltree *tree;
	struct table node_table;
	GArray *known; /* struct known */
	struct table known_table;
	bool away;     /* the current cell is of times away from the CPU */
	bool waker;    /* the current frame is of the task that ended it */
	uint32_t *path; /* of the current stack, UINT16_MAX nodes at most */
};

static struct calltree_node *node_of(struct calltree *tree, uint32_t node)
{
	return &g_array_index(tree->nodes, struct calltree_node, node);
}

static struct calltree_node *node_at(struct calltree_builder *b, uint32_t node)
{
	return &g_array_index(b->tree->nodes, struct calltree_node, node);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool equal_node(const void *items, uint32_t i, const void *key)
{
	const struct calltree_node *a = (const struct calltree_node *)items + i, *b = key;

	return a->parent == b->parent && a->what == b->what && a->kind == b->kind && a->away == b->away &&
	       a->waker == b->waker;
}

/* The child of a node with this kind and `what`; FULL: there is no room for a new one. */
static uint32_t push(
	struct calltree_builder *b, uint32_t parent, enum calltree_kind kind, uint32_t what)
{
	const struct calltree_node key = { .parent = parent, .kind = kind, .what = what, .away = b->away,
		.waker = b->waker };
	uint32_t hash = table_hash(parent, (uint64_t)what << 4 | (uint64_t)b->away << 3 | kind);
	GArray *nodes = b->tree->nodes;
	uint32_t i;

	if (parent == FULL)
		return FULL;
	i = table_find(&b->node_table, hash, equal_node, nodes->data, &key);
	if (i == TABLE_NONE) {
		i = nodes->len;
		if (i >= CALLTREE_NODES_MAX)
			return FULL;
		g_array_append_val(nodes, key);
		table_add(&b->node_table, hash, i);
	}
	return i;
}

/* The function of a stack's node, below a node of the tree. */
static uint32_t push_function(struct calltree_builder *b, uint32_t parent, uint32_t place)
{
	bool kernel = profile_place(b->input->profile, place)->kernel;

	return push(b, parent, kernel ? CALLTREE_KERNEL : CALLTREE_USER,
		b->tree->function_of[b->input->functions->of_place[place]]);
}

static uint32_t push_inlined(
	struct calltree_builder *b, uint32_t parent, uint32_t place, uint32_t i)
{
	return push(b, parent, CALLTREE_INLINED,
		b->tree->function_of[functions_inlined(b->input->functions, place, i)]);
}

/*
 * The frames of a place: its function, and below it the functions that were inlined there; or the same with
 * the innermost first.
 */
static uint32_t push_frames(struct calltree_builder *b, uint32_t parent, uint32_t place, bool inverted)
{
	uint32_t i, count = functions_inlined_count(b->input->functions, place);

	if (!inverted)
		parent = push_function(b, parent, place);
	for (i = 0; i < count; i++)
		parent = push_inlined(b, parent, place, inverted ? i : count - 1 - i);
	return inverted ? push_function(b, parent, place) : parent;
}

/* The frames of a stack's node; those of a waker are in the opposite order. */
static uint32_t push_frame(struct calltree_builder *b, uint32_t parent, uint32_t stack, bool inverted)
{
	const uint32_t place = stacks_node(&b->input->profile->stacks, stack)->place;
	uint32_t node;

	b->waker = profile_place(b->input->profile, place)->waker;
	node = push_frames(b, parent, place, inverted != b->waker);
	b->waker = false;
	return node;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Equal names of a profile are the same pointer; there are few. */
static uint32_t find_process(struct calltree_builder *b, const char *name, GHashTable *numbers)
{
	gpointer number;

	if (g_hash_table_lookup_extended(numbers, name, NULL, &number))
		return GPOINTER_TO_UINT(number);
	g_hash_table_insert(numbers, (gpointer)name, GUINT_TO_POINTER(b->tree->processes->len));
	g_ptr_array_add(b->tree->processes, (gpointer)name);
	return b->tree->processes->len - 1;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* What functions without a symbol are grouped by: the file, and whether it was replaced. */
static const char *unresolved_key(struct calltree *tree, const struct functions_function *function)
{
	g_autofree char *key = NULL;

	if (!function->replaced)
		return function->file;
	key = g_strdup_printf("%s [replaced]", function->file);
	return g_string_chunk_insert_const(tree->strings, key);
}

/*
 * Which functions count as one: those without a symbol in the same file, and with by_name those
 * with the same name in any file. Equal files and equal names are the same pointer.
 */
static void merge_functions(struct calltree *tree, bool by_name)
{
	g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
	uint32_t i, count = tree->functions->list->len;
	gpointer found;

	tree->function_of = g_new(uint32_t, count + 1);
	tree->function_names = g_new(const char *, count + 1);
	for (i = 0; i < count; i++) {
		const struct functions_function *function = functions_function(tree->functions, i);
		const char *key = NULL, *name = function->name;

		if (!function->resolved) {
			name = functions_unresolved_name(tree->strings, function);
			key = unresolved_key(tree, function);
		}
		if (by_name)
			key = name;
		tree->function_of[i] = i;
		tree->function_names[i] = name;
		if (key && g_hash_table_lookup_extended(known, key, NULL, &found))
			tree->function_of[i] = GPOINTER_TO_UINT(found);
		else if (key)
			g_hash_table_insert(known, (gpointer)key, GUINT_TO_POINTER(i));
	}
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static bool equal_known(const void *items, uint32_t i, const void *key)
{
	const struct calltree_known *a = (const struct calltree_known *)items + i, *b = key;

	return a->process == b->process && a->stack == b->stack;
}

static uint32_t hash_known(const struct calltree_known *key)
{
	return table_hash(key->process, key->stack);
}

/*
 * The node of a stack below a process. Stacks share their outer frames: known_table has those that
 * were entered before, so that only new ones are looked up.
 */
static uint32_t place_stack(struct calltree_builder *b, uint32_t process, uint32_t stack)
{
	uint32_t depth = 0, node = process, i;
	struct calltree_known key = { .process = process };

	for (; stack != STACKS_ROOT;
		stack = stacks_node(&b->input->profile->stacks, stack)->caller) {
		key.stack = stack;
		i = table_find(&b->known_table, hash_known(&key), equal_known, b->known->data,
			&key);
		if (i != TABLE_NONE) {
			node = g_array_index(b->known, struct calltree_known, i).node;
			break;
		}
		b->path[depth++] = stack;
	}
	while (depth) {
		key.stack = b->path[--depth];
		node = push_frame(b, node, key.stack, false);
		if (node == FULL)
			return FULL;
		key.node = node;
		table_add(&b->known_table, hash_known(&key), b->known->len);
		g_array_append_val(b->known, key);
	}
	return node;
}

/* The node of the process at the end of a stack, below its functions, innermost first. */
static uint32_t place_inverted(
	struct calltree_builder *b, uint32_t event, uint32_t process, uint32_t stack)
{
	uint32_t node = event;

	for (; stack != STACKS_ROOT; stack = stacks_node(&b->input->profile->stacks, stack)->caller)
		node = push_frame(b, node, stack, true);
	return push(b, node, CALLTREE_PROCESS, process);
}

static int count_cells(struct calltree_builder *b, bool inverted, struct err *err)
{
	g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);
	const struct profile *profile = b->input->profile;
	uint32_t i, node, process;

	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);

		if (i % CANCEL_CELLS == 0 && view_cancelled(b->input))
			return -EINTR;
		if (cell->flags & (PROFILE_IDLE | PROFILE_OWN))
			continue;
		b->away = cell->flags & PROFILE_AWAY;
		process = find_process(b, cell->name, numbers);
		if (inverted)
			node = place_inverted(b, cell->event, process, cell->node);
		else
			node = place_stack(b, push(b, cell->event, CALLTREE_PROCESS, process),
				cell->node);
		if (node == FULL)
			return err_set(err, EFBIG,
				"the stacks have more than %u different frames, the limit: record for"
				" a shorter time, or with a smaller DEPTH",
				CALLTREE_NODES_MAX);
		profile_add(&node_at(b, node)->self, cell->count.samples, cell->count.weight);
		if (b->tree->of_cell)
			b->tree->of_cell[i] = node;
	}
	return 0;
}

/* ---- totals and order ------------------------------------------------------------------------ */

/* Children have larger numbers than their parents. */
static void add_totals(struct calltree *tree)
{
	uint32_t i = tree->nodes->len;

	while (i--) {
		struct calltree_node *node = node_of(tree, i);
		struct calltree_node *parent = node_of(tree, node->parent);

		profile_add(&node->total, node->self.samples, node->self.weight);
		if (node->kind == CALLTREE_EVENT)
			continue;
		profile_add(&parent->total, node->total.samples, node->total.weight);
		parent->count++;
	}
}

static int compare_names(const struct calltree *tree, const struct calltree_node *a,
	const struct calltree_node *b)
{
	int ret = strcmp(calltree_name(tree, a), calltree_name(tree, b));

	if (!ret)
		ret = strcmp(calltree_file(tree, a), calltree_file(tree, b));
	return ret ? ret : (a->kind > b->kind) - (a->kind < b->kind);
}

/* Hottest first; equally hot ones by name, so that the order is always the same. */
static int compare_siblings(const void *x, const void *y, void *arg)
{
	const struct calltree *tree = arg;
	const struct calltree_node *a = calltree_node(tree, *(const uint32_t *)x);
	const struct calltree_node *b = calltree_node(tree, *(const uint32_t *)y);

	if (a->total.weight != b->total.weight)
		return a->total.weight > b->total.weight ? -1 : 1;
	if (a->total.samples != b->total.samples)
		return a->total.samples > b->total.samples ? -1 : 1;
	return compare_names(tree, a, b);
}

/* Groups the nodes by parent, then sorts each group. */
static int sort_children(struct calltree *tree, const struct view_input *input)
{
	uint32_t i, sum = 0, events = tree->profile->events->len;

	tree->order = g_new(uint32_t, tree->nodes->len + 1);
	for (i = 0; i < tree->nodes->len; i++) {
		node_of(tree, i)->children = sum;
		sum += node_of(tree, i)->count;
		node_of(tree, i)->count = 0;
	}
	for (i = events; i < tree->nodes->len; i++) {
		struct calltree_node *parent = node_of(tree, node_of(tree, i)->parent);

		tree->order[parent->children + parent->count++] = i;
	}
	for (i = 0; i < tree->nodes->len; i++) {
		if (i % NODES_PER_LOOK == 0 && input && view_cancelled(input))
			return -EINTR;
		if (node_of(tree, i)->count > 1)
			g_qsort_with_data(tree->order + node_of(tree, i)->children,
				(gint)node_of(tree, i)->count, sizeof(uint32_t), compare_siblings,
				tree);
	}
	return 0;
}

int calltree_finish(struct calltree *tree, const struct view_input *input)
{
	add_totals(tree);
	return sort_children(tree, input);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_events(struct calltree_builder *b)
{
	uint32_t i;

	for (i = 0; i < b->input->profile->events->len; i++) {
		struct calltree_node node = { .parent = i, .what = i, .kind = CALLTREE_EVENT };

		g_array_append_val(b->tree->nodes, node);
	}
}

int calltree_create(const struct view_input *input, const struct calltree_options *options,
	struct calltree **result, struct err *err)
{
	struct calltree *tree = g_new0(struct calltree, 1);
	struct calltree_builder b = { .input = input, .tree = tree };
	int ret;

	tree->profile = input->profile;
	tree->functions = input->functions;
	tree->nodes = g_array_new(FALSE, FALSE, sizeof(struct calltree_node));
	tree->processes = g_ptr_array_new();
	tree->strings = g_string_chunk_new(256);
	merge_functions(tree, options->by_name);
	if (options->cells) {
		tree->of_cell = g_new(uint32_t, input->profile->cells->len + 1);
		memset(tree->of_cell, 0xff, input->profile->cells->len * sizeof(uint32_t));
	}
	b.path = g_new(uint32_t, UINT16_MAX);
	b.known = g_array_new(FALSE, FALSE, sizeof(struct calltree_known));
	add_events(&b);
	ret = count_cells(&b, options->inverted, err);
	g_free(b.path);
	g_array_free(b.known, TRUE);
	table_fini(&b.known_table);
	table_fini(&b.node_table);
	if (!ret)
		ret = calltree_finish(tree, input);
	if (ret)
		calltree_destroy(tree);
	else
		*result = tree;
	return ret;
}

void calltree_destroy(struct calltree *tree)
{
	if (!tree)
		return;
	g_array_free(tree->nodes, TRUE);
	g_ptr_array_free(tree->processes, TRUE);
	g_string_chunk_free(tree->strings);
	g_free(tree->of_cell);
	g_free(tree->function_of);
	g_free(tree->function_names);
	g_free(tree->order);
	g_free(tree);
}

struct profile_count calltree_sum(const struct calltree *tree, const struct calltree_node *node,
	uint32_t from)
{
	struct profile_count sum = { 0 };

	for (; from < node->count; from++) {
		const struct profile_count *child =
			&calltree_node(tree, calltree_child(tree, node, from))->total;

		profile_add(&sum, child->samples, child->weight);
	}
	return sum;
}

/* ---- walks ----------------------------------------------------------------------------------- */

void calltree_walk_init(struct calltree_walk *walk, const struct calltree *tree, uint32_t top)
{
	struct calltree_step step = { .node = top };

	walk->tree = tree;
	walk->steps = g_array_new(FALSE, FALSE, sizeof(step));
	walk->started = false;
	walk->descend = true;
	g_array_append_val(walk->steps, step);
}

void calltree_walk_fini(struct calltree_walk *walk)
{
	g_array_free(walk->steps, TRUE);
	walk->steps = NULL;
}

bool calltree_walk_next(struct calltree_walk *walk, uint32_t *node, uint32_t *depth)
{
	struct calltree_step *last, step = { 0 };

	if (!walk->started) {
		walk->started = true;
		*node = g_array_index(walk->steps, struct calltree_step, 0).node;
		*depth = 0;
		return true;
	}
	if (!walk->descend)
		g_array_set_size(walk->steps, walk->steps->len - 1);
	walk->descend = true;
	while (walk->steps->len) {
		const struct calltree_node *at;

		last = &g_array_index(walk->steps, struct calltree_step, walk->steps->len - 1);
		at = calltree_node(walk->tree, last->node);
		if (last->next < at->count) {
			step.node = calltree_child(walk->tree, at, last->next++);
			g_array_append_val(walk->steps, step);
			*node = step.node;
			*depth = walk->steps->len - 1;
			return true;
		}
		g_array_set_size(walk->steps, walk->steps->len - 1);
	}
	return false;
}

void calltree_walk_leave(struct calltree_walk *walk)
{
	struct calltree_step *parent;

	walk->descend = false;
	if (walk->steps->len < 2)
		return;
	parent = &g_array_index(walk->steps, struct calltree_step, walk->steps->len - 2);
	parent->next = calltree_node(walk->tree, parent->node)->count;
}

const char *calltree_name(const struct calltree *tree, const struct calltree_node *node)
{
	switch (node->kind) {
	case CALLTREE_EVENT:
		return profile_event(tree->profile, node->what)->text;
	case CALLTREE_PROCESS:
		return tree->processes->pdata[node->what];
	default:
		return tree->function_names[node->what];
	}
}

const char *calltree_file(const struct calltree *tree, const struct calltree_node *node)
{
	if (node->kind == CALLTREE_EVENT || node->kind == CALLTREE_PROCESS || !tree->functions)
		return "-";
	return functions_function(tree->functions, node->what)->file;
}
