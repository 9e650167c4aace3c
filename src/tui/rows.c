/* SPDX-License-Identifier: MIT */
/* The rows of a browser: see rows.h. rows_make.c makes them; this file shows and finds them. */
#include "tui/rows.h"

#include <string.h>

#include "tui/rows_state.h"
#include "tui/selection.h"

const char *const rows_kind_names[ROWS_KINDS] = { "callers", "callees", "call tree" };
const char *const rows_order_names[ROWS_ORDERS] = { "self", "total", "process", "function", "file" };

/* ---- what is shown --------------------------------------------------------------------------- */

/* Rows that are shown below a row are made. It is not recursive: stacks may be 65,535 deep. */
static void show(struct rows *rows)
{
	g_autoptr(GPtrArray) left = g_ptr_array_new();
	guint i;

	g_ptr_array_set_size(rows->shown, 0);
	for (i = rows->top->len; i--;)
		g_ptr_array_add(left, rows->top->pdata[i]);
	while (left->len) {
		struct row *row = g_ptr_array_steal_index(left, left->len - 1);

		g_ptr_array_add(rows->shown, row);
		row->expanded = row->expandable && g_hash_table_contains(rows->expanded, &row->key);
		if (!row->expanded)
			continue;
		if (!row->below)
			rows_make_below(rows, row);
		for (i = row->below->len; i--;)
			g_ptr_array_add(left, row->below->pdata[i]);
	}
}

static void make(struct rows *rows)
{
	g_ptr_array_set_size(rows->top, 0);
	rows->filtered = rows->limited = 0;
	if (rows->tree)
		rows_make_top(rows);
	show(rows);
}

static void remember(struct rows *rows, const struct row *row)
{
	g_hash_table_add(rows->expanded, g_memdup2(&row->key, sizeof(row->key)));
}

void rows_expand(struct rows *rows, struct row *row, bool expanded)
{
	if (expanded && row->expandable)
		remember(rows, row);
	else
		g_hash_table_remove(rows->expanded, &row->key);
	show(rows);
}

bool rows_expand_all(struct rows *rows, struct row *row)
{
	g_autoptr(GPtrArray) left = g_ptr_array_new();
	uint32_t made = 0;
	guint i;

	g_ptr_array_add(left, row);
	while (left->len && made < ROWS_EXPANDED_MAX) {
		row = g_ptr_array_steal_index(left, left->len - 1);
		if (!row->expandable)
			continue;
		remember(rows, row);
		if (!row->below)
			rows_make_below(rows, row);
		made += row->below->len;
		for (i = row->below->len; i--;)
			g_ptr_array_add(left, row->below->pdata[i]);
	}
	show(rows);
	return !left->len;
}

void rows_collapse_all(struct rows *rows)
{
	g_hash_table_remove_all(rows->expanded);
	show(rows);
}

/* ---- finding --------------------------------------------------------------------------------- */

uint32_t rows_find_key(const struct rows *rows, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < rows->shown->len; i++)
		if (rows_at(rows, i)->key == key)
			return i;
	return UINT32_MAX;
}

uint32_t rows_search(const struct rows *rows, const char *text, uint32_t from, bool backward)
{
	const uint32_t count = rows->shown->len;
	uint32_t i, at;

	for (i = 0; i < count; i++) {
		const struct row *row;

		at = (uint32_t)(((uint64_t)from + (backward ? (uint64_t)count - i : i)) % count);
		row = rows_at(rows, at);
		if ((row->process && rows_contains(row->process, text)) ||
			rows_contains(rows_name(rows, row), text) ||
			rows_contains(rows_file(rows, row), text))
			return at;
	}
	return UINT32_MAX;
}

const char *rows_name(const struct rows *rows, const struct row *row)
{
	const struct calltree_node *node = calltree_node(rows->tree, row->node);

	if (row->process && node->kind == CALLTREE_PROCESS)
		return "-"; /* samples without a stack */
	return calltree_name(rows->tree, node);
}

const char *rows_file(const struct rows *rows, const struct row *row)
{
	return calltree_file(rows->tree, calltree_node(rows->tree, row->node));
}

const struct profile_count *rows_count(const struct rows *rows, const struct row *row)
{
	return row->depth || rows->options.order == ROWS_BY_TOTAL || rows->options.kind != ROWS_CALLERS
		       ? &row->total : &row->self;
}

uint32_t rows_function(const struct rows *rows, const struct row *row)
{
	const struct calltree_node *node = calltree_node(rows->tree, row->node);

	if (node->kind <= CALLTREE_PROCESS ||
		!functions_function(rows->tree->functions, node->what)->resolved)
		return FUNCTIONS_NO_FRAME;
	return node->what;
}

/* ---- all of it ------------------------------------------------------------------------------- */

struct rows *rows_create(void)
{
	struct rows *rows = g_new0(struct rows, 1);

	rows->top = g_ptr_array_new_with_free_func(rows_free_row);
	rows->shown = g_ptr_array_new();
	rows->expanded = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	rows->options.filter = g_strdup("");
	return rows;
}

static void forget(struct rows *rows)
{
	g_ptr_array_set_size(rows->shown, 0);
	g_ptr_array_set_size(rows->top, 0);
	calltree_destroy(rows->tree);
	selection_destroy(rows->selected);
	rows->tree = NULL;
	rows->selected = NULL;
	rows->whole = rows->samples = 0;
}

void rows_destroy(struct rows *rows)
{
	if (!rows)
		return;
	forget(rows);
	g_ptr_array_free(rows->shown, TRUE);
	g_ptr_array_free(rows->top, TRUE);
	g_hash_table_destroy(rows->expanded);
	g_free((char *)rows->options.filter);
	g_free(rows);
}

int rows_take(struct rows *rows, struct profile *selected, const struct functions *functions,
	struct err *err)
{
	const struct calltree_options options = { .inverted = false };
	const struct view_input input = { .profile = selected, .functions = functions, .capture_fd = -1 };
	guint i;
	int ret;

	forget(rows);
	rows->selected = selected;
	for (i = 0; i < selected->cells->len; i++) {
		const struct profile_count *count = &profile_cell(selected, i)->count;
		struct profile_count all = { rows->samples, rows->whole };

		profile_add(&all, count->samples, count->weight);
		rows->samples = all.samples;
		rows->whole = all.weight;
	}
	ret = calltree_create(&input, &options, &rows->tree, err);
	make(rows);
	return ret;
}

void rows_set(struct rows *rows, const struct rows_options *options)
{
	char *filter = g_strdup(options->filter);

	g_free((char *)rows->options.filter);
	rows->options = *options;
	rows->options.filter = filter;
	make(rows);
}
