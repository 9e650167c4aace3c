/* SPDX-License-Identifier: MIT */
/*
 * Makes the rows of a browser from a tree of calls.
 *
 * A row stands for the nodes of one function: at the top those of a process, below it those above or
 * below the nodes of its parent row. The total of a recursive function is that of its outermost calls.
 */
#include "tui/rows_state.h"

#include <string.h>

#include "capture/table.h"
#include "formats/summary.h"

struct maker {
	struct rows *rows;
	GPtrArray *made;   /* struct row * */
	GHashTable *known; /* struct row_id -> struct row * */
	uint64_t key;	   /* of the row above */
	uint32_t depth;
};

/* What makes nodes one row, besides the row above it. */
struct row_id {
	uint32_t process, what, kind;
};

static guint hash_id(gconstpointer data)
{
	const struct row_id *id = data;

	return table_hash((uint64_t)id->process << 3 | id->kind, id->what);
}

static gboolean equal_ids(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct row_id)) == 0;
}

bool rows_contains(const char *text, const char *part)
{
	const size_t length = strlen(part);

	for (;; text++) {
		if (g_ascii_strncasecmp(text, part, length) == 0)
			return true;
		if (!*text)
			return false;
	}
}

void rows_free_row(gpointer data)
{
	g_autoptr(GPtrArray) left = g_ptr_array_new();
	guint i;

	g_ptr_array_add(left, data);
	while (left->len) {
		struct row *row = g_ptr_array_steal_index_fast(left, left->len - 1);

		for (i = 0; row->below && i < row->below->len; i++)
			g_ptr_array_add(left, row->below->pdata[i]);
		if (row->below)
			g_ptr_array_free(row->below, TRUE);
		g_array_free(row->parts, TRUE);
		g_free(row);
	}
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Of the names, so that it is the same in another profile. */
static uint64_t make_key(const struct maker *m, uint32_t process, const struct calltree_node *node)
{
	const struct calltree *tree = m->rows->tree;
	const char *parts[] = { process == UINT32_MAX ? "" : tree->processes->pdata[process],
		calltree_name(tree, node), calltree_file(tree, node) };
	uint64_t key = m->key * 31 + node->kind + 1;
	const char *at;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(parts); i++) {
		for (at = parts[i]; *at; at++)
			key = (key ^ (unsigned char)*at) * 0x100000001b3; /* FNV-1a */
		key = (key ^ 0xff) * 0x100000001b3;
	}
	return key;
}

/* The row for a node. process: an index, UINT32_MAX where rows are not divided by it. */
static struct row *row_for(struct maker *m, uint32_t process, uint32_t node)
{
	const struct calltree_node *n = calltree_node(m->rows->tree, node);
	const struct row_id id = { process, n->what, n->kind };
	struct row *row = g_hash_table_lookup(m->known, &id);

	if (row)
		return row;
	row = g_new0(struct row, 1);
	row->node = node;
	row->depth = m->depth;
	row->key = make_key(m, process, n);
	row->process = process == UINT32_MAX ? NULL : m->rows->tree->processes->pdata[process];
	row->parts = g_array_new(FALSE, FALSE, sizeof(struct rows_part));
	g_hash_table_insert(m->known, g_memdup2(&id, sizeof(id)), row);
	g_ptr_array_add(m->made, row);
	return row;
}

static void add_part(struct row *row, uint32_t node, const struct profile_count *count)
{
	const struct rows_part part = { node, *count };

	g_array_append_val(row->parts, part);
}

static void add(struct profile_count *to, const struct profile_count *what)
{
	profile_add(to, what->samples, what->weight);
}

static void begin(struct maker *m, struct rows *rows, const struct row *above)
{
	m->rows = rows;
	m->made = g_ptr_array_new();
	m->known = g_hash_table_new_full(hash_id, equal_ids, g_free, NULL);
	m->key = above ? above->key : 0;
	m->depth = above ? above->depth + 1 : 0;
}

