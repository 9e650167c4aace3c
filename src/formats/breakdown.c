/* SPDX-License-Identifier: MIT */
/* Samples by given fields: see breakdown.h. */
#include "formats/breakdown.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "capture/table.h"
#include "formats/summary.h"

const char *const breakdown_fields[BREAKDOWN_FIELDS] = {
	[BREAKDOWN_EVENT] = "event",
	[BREAKDOWN_HOST] = "host",
	[BREAKDOWN_PROCESS] = "process",
	[BREAKDOWN_PID] = "pid",
	[BREAKDOWN_THREAD] = "thread",
	[BREAKDOWN_COMM] = "comm",
	[BREAKDOWN_CPU] = "cpu",
	[BREAKDOWN_ADDRESS] = "address",
	[BREAKDOWN_LINE] = "line",
	[BREAKDOWN_FUNCTION] = "function",
	[BREAKDOWN_FILE] = "file",
};

/* Values that are looked up once: of each function, of each place. */
struct breakdown_known {
	const char **functions, **files, **places, **lines;
	uint8_t *accepted; /* by function, result of its filters: 0 not known yet, 1 no, 2 yes */
	uint32_t *events;  /* of the profile: as event of the breakdown */
};

struct breakdown_counter {
	struct breakdown *breakdown;
	const struct breakdown_options *options;
	const struct breakdown_input *input;
	uint32_t number; /* of the input */
	uint32_t cells;	 /* of all inputs, counted so far */
	bool one_event;
	struct breakdown_known known;
	struct table table;
};

/* perf report's names of fields. */
static const struct {
	const char *name;
	enum breakdown_field field;
} perf_names[] = {
	{"dso", BREAKDOWN_FILE},
	{"sym", BREAKDOWN_FUNCTION},
	{"symbol", BREAKDOWN_FUNCTION},
	{"tid", BREAKDOWN_THREAD},
	{"srcline", BREAKDOWN_LINE},
};

enum breakdown_field breakdown_find_field(const char *name)
{
	size_t i;

