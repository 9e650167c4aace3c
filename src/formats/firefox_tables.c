/* SPDX-License-Identifier: MIT */
/* The tables of a thread for the Firefox Profiler: see firefox_tables.h. */
#include "formats/firefox_tables.h"

#include <inttypes.h>
#include <string.h>

#include "base/strhash.h"
#include "formats/json.h"

/* resourceTable.type: a library. */
#define RESOURCE_LIBRARY 1

void firefox_tables_init(struct firefox_tables *t, const struct view_input *input,
	const uint32_t *libs)
{
	uint32_t files = processes_file_count(input->profile->processes);
	uint32_t nodes = input->profile->stacks.nodes->len;

	memset(t, 0, sizeof(*t));
	t->input = input;
	t->libs = libs;
	t->strings = g_ptr_array_new_with_free_func(g_free);
	t->string_indexes = g_hash_table_new(strhash, g_str_equal);
	t->functions = g_array_new(FALSE, FALSE, sizeof(struct firefox_function));
	t->frames = g_array_new(FALSE, FALSE, sizeof(struct firefox_frame));
	t->stacks = g_array_new(FALSE, FALSE, sizeof(struct firefox_stack));
	t->resources = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	t->resource_of = g_new(uint32_t, files + 1);
	memset(t->resource_of, 0xff, (files + 1) * sizeof(uint32_t));
	t->stack_of = g_new(uint32_t, nodes);
	memset(t->stack_of, 0xff, nodes * sizeof(uint32_t));
	t->touched = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	t->path = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	t->text = g_string_new(NULL);
}

void firefox_tables_fini(struct firefox_tables *t)
{
	g_hash_table_destroy(t->string_indexes);
	g_ptr_array_free(t->strings, TRUE);
	g_array_free(t->functions, TRUE);
	g_array_free(t->frames, TRUE);
	g_array_free(t->stacks, TRUE);
	g_array_free(t->resources, TRUE);
	table_fini(&t->function_table);
	table_fini(&t->frame_table);
	table_fini(&t->stack_table);
	g_free(t->resource_of);
	g_free(t->stack_of);
	g_array_free(t->touched, TRUE);
	g_array_free(t->path, TRUE);
	g_string_free(t->text, TRUE);
}

void firefox_tables_reset(struct firefox_tables *t)
{
	uint32_t i;

	for (i = 0; i < t->touched->len; i++)
		t->stack_of[g_array_index(t->touched, uint32_t, i)] = FIREFOX_NONE;
	for (i = 0; i < t->resources->len; i++)
		t->resource_of[g_array_index(t->resources, uint32_t, i)] = FIREFOX_NONE;
	g_hash_table_remove_all(t->string_indexes);
	g_ptr_array_set_size(t->strings, 0);
	g_array_set_size(t->functions, 0);
	g_array_set_size(t->frames, 0);
	g_array_set_size(t->stacks, 0);
	g_array_set_size(t->resources, 0);
	g_array_set_size(t->touched, 0);
	table_fini(&t->function_table);
	table_fini(&t->frame_table);
	table_fini(&t->stack_table);
}

/* ---- entries --------------------------------------------------------------------------------- */

static uint32_t intern_string(struct firefox_tables *t, const char *text)
{
	gpointer known = g_hash_table_lookup(t->string_indexes, text);
	char *own;

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	own = g_strdup(text);
	g_ptr_array_add(t->strings, own);
	g_hash_table_insert(t->string_indexes, own, GUINT_TO_POINTER(t->strings->len));
	return t->strings->len - 1;
}

/* The index of an entry that is equal in all bytes; callers clear the padding of their keys. */
static uint32_t intern(GArray *array, struct table *table, table_equal *equal, const void *key,
	uint64_t a, uint64_t b)
{
	uint32_t hash = table_hash(a, b);
	uint32_t i = table_find(table, hash, equal, array->data, key);

	if (i == TABLE_NONE) {
		i = array->len;
		g_array_append_vals(array, key, 1);
		table_add(table, hash, i);
	}
	return i;
}

static bool equal_function(const void *items, uint32_t i, const void *key)
{
	return memcmp((const struct firefox_function *)items + i, key,
		sizeof(struct firefox_function)) == 0;
}

static bool equal_frame(const void *items, uint32_t i, const void *key)
{
	return memcmp((const struct firefox_frame *)items + i, key,
		sizeof(struct firefox_frame)) == 0;
}

static bool equal_stack(const void *items, uint32_t i, const void *key)
{
	return memcmp((const struct firefox_stack *)items + i, key,
		sizeof(struct firefox_stack)) == 0;
}