/* Whether anything is above or below the row's nodes. */
static void set_expandable(struct maker *m, struct row *row)
{
	const struct calltree *tree = m->rows->tree;
	guint i;

	for (i = 0; i < row->parts->len && !row->expandable; i++) {
		const struct calltree_node *n =
			calltree_node(tree, g_array_index(row->parts, struct rows_part, i).node);

		row->expandable = m->rows->options.kind == ROWS_CALLERS
					  ? n->kind > CALLTREE_PROCESS &&
						    calltree_node(tree, n->parent)->kind > CALLTREE_PROCESS
					  : n->count > 0;
	}
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_counts(const struct profile_count *a, const struct profile_count *b)
{
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->samples < b->samples) - (a->samples > b->samples);
}

static int compare_names(const struct rows *rows, const struct row *a, const struct row *b)
{
	int ret = a->process && b->process ? strcmp(a->process, b->process) : 0;

	if (!ret)
		ret = strcmp(rows_name(rows, a), rows_name(rows, b));
	if (!ret)
		ret = strcmp(rows_file(rows, a), rows_file(rows, b));
	return ret ? ret : (a->key > b->key) - (a->key < b->key);
}

static int compare_chosen(const struct rows *rows, const struct row *a, const struct row *b)
{
	switch (rows->options.order) {
	case ROWS_BY_SELF:
		return compare_counts(&a->self, &b->self);
	case ROWS_BY_PROCESS:
		return a->process && b->process ? strcmp(a->process, b->process) : 0;
	case ROWS_BY_FUNCTION:
		return strcmp(rows_name(rows, a), rows_name(rows, b));
	case ROWS_BY_FILE:
		return strcmp(rows_file(rows, a), rows_file(rows, b));
	default:
		return 0;
	}
}

/* Equal rows by total, then by name, so that the order is always the same. */
static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct rows *rows = arg;
	const struct row *a = *(struct row *const *)x, *b = *(struct row *const *)y;
	int ret = a->depth ? 0 : compare_chosen(rows, a, b);

	if (!ret)
		ret = compare_counts(&a->total, &b->total);
	if (!ret)
		ret = compare_names(rows, a, b);
	return rows->options.reverse && !a->depth ? -ret : ret;
}

static GPtrArray *finish(struct maker *m)
{
	guint i;

	for (i = 0; i < m->made->len; i++)
		set_expandable(m, m->made->pdata[i]);
	g_ptr_array_sort_with_data(m->made, compare_rows, m->rows);
	g_hash_table_destroy(m->known);
	return m->made;
}

/* ---- below a row ----------------------------------------------------------------------------- */

static void add_callers(struct maker *m, const struct row *row)
{
	guint i;

	for (i = 0; i < row->parts->len; i++) {
		const struct rows_part *part = &g_array_index(row->parts, struct rows_part, i);
		const uint32_t caller = calltree_node(m->rows->tree, part->node)->parent;
		struct row *above;

		if (calltree_node(m->rows->tree, caller)->kind <= CALLTREE_PROCESS)
			continue;
		above = row_for(m, UINT32_MAX, caller);
		add_part(above, caller, &part->count);
		add(&above->total, &part->count);
	}
}

static void add_callees(struct maker *m, const struct row *row)
{
	uint32_t i, j;

	for (i = 0; i < row->parts->len; i++) {
		const struct calltree_node *n = calltree_node(
			m->rows->tree, g_array_index(row->parts, struct rows_part, i).node);

		for (j = 0; j < n->count; j++) {
			const uint32_t child = calltree_child(m->rows->tree, n, j);
			const struct calltree_node *c = calltree_node(m->rows->tree, child);
			struct row *callee = row_for(m, UINT32_MAX, child);

			add_part(callee, child, &c->total);
			add(&callee->total, &c->total);
			add(&callee->self, &c->self);
		}
	}
}

void rows_make_below(struct rows *rows, struct row *row)
{
	struct maker m;

	begin(&m, rows, row);
	if (rows->options.kind == ROWS_CALLERS)
		add_callers(&m, row);
	else
		add_callees(&m, row);
	row->below = finish(&m);
}

/* ---- the top --------------------------------------------------------------------------------- */

/* The node of the event: that with samples, since one event was selected. UINT32_MAX: there is none. */
static uint32_t find_event(const struct calltree *tree)
{
	uint32_t i;

	for (i = 0; i < tree->profile->events->len; i++)
		if (calltree_node(tree, i)->count)
			return i;
	return UINT32_MAX;
}