	for (i = 0; i < BREAKDOWN_FIELDS; i++)
		if (strcmp(breakdown_fields[i], name) == 0)
			return (enum breakdown_field)i;
	for (i = 0; i < G_N_ELEMENTS(perf_names); i++)
		if (strcmp(perf_names[i].name, name) == 0)
			return perf_names[i].field;
	return BREAKDOWN_FIELDS;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *intern(struct breakdown_counter *c, const char *text)
{
	return g_string_chunk_insert_const(c->breakdown->strings, *text ? text : "-");
}

static const char *intern_number(struct breakdown_counter *c, uint32_t number)
{
	char text[16];

	g_snprintf(text, sizeof(text), "%" PRIu32, number);
	return intern(c, text);
}

static uint32_t function_of(const struct breakdown_counter *c, uint32_t node)
{
	return functions_of_node(c->input->functions, c->input->profile, node);
}

/* The name of the function, or the file that has it. */
static const char *function_name(struct breakdown_counter *c, const struct functions_function *function)
{
	g_autoptr(GStringChunk) strings = NULL;

	if (function->resolved || !c->options->merged)
		return intern(c, function->name);
	strings = g_string_chunk_new(64);
	return intern(c, functions_unresolved_name(strings, function));
}

static const char *function_value(struct breakdown_counter *c, uint32_t function, bool file)
{
	const char **known = file ? c->known.files : c->known.functions;
	const struct functions_function *f;

	if (function == FUNCTIONS_NO_FRAME)
		return intern(c, "-");
	f = functions_function(c->input->functions, function);
	if (!known[function])
		known[function] = file ? intern(c, f->file) : function_name(c, f);
	return known[function];
}

static const char *address_value(struct breakdown_counter *c, uint32_t node)
{
	const struct symbols_place *found;
	char text[24];
	uint32_t place;

	if (node == STACKS_ROOT)
		return intern(c, "-");
	place = stacks_node(&c->input->profile->stacks, node)->place;
	if (!c->known.places[place]) {
		found = &c->input->functions->places[place];
		g_snprintf(text, sizeof(text), "0x%" PRIx64,
			found->located ? found->address
				       : profile_place(c->input->profile, place)->offset);
		c->known.places[place] = intern(c, text);
	}
	return c->known.places[place];
}

static const char *line_value(struct breakdown_counter *c, uint32_t node)
{
	const struct symbols_place *found;
	g_autofree char *text = NULL;
	uint32_t place;

	if (node == STACKS_ROOT)
		return intern(c, "-");
	place = stacks_node(&c->input->profile->stacks, node)->place;
	found = &c->input->functions->places[place];
	if (!found->count || !found->frames[0].source)
		return intern(c, "-");
	if (!c->known.lines[place]) {
		text = g_strdup_printf(
			"%s:%" PRIu32, found->frames[0].source, found->frames[0].line);
		c->known.lines[place] = intern(c, text);
	}
	return c->known.lines[place];
}

static const char *comm_value(struct breakdown_counter *c, const struct profile_cell *cell)
{
	const char *name = processes_thread_name(
		c->input->profile->processes, cell->life, cell->tid);

	return intern(c, name ? name : cell->name);
}

static const char *host_value(struct breakdown_counter *c, const struct profile_cell *cell)
{
	const char *name = profile_host(c->input->profile, cell);

	return intern(c, name ? name : "");
}

static const char *value_of(struct breakdown_counter *c, const struct profile_cell *cell,
	uint32_t node, enum breakdown_field field)
{
	switch (field) {
	case BREAKDOWN_EVENT:
		return c->breakdown->events->pdata[c->known.events[cell->event]];
	case BREAKDOWN_HOST:
		return host_value(c, cell);
	case BREAKDOWN_PROCESS:
		return intern(c, cell->name);
	case BREAKDOWN_PID:
		return intern_number(c,
			processes_pid(c->input->profile->processes, cell->life));
	case BREAKDOWN_THREAD:
		return intern_number(c, cell->tid);
	case BREAKDOWN_COMM:
		return comm_value(c, cell);
	case BREAKDOWN_CPU:
		return intern_number(c, cell->cpu);
	case BREAKDOWN_ADDRESS:
		return address_value(c, node);
	case BREAKDOWN_LINE:
		return line_value(c, node);
	case BREAKDOWN_FUNCTION:
		return function_value(c, function_of(c, node), false);
	default:
		return function_value(c, function_of(c, node), true);
	}
}

/* ---- filters --------------------------------------------------------------------------------- */

/* Only the patterns for these fields are applied. */
static bool accepts_fields(struct breakdown_counter *c, const struct profile_cell *cell,
	uint32_t node, unsigned int fields)
{
	unsigned int wanted = 0, found = 0;
	size_t i;

	for (i = 0; i < c->options->filter_count; i++) {
		const struct breakdown_filter *filter = &c->options->filters[i];
		bool match;

		if (!(fields & 1u << filter->field))
			continue;
		match = fnmatch(filter->glob, value_of(c, cell, node, filter->field), 0) == 0;
		if (filter->exclude && match)
			return false;
		if (!filter->exclude)
			wanted |= 1u << filter->field;
		if (!filter->exclude && match)
			found |= 1u << filter->field;
	}
	return wanted == found;
}

#define FUNCTION_FIELDS (1u << BREAKDOWN_FUNCTION | 1u << BREAKDOWN_FILE)

/*
 * Patterns for the function and its file are applied once for each function, the others each time.
 */
static bool accepts(struct breakdown_counter *c, const struct profile_cell *cell, uint32_t node)
{
	uint32_t function = function_of(c, node);
	bool yes;

	if (!c->options->filter_count)
		return true;
	if (function != FUNCTIONS_NO_FRAME && c->known.accepted[function]) {
		yes = c->known.accepted[function] == 2;
	} else {
		yes = accepts_fields(c, cell, node, FUNCTION_FIELDS);
		if (function != FUNCTIONS_NO_FRAME)
			c->known.accepted[function] = yes ? 2 : 1;
	}
	return yes && accepts_fields(c, cell, node, ~FUNCTION_FIELDS);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool equal_row(const void *items, uint32_t i, const void *key)
{
	const struct breakdown_row *a = (const struct breakdown_row *)items + i, *b = key;

	return a->event == b->event && memcmp(a->values, b->values, sizeof(a->values)) == 0;
}

static uint32_t hash_row(const struct breakdown_row *row)
{
	uint32_t hash = row->event, i;

	for (i = 0; i < BREAKDOWN_FIELDS; i++)
		hash = table_hash(hash, (uintptr_t)row->values[i]);
	return hash;
}

static struct breakdown_row *row_at(struct breakdown_counter *c, const struct profile_cell *cell,
	uint32_t node)
{
	struct breakdown *b = c->breakdown;
	struct breakdown_row key = { .counts = b->counts->len };
	struct breakdown_row *row;
	uint32_t i;

	if (!c->options->side_by_side)
		key.event = c->known.events[cell->event];
	for (i = 0; i < BREAKDOWN_FIELDS; i++)
		if (c->options->fields & 1u << i)
			key.values[i] = value_of(c, cell, node, i);
	i = table_intern(&c->table, b->rows, hash_row(&key), equal_row, &key);
	row = &g_array_index(b->rows, struct breakdown_row, i);
	if (row->counts == b->counts->len)                                /* a new row */
		g_array_set_size(b->counts, b->counts->len + b->columns); /* cleared */
	return row;
}

static uint32_t column_of(const struct breakdown_counter *c, const struct profile_cell *cell)
{
	return c->options->side_by_side ? c->known.events[cell->event] : c->number;
}

static struct breakdown_count *count_at(struct breakdown_counter *c,
	const struct profile_cell *cell, const struct breakdown_row *row)
{
	return &g_array_index(c->breakdown->counts, struct breakdown_count,
		row->counts + column_of(c, cell));
}

/* A function that is in a stack more than once counts once. */
static void count_total(struct breakdown_counter *c, const struct profile_cell *cell)
{
	uint32_t node = cell->node;

	do {
		if (accepts(c, cell, node)) {
			struct breakdown_row *row = row_at(c, cell, node);

			if (row->seen != c->cells)
				profile_add(&count_at(c, cell, row)->total, cell->count.samples,
					cell->count.weight);
			row->seen = c->cells;
		}
		node = stacks_node(&c->input->profile->stacks, node)->caller;
	} while (node != STACKS_ROOT);
}

static void count_cell(struct breakdown_counter *c, const struct profile_cell *cell)
{
	struct breakdown *b = c->breakdown;
	uint32_t event = c->known.events[cell->event], function = function_of(c, cell->node);
	uint64_t *whole = &b->wholes[event * b->columns + column_of(c, cell)];

	c->cells++;
	if (__builtin_add_overflow(*whole, cell->count.weight, whole))
		*whole = UINT64_MAX;
	b->counted[c->number] += cell->count.samples;
	if (function == FUNCTIONS_NO_FRAME ||
		!functions_function(c->input->functions, function)->resolved)
		b->unresolved[c->number] += cell->count.samples;
	if (accepts(c, cell, cell->node))
		profile_add(&count_at(c, cell, row_at(c, cell, cell->node))->self,
			cell->count.samples, cell->count.weight);
	else
		b->filtered += cell->count.samples;
	if (c->options->total)
		count_total(c, cell);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static uint32_t find_event(struct breakdown *b, const char *text)
{
	uint32_t i;

	for (i = 0; i < b->events->len; i++)
		if (strcmp(b->events->pdata[i], text) == 0)
			return i;
	g_ptr_array_add(b->events, g_string_chunk_insert_const(b->strings, *text ? text : "-"));
	return i;
}

/*
 * All events of the inputs. If each of two captures has only one event, these are compared, though
 * they may have different rates, or one may be of a machine that lacks the other's event.
 */
static void find_events(
	struct breakdown_counter *c, const struct breakdown_input *inputs, size_t count)
{
	uint32_t i, event;

	if (count == 2 && inputs[0].profile->events->len == 1 &&
		inputs[1].profile->events->len == 1) {
		const char *a = profile_event(inputs[0].profile, 0)->text;
		const char *b = profile_event(inputs[1].profile, 0)->text;
		g_autofree char *both = g_strdup_printf("%s / %s", a, b);

		find_event(c->breakdown, strcmp(a, b) == 0 ? a : both);
		c->one_event = true;
		return;
	}
	for (i = 0; i < count; i++)
		for (event = 0; event < inputs[i].profile->events->len; event++)
			find_event(c->breakdown, profile_event(inputs[i].profile, event)->text);
}

static void begin_input(struct breakdown_counter *c)
{
	const struct profile *profile = c->input->profile;
	uint32_t count = c->input->functions->list->len, i;

	c->known = (struct breakdown_known){
		.functions = g_new0(const char *, count + 1),
		.files = g_new0(const char *, count + 1),
		.places = g_new0(const char *, profile->places->len + 1),
		.lines = g_new0(const char *, profile->places->len + 1),
		.accepted = g_new0(uint8_t, count + 1),
		.events = g_new(uint32_t, profile->events->len + 1),
	};
	for (i = 0; i < profile->events->len; i++)
		c->known.events[i] = c->one_event
			? 0
			: find_event(c->breakdown, profile_event(profile, i)->text);
}

static void end_input(struct breakdown_counter *c)
{
	g_free(c->known.functions);
	g_free(c->known.files);
	g_free(c->known.places);
	g_free(c->known.lines);
	g_free(c->known.accepted);
	g_free(c->known.events);
}

static void count_input(struct breakdown_counter *c)
{
	const struct profile *profile = c->input->profile;
	uint32_t i;

	begin_input(c);
	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);

		if (cell->flags & PROFILE_IDLE)
			continue;
		if (cell->flags & PROFILE_OWN && !c->options->own)
			continue;
		count_cell(c, cell);
	}
	end_input(c);
}

struct breakdown *breakdown_create(const struct breakdown_input *inputs, size_t count,
	const struct breakdown_options *options)
{
	struct breakdown *b = g_new0(struct breakdown, 1);
	struct breakdown_counter c = { .breakdown = b, .options = options };
	uint32_t i;

	b->rows = g_array_new(FALSE, FALSE, sizeof(struct breakdown_row));
	b->counts = g_array_new(FALSE, TRUE, sizeof(struct breakdown_count));
	b->events = g_ptr_array_new();
	b->strings = g_string_chunk_new(1 << 12);
	b->counted = g_new0(uint64_t, count);
	b->unresolved = g_new0(uint64_t, count);
	find_events(&c, inputs, count);
	b->side_by_side = options->side_by_side;
	b->columns = options->side_by_side ? MAX(b->events->len, 1) : (uint32_t)count;
	b->wholes = g_new0(uint64_t, (gsize)b->columns * b->events->len + 1);
	for (i = 0; i < count; i++) {
		c.input = &inputs[i];
		c.number = i;
		count_input(&c);
	}
	table_fini(&c.table);
	return b;
}

void breakdown_destroy(struct breakdown *b)
{
	if (!b)
		return;
	g_array_free(b->rows, TRUE);
	g_array_free(b->counts, TRUE);
	g_ptr_array_free(b->events, TRUE);
	g_string_chunk_free(b->strings);
	g_free(b->wholes);
	g_free(b->counted);
	g_free(b->unresolved);
	g_free(b);
}

/* ---- shares and order ------------------------------------------------------------------------ */

double breakdown_share(const struct breakdown *b, const struct breakdown_row *row, uint32_t column,
	uint64_t weight)
{
	uint32_t event = b->side_by_side ? column : row->event;

	return b->events->len ? summary_share(weight, b->wholes[event * b->columns + column]) : 0;
}

struct breakdown_sorting {
	const struct breakdown *b;
	const struct breakdown_order *order;
};

static double heat(const struct breakdown_sorting *s, const struct breakdown_row *row)
{
	const struct breakdown_count *c = breakdown_count(s->b, row, 0);
	double x =
		breakdown_share(s->b, row, 0, s->order->total ? c->total.weight : c->self.weight);

	if (!s->order->difference)
		return x;
	c = breakdown_count(s->b, row, 1);
	x -= breakdown_share(s->b, row, 1, s->order->total ? c->total.weight : c->self.weight);
	return x < 0 ? -x : x;
}

/* Compares the columns from the first on; equal weights are compared by samples. */
static int compare_heat(const struct breakdown_sorting *s, const struct breakdown_row *a,
	const struct breakdown_row *b)
{
	double x = heat(s, a), y = heat(s, b);
	uint32_t i;

	if (x != y)
		return x > y ? -1 : 1;
	for (i = 0; i < s->b->columns; i++) {
		const struct breakdown_count *c = breakdown_count(s->b, a, i);
		const struct breakdown_count *d = breakdown_count(s->b, b, i);

		if (c->self.weight != d->self.weight)
			return c->self.weight > d->self.weight ? -1 : 1;
		if (c->self.samples != d->self.samples)
			return c->self.samples > d->self.samples ? -1 : 1;
	}
	return 0;
}

static int compare_values(const struct breakdown_row *a, const struct breakdown_row *b,
	enum breakdown_field field)
{
	const char *x = a->values[field], *y = b->values[field];

	if (x == y || !x || !y)
		return 0;
	/* hexadecimal digits without leading zeros */
	if (field == BREAKDOWN_ADDRESS && strlen(x) != strlen(y))
		return strlen(x) < strlen(y) ? -1 : 1;
	/* numbers in names are compared by their value */
	return field == BREAKDOWN_ADDRESS ? strcmp(x, y) : strverscmp(x, y);
}

static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct breakdown_row *a = x, *b = y;
	const struct breakdown_sorting *s = arg;
	enum breakdown_field i;
	int ret;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (s->order->field < BREAKDOWN_FIELDS)
		ret = compare_values(a, b, s->order->field);
	else
		ret = compare_heat(s, a, b);
	if (ret)
		return s->order->reverse ? -ret : ret;
	ret = compare_heat(s, a, b);
	for (i = 0; !ret && i < BREAKDOWN_FIELDS; i++)
		ret = compare_values(a, b, i);
	return ret;
}

void breakdown_sort(struct breakdown *b, const struct breakdown_order *order)
{
	struct breakdown_sorting sorting = { b, order };

	g_array_sort_with_data(b->rows, compare_rows, &sorting);
}