static uint32_t intern_resource(struct firefox_tables *t, uint32_t file)
{
	if (file == PROCESSES_NONE)
		return FIREFOX_NONE;
	if (t->resource_of[file] == FIREFOX_NONE) {
		t->resource_of[file] = t->resources->len;
		g_array_append_val(t->resources, file);
	}
	return t->resource_of[file];
}

/* One frame of a place: frame is NULL for a place without a symbol. */
static uint32_t intern_frame(struct firefox_tables *t, uint32_t place,
	const struct symbols_frame *frame, uint16_t depth)
{
	const struct profile_place *p = profile_place(t->input->profile, place);
	const struct functions *functions = t->input->functions;
	const char *name = frame ? frame->function
				 : functions_function(functions, functions->of_place[place])->name;
	struct firefox_function function = {
		.name = intern_string(t, name),
		.source = frame && frame->source ? intern_string(t, frame->source) : FIREFOX_NONE,
		.resource = intern_resource(t, p->file),
	};
	struct firefox_frame key = {
		.line = frame ? frame->line : 0,
		.depth = depth,
		.category = p->kernel ? FIREFOX_KERNEL : FIREFOX_USER,
	};

	key.function = intern(t->functions, &t->function_table, equal_function, &function,
		(uint64_t)function.name << 32 | function.source, function.resource);
	return intern(t->frames, &t->frame_table, equal_frame, &key,
		(uint64_t)key.function << 32 | key.line, (uint64_t)depth << 16 | key.category);
}

static uint32_t intern_stack(struct firefox_tables *t, uint32_t frame, uint32_t caller)
{
	struct firefox_stack key = { frame, caller };

	return intern(t->stacks, &t->stack_table, equal_stack, &key, frame, caller);
}

/* Adds the frames of a place below its caller: its function, and the functions inlined there. */
static uint32_t push_place(struct firefox_tables *t, uint32_t place, uint32_t caller)
{
	const struct symbols_place *known = &t->input->functions->places[place];
	uint32_t i;

	if (!known->count)
		return intern_stack(t, intern_frame(t, place, NULL, 0), caller);
	for (i = known->count; i; i--)
		caller = intern_stack(t, intern_frame(t, place, &known->frames[i - 1],
			(uint16_t)(known->count - i)), caller);
	return caller;
}