/* The parts of a function whose callers are shown by its own samples are where these were taken. */
static bool parts_by_self(const struct rows *rows)
{
	return rows->options.kind == ROWS_CALLERS && rows->options.order != ROWS_BY_TOTAL;
}

/* One row for each function of each process. A walk knows which functions are being called. */
static void add_functions(struct maker *m, uint32_t event)
{
	const struct calltree *tree = m->rows->tree;
	g_autoptr(GPtrArray) path = g_ptr_array_new(); /* struct row *, NULL for the event */
	const bool by_self = parts_by_self(m->rows);
	struct calltree_walk walk;
	uint32_t node, depth, process = 0;

	calltree_walk_init(&walk, tree, event);
	while (calltree_walk_next(&walk, &node, &depth)) {
		const struct calltree_node *n = calltree_node(tree, node);
		struct row *row = NULL;

		for (; path->len > depth; g_ptr_array_set_size(path, (gint)path->len - 1))
			if (path->pdata[path->len - 1])
				((struct row *)path->pdata[path->len - 1])->counted--;
		if (n->kind == CALLTREE_PROCESS)
			process = n->what;
		/* of a process only what has no stack is a row */
		if (n->kind > CALLTREE_PROCESS || (n->kind == CALLTREE_PROCESS && n->self.samples)) {
			const struct profile_count *total =
				n->kind == CALLTREE_PROCESS ? &n->self : &n->total;

			row = row_for(m, process, node);
			add(&row->self, &n->self);
			if (!row->counted)
				add(&row->total, total);
			if (by_self ? n->self.samples : !row->counted && n->kind > CALLTREE_PROCESS)
				add_part(row, node, by_self ? &n->self : total);
			row->counted++;
		}
		g_ptr_array_add(path, row);
	}
	calltree_walk_fini(&walk);
}

static void add_processes(struct maker *m, uint32_t event)
{
	const struct calltree_node *top = calltree_node(m->rows->tree, event);
	uint32_t i;

	for (i = 0; i < top->count; i++) {
		const uint32_t node = calltree_child(m->rows->tree, top, i);
		const struct calltree_node *n = calltree_node(m->rows->tree, node);
		struct row *row = row_for(m, UINT32_MAX, node);

		row->self = n->self;
		row->total = n->total;
		add_part(row, node, &n->total);
	}
}

static bool is_hidden(const struct rows *rows, const struct row *row)
{
	const enum calltree_kind kind = calltree_node(rows->tree, row->node)->kind;

	if (rows->options.kind == ROWS_TREE)
		return false;
	/* without the functions that others call, as the text of a report */
	if (rows->options.order != ROWS_BY_TOTAL && rows->options.kind == ROWS_CALLERS &&
		!row->self.samples)
		return true;
	return (rows->options.no_kernel && kind == CALLTREE_KERNEL) ||
	       (rows->options.no_user && kind != CALLTREE_KERNEL);
}

static bool matches(const struct rows *rows, const struct row *row)
{
	const char *filter = rows->options.filter;

	return !*filter || (row->process && rows_contains(row->process, filter)) ||
	       rows_contains(rows_name(rows, row), filter) || rows_contains(rows_file(rows, row), filter);
}

static bool is_below_limit(const struct rows *rows, const struct row *row)
{
	return summary_share(rows_count(rows, row)->weight, rows->whole) < rows->options.limit;
}

void rows_make_top(struct rows *rows)
{
	const uint32_t event = find_event(rows->tree);
	struct maker m;
	GPtrArray *made;
	guint i;

	begin(&m, rows, NULL);
	if (event != UINT32_MAX && rows->options.kind == ROWS_TREE)
		add_processes(&m, event);
	else if (event != UINT32_MAX)
		add_functions(&m, event);
	made = finish(&m);
	for (i = 0; i < made->len; i++) {
		struct row *row = made->pdata[i];

		if (!is_hidden(rows, row)) {
			const bool matching = matches(rows, row);

			if (matching && !is_below_limit(rows, row)) {
				g_ptr_array_add(rows->top, row);
				continue;
			}
			rows->filtered += !matching;
			rows->limited += matching;
		}
		rows_free_row(row);
	}
	g_ptr_array_free(made, TRUE);
}
