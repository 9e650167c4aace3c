/* SPDX-License-Identifier: MIT */
/* The figures of the flat profile: see flat_count.h. */
#include "formats/flat_count.h"

#include <string.h>

#include "capture/table.h"

#define NONE UINT32_MAX

struct flat_counter {
	const struct profile *profile;
	const struct functions *functions;
	const struct flat_options *options;
	struct flat_count *count;
	struct table row_table, call_table;
};

/* ---- counting -------------------------------------------------------------------------------- */

static bool equal_row(const void *items, uint32_t i, const void *key)
{
	const struct flat_row *a = (const struct flat_row *)items + i, *b = key;

	return a->function == b->function && a->of == b->of && a->event == b->event &&
		a->process == b->process;
}

static struct flat_row *intern_row(GArray *rows, struct table *table, const struct flat_row *key)
{
	uint32_t hash = table_hash((uintptr_t)key->process ^ (uint64_t)key->of << 32,
		(uint64_t)key->function << 32 | key->event);
	uint32_t i = table_intern(table, rows, hash, equal_row, key);

	g_array_index(rows, struct flat_row, i).number = i;
	return &g_array_index(rows, struct flat_row, i);
}

static void add(struct profile_count *to, const struct profile_count *what)
{
	profile_add(to, what->samples, what->weight);
}

static uint32_t caller_of(const struct flat_counter *c, uint32_t node)
{
	return node == STACKS_ROOT ? STACKS_ROOT : stacks_node(&c->profile->stacks, node)->caller;
}

/* Counts a cell for the caller of `row`, whose function is at `node`. */
static void count_call(struct flat_counter *c, const struct profile_cell *cell,
	const struct flat_row *row, uint32_t node, bool self)
{
	struct flat_row key = {
		.event = cell->event,
		.function = functions_of_node(c->functions, c->profile, caller_of(c, node)),
		.process = cell->name,
		.of = row->number,
		.calls = NONE,
	};
	struct flat_row *call = intern_row(c->count->calls, &c->call_table, &key);

	add(self ? &call->self : &call->total, &cell->count);
}

/* The row of the function at a node. */
static struct flat_row *row_at(
	struct flat_counter *c, const struct profile_cell *cell, uint32_t node)
{
	struct flat_row key = {
		.event = cell->event,
		.function = functions_of_node(c->functions, c->profile, node),
		.process = cell->name,
		.of = NONE,
		.seen = NONE,
		.calls = NONE,
	};

	return intern_row(c->count->rows, &c->row_table, &key);
}

static void count_self(struct flat_counter *c, const struct profile_cell *cell)
{
	struct flat_row *row = row_at(c, cell, cell->node);

	add(&row->self, &cell->count);
	if (c->options->callers && !c->options->total)
		count_call(c, cell, row, cell->node, true);
	if (row->function == FUNCTIONS_NO_FRAME ||
		!functions_function(c->functions, row->function)->resolved)
		c->count->unresolved += cell->count.samples;
}

/* Counts a cell once for each function of its stack; of recursive calls the outermost counts. */
static void count_total(struct flat_counter *c, const struct profile_cell *cell, uint32_t number)
{
	uint32_t node = cell->node;

	do {
		struct flat_row *row = row_at(c, cell, node);

		if (row->seen != number)
			add(&row->total, &cell->count);
		row->seen = number;
		row->outermost = node;
		node = caller_of(c, node);
	} while (node != STACKS_ROOT);
	if (!c->options->callers)
		return;
	node = cell->node;
	do {
		struct flat_row *row = row_at(c, cell, node);

		if (row->outermost == node)
			count_call(c, cell, row, node, false);
		node = caller_of(c, node);
	} while (node != STACKS_ROOT);
}