uint32_t firefox_tables_stack(struct firefox_tables *t, uint32_t node)
{
	const struct stacks *stacks = &t->input->profile->stacks;
	uint32_t stack = FIREFOX_NONE, n = node;

	g_array_set_size(t->path, 0);
	while (n != STACKS_ROOT && t->stack_of[n] == FIREFOX_NONE) {
		g_array_append_val(t->path, n);
		n = stacks_node(stacks, n)->caller;
	}
	if (n != STACKS_ROOT)
		stack = t->stack_of[n];
	while (t->path->len) {
		n = g_array_index(t->path, uint32_t, t->path->len - 1);
		g_array_set_size(t->path, t->path->len - 1);
		stack = push_place(t, stacks_node(stacks, n)->place, stack);
		t->stack_of[n] = stack;
		g_array_append_val(t->touched, n);
	}
	return stack;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef void put_cell(const struct firefox_tables *t, uint32_t i, FILE *out);

static void put_index(uint32_t index, FILE *out)
{
	if (index == FIREFOX_NONE)
		fputs("null", out);
	else
		fprintf(out, "%" PRIu32, index);
}

static void put_column(const struct firefox_tables *t, const char *name, uint32_t count,
	put_cell *put, FILE *out)
{
	uint32_t i;

	fprintf(out, "\"%s\":[", name);
	for (i = 0; i < count; i++) {
		if (i)
			putc(',', out);
		put(t, i, out);
	}
	fputs("],", out);
}

static void put_zero(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	putc('0', out);
}

static void put_null(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	fputs("null", out);
}

static void put_false(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	fputs("false", out);
}

/* No address in the library: the format means addresses of the image, places have file offsets. */
static void put_no_address(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	fputs("-1", out);
}

static const struct firefox_stack *stack_at(const struct firefox_tables *t, uint32_t i)
{
	return &g_array_index(t->stacks, struct firefox_stack, i);
}

static const struct firefox_frame *frame_at(const struct firefox_tables *t, uint32_t i)
{
	return &g_array_index(t->frames, struct firefox_frame, i);
}

static const struct firefox_function *function_at(const struct firefox_tables *t, uint32_t i)
{
	return &g_array_index(t->functions, struct firefox_function, i);
}

static void put_stack_frame(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(stack_at(t, i)->frame, out);
}

static void put_stack_prefix(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(stack_at(t, i)->caller, out);
}

static void put_stack_category(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(frame_at(t, stack_at(t, i)->frame)->category, out);
}

static void put_frame_function(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(frame_at(t, i)->function, out);
}

static void put_frame_depth(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(frame_at(t, i)->depth, out);
}

static void put_frame_category(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(frame_at(t, i)->category, out);
}

static void put_frame_line(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(frame_at(t, i)->line ? frame_at(t, i)->line : FIREFOX_NONE, out);
}

static void put_function_name(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(function_at(t, i)->name, out);
}

static void put_function_source(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(function_at(t, i)->source, out);
}

static void put_function_resource(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	uint32_t resource = function_at(t, i)->resource;

	if (resource == FIREFOX_NONE)
		fputs("-1", out);
	else
		put_index(resource, out);
}

static void put_resource_lib(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	put_index(t->libs[g_array_index(t->resources, uint32_t, i)], out);
}

/* The string is interned before the tables are written. */
static void put_resource_name(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	const struct processes_file *file = processes_file(t->input->profile->processes,
		g_array_index(t->resources, uint32_t, i));
	g_autofree char *base = g_path_get_basename(file->path);

	put_index(GPOINTER_TO_UINT(g_hash_table_lookup(t->string_indexes, base)) - 1, out);
}

static void put_resource_type(const struct firefox_tables *t, uint32_t i, FILE *out)
{
	fprintf(out, "%d", RESOURCE_LIBRARY);
}

static void put_strings(struct firefox_tables *t, FILE *out)
{
	uint32_t i;

	fputs("\"stringArray\":[", out);
	for (i = 0; i < t->strings->len; i++) {
		g_string_truncate(t->text, 0);
		if (i)
			g_string_append_c(t->text, ',');
		json_append_string(t->text, t->strings->pdata[i]);
		fwrite(t->text->str, 1, t->text->len, out);
	}
	putc(']', out);
}

struct column {
	const char *name;
	put_cell *put;
};

static const struct column stack_columns[] = {
	{ "frame", put_stack_frame }, { "prefix", put_stack_prefix },
	{ "category", put_stack_category }, { "subcategory", put_zero }, { NULL },
};

static const struct column frame_columns[] = {
	{ "address", put_no_address }, { "inlineDepth", put_frame_depth },
	{ "category", put_frame_category }, { "subcategory", put_zero },
	{ "func", put_frame_function }, { "nativeSymbol", put_null },
	{ "innerWindowID", put_zero }, { "implementation", put_null },
	{ "line", put_frame_line }, { "column", put_null }, { NULL },
};

static const struct column function_columns[] = {
	{ "name", put_function_name }, { "isJS", put_false }, { "relevantForJS", put_false },
	{ "resource", put_function_resource }, { "fileName", put_function_source },
	{ "lineNumber", put_null }, { "columnNumber", put_null }, { NULL },
};

static const struct column resource_columns[] = {
	{ "lib", put_resource_lib }, { "name", put_resource_name }, { "host", put_null },
	{ "type", put_resource_type }, { NULL },
};

static const struct column symbol_columns[] = {
	{ "libIndex", put_zero }, { "address", put_zero }, { "name", put_zero },
	{ "functionSize", put_null }, { NULL },
};

static void put_table(const struct firefox_tables *t, const char *name,
	const struct column *columns, uint32_t count, FILE *out)
{
	fprintf(out, "\"%s\":{", name);
	for (; columns->name; columns++)
		put_column(t, columns->name, count, columns->put, out);
	fprintf(out, "\"length\":%" PRIu32 "},", count);
}

void firefox_tables_write(struct firefox_tables *t, FILE *out)
{
	uint32_t i;

	for (i = 0; i < t->resources->len; i++) {
		const struct processes_file *file = processes_file(
			t->input->profile->processes, g_array_index(t->resources, uint32_t, i));
		g_autofree char *base = g_path_get_basename(file->path);

		intern_string(t, base);
	}
	put_table(t, "stackTable", stack_columns, t->stacks->len, out);
	put_table(t, "frameTable", frame_columns, t->frames->len, out);
	put_table(t, "funcTable", function_columns, t->functions->len, out);
	put_table(t, "resourceTable", resource_columns, t->resources->len, out);
	put_table(t, "nativeSymbols", symbol_columns, 0, out);
	put_strings(t, out);
}
