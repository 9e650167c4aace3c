/* SPDX-License-Identifier: MIT */
/* The tables of a thread for the Firefox Profiler: see firefox_tables.h. */
#include "formats/firefox_tables.h"

#include <inttypes.h>
#include <string.h>

#include "base/strhash.h"
#include "formats/json.h"

/* resourceTable.type: a library. */
#define RESOURCE_LIBRARY "1"

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
	t->resources = g_array_new(FALSE, FALSE, sizeof(struct firefox_resource));
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

static struct firefox_resource *resource_at(const struct firefox_tables *t, uint32_t i)
{
	return &g_array_index(t->resources, struct firefox_resource, i);
}

void firefox_tables_reset(struct firefox_tables *t)
{
	uint32_t i;

	for (i = 0; i < t->touched->len; i++)
		t->stack_of[g_array_index(t->touched, uint32_t, i)] = FIREFOX_NONE;
	for (i = 0; i < t->resources->len; i++)
		t->resource_of[resource_at(t, i)->file] = FIREFOX_NONE;
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
		struct firefox_resource resource = {.file = file, .lib = t->libs[file]};

		t->resource_of[file] = t->resources->len;
		g_array_append_val(t->resources, resource);
	}
	return t->resource_of[file];
}

/* One frame of a place: frame is NULL for a place without a symbol. */
static uint32_t intern_frame(
	struct firefox_tables *t, uint32_t place, const struct symbols_frame *frame, uint32_t depth)
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
		.line = frame && frame->line ? frame->line : FIREFOX_NONE,
		.depth = depth,
		.category = p->kernel ? FIREFOX_KERNEL : FIREFOX_USER,
	};

	key.function = table_intern(&t->function_table, t->functions,
		table_hash((uint64_t)function.name << 32 | function.source, function.resource),
		equal_function, &function);
	return table_intern(&t->frame_table, t->frames,
		table_hash((uint64_t)key.function << 32 | key.line,
			(uint64_t)depth << 16 | key.category),
		equal_frame, &key);
}

static uint32_t intern_stack(struct firefox_tables *t, uint32_t frame, uint32_t caller)
{
	struct firefox_stack key = {
		.frame = frame,
		.caller = caller,
		.category = g_array_index(t->frames, struct firefox_frame, frame).category,
	};

	return table_intern(
		&t->stack_table, t->stacks, table_hash(frame, caller), equal_stack, &key);
}

/* Adds the frames of a place below its caller: its function, and the functions inlined there. */
static uint32_t push_place(struct firefox_tables *t, uint32_t place, uint32_t caller)
{
	const struct symbols_place *known = &t->input->functions->places[place];
	uint32_t i;

	if (!known->count)
		return intern_stack(t, intern_frame(t, place, NULL, 0), caller);
	for (i = known->count; i; i--)
		caller = intern_stack(
			t, intern_frame(t, place, &known->frames[i - 1], known->count - i), caller);
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

/* A column shows a member of each entry, an index or a number; or one text for all of them. */
struct column {
	const char *name;
	const char *text; /* of a member that is FIREFOX_NONE; NULL is "null" */
	size_t member;    /* its offset in the entry */
};

#define ALL_ROWS SIZE_MAX /* the text is that of all rows */

static const struct column stack_columns[] = {
	{"frame", NULL, offsetof(struct firefox_stack, frame)},
	{"prefix", NULL, offsetof(struct firefox_stack, caller)},
	{"category", NULL, offsetof(struct firefox_stack, category)},
	{"subcategory", "0", ALL_ROWS},
	{NULL},
};

/* The address is unknown: the format has addresses of the image, and places have file offsets. */
static const struct column frame_columns[] = {
	{"address", "-1", ALL_ROWS},
	{"inlineDepth", NULL, offsetof(struct firefox_frame, depth)},
	{"category", NULL, offsetof(struct firefox_frame, category)},
	{"subcategory", "0", ALL_ROWS},
	{"func", NULL, offsetof(struct firefox_frame, function)},
	{"nativeSymbol", NULL, ALL_ROWS},
	{"innerWindowID", "0", ALL_ROWS},
	{"implementation", NULL, ALL_ROWS},
	{"line", NULL, offsetof(struct firefox_frame, line)},
	{"column", NULL, ALL_ROWS},
	{NULL},
};

static const struct column function_columns[] = {
	{"name", NULL, offsetof(struct firefox_function, name)},
	{"isJS", "false", ALL_ROWS},
	{"relevantForJS", "false", ALL_ROWS},
	{"resource", "-1", offsetof(struct firefox_function, resource)},
	{"fileName", NULL, offsetof(struct firefox_function, source)},
	{"lineNumber", NULL, ALL_ROWS},
	{"columnNumber", NULL, ALL_ROWS},
	{NULL},
};

static const struct column resource_columns[] = {
	{"lib", NULL, offsetof(struct firefox_resource, lib)},
	{"name", NULL, offsetof(struct firefox_resource, name)},
	{"host", NULL, ALL_ROWS},
	{"type", RESOURCE_LIBRARY, ALL_ROWS},
	{NULL},
};

#define NO_SYMBOLS                                                                                 \
	"\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"       \
	"\"length\":0},"

static void put_column(const struct column *column, GArray *entries, FILE *out)
{
	const char *entry = entries->data;
	uint32_t i, value = FIREFOX_NONE;

	fprintf(out, "\"%s\":[", column->name);
	for (i = 0; i < entries->len; i++, entry += g_array_get_element_size(entries)) {
		if (i)
			putc(',', out);
		if (column->member != ALL_ROWS)
			memcpy(&value, entry + column->member, sizeof(value));
		if (value == FIREFOX_NONE)
			fputs(column->text ? column->text : "null", out);
		else
			fprintf(out, "%" PRIu32, value);
	}
	fputs("],", out);
}

static void put_table(const char *name, const struct column *columns, GArray *entries, FILE *out)
{
	fprintf(out, "\"%s\":{", name);
	for (; columns->name; columns++)
		put_column(columns, entries, out);
	fprintf(out, "\"length\":%" PRIu32 "},", entries->len);
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

void firefox_tables_write(struct firefox_tables *t, FILE *out)
{
	uint32_t i;

	for (i = 0; i < t->resources->len; i++) {
		struct firefox_resource *resource = resource_at(t, i);
		const struct processes_file *file =
			processes_file(t->input->profile->processes, resource->file);
		g_autofree char *base = g_path_get_basename(file->path);

		resource->name = intern_string(t, base);
	}
	put_table("stackTable", stack_columns, t->stacks, out);
	put_table("frameTable", frame_columns, t->frames, out);
	put_table("funcTable", function_columns, t->functions, out);
	put_table("resourceTable", resource_columns, t->resources, out);
	fputs(NO_SYMBOLS, out);
	put_strings(t, out);
}