static void count_cells(struct flat_counter *c)
{
	uint32_t i;

	for (i = 0; i < c->profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(c->profile, i);
		uint64_t *weight = &g_array_index(c->count->weights, uint64_t, cell->event);

		if (cell->flags & PROFILE_IDLE)
			continue;
		if (cell->flags & PROFILE_OWN && !c->options->own)
			continue;
		c->count->counted += cell->count.samples;
		if (__builtin_add_overflow(*weight, cell->count.weight, weight))
			*weight = UINT64_MAX;
		count_self(c, cell);
		if (c->options->total)
			count_total(c, cell, i);
	}
}

/* ---- sorting --------------------------------------------------------------------------------- */

static int compare_counts(const struct profile_count *a, const struct profile_count *b)
{
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->samples < b->samples) - (a->samples > b->samples);
}

static int compare_names(const struct flat_counter *c, uint32_t a, uint32_t b)
{
	const struct functions_function *x, *y;
	int ret;

	if (a == b || a == FUNCTIONS_NO_FRAME || b == FUNCTIONS_NO_FRAME)
		return (a > b) - (a < b);
	x = functions_function(c->functions, a);
	y = functions_function(c->functions, b);
	ret = strcmp(x->name, y->name);
	return ret ? ret : strcmp(x->file, y->file);
}

/* Hottest first; equally hot ones by name, so that the order is always the same. */
static int compare_heat(
	const struct flat_counter *c, const struct flat_row *a, const struct flat_row *b)
{
	int ret = compare_counts(&a->total, &b->total);

	if (!ret)
		ret = compare_counts(&a->self, &b->self);
	if (!ret)
		ret = strcmp(a->process, b->process);
	return ret ? ret : compare_names(c, a->function, b->function);
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct flat_row *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return compare_heat(arg, x, y);
}

static int compare_calls(const void *a, const void *b, void *arg)
{
	const struct flat_row *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return compare_heat(arg, x, y);
}

static void sort_all(struct flat_counter *c)
{
	GArray *rows = c->count->rows, *calls = c->count->calls;
	g_autofree uint32_t *row_of = g_new(uint32_t, rows->len + 1);
	uint32_t i;

	g_array_sort_with_data(calls, compare_calls, c);
	g_array_sort_with_data(rows, compare_rows, c);
	for (i = 0; i < rows->len; i++)
		row_of[flat_row(c->count, i)->number] = i;
	for (i = 0; i < calls->len; i++) {
		struct flat_row *call = &g_array_index(calls, struct flat_row, i);
		struct flat_row *row = &g_array_index(rows, struct flat_row, row_of[call->of]);

		if (row->calls == NONE)
			row->calls = i;
	}
}

const struct flat_row *flat_first_call(const struct flat_count *count, const struct flat_row *row)
{
	return row->calls == NONE ? NULL
				  : &g_array_index(count->calls, struct flat_row, row->calls);
}

const struct flat_row *flat_next_call(const struct flat_count *count, const struct flat_row *call)
{
	const struct flat_row *end =
		&g_array_index(count->calls, struct flat_row, count->calls->len);

	return call + 1 < end && call[1].of == call->of ? call + 1 : NULL;
}

struct flat_count *flat_count_create(const struct profile *profile,
	const struct functions *functions, const struct flat_options *options)
{
	struct flat_count *count = g_new0(struct flat_count, 1);
	struct flat_counter c = {
		.profile = profile,
		.functions = functions,
		.options = options,
		.count = count,
	};

	count->rows = g_array_new(FALSE, FALSE, sizeof(struct flat_row));
	count->calls = g_array_new(FALSE, FALSE, sizeof(struct flat_row));
	count->weights = g_array_new(FALSE, TRUE, sizeof(uint64_t));
	g_array_set_size(count->weights, profile->events->len);
	count_cells(&c);
	sort_all(&c);
	table_fini(&c.row_table);
	table_fini(&c.call_table);
	return count;
}

void flat_count_destroy(struct flat_count *count)
{
	if (!count)
		return;
	g_array_free(count->rows, TRUE);
	g_array_free(count->calls, TRUE);
	g_array_free(count->weights, TRUE);
	g_free(count);
}
