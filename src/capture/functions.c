/* SPDX-License-Identifier: MIT */
/* The functions of a profile: see functions.h. */
#include "capture/functions.h"

#include <inttypes.h>
#include <string.h>

#include "capture/table.h"
#include "symbolizer/remote.h"

#define UNKNOWN "[unknown]"

/* ---- source of symbols ----------------------------------------------------------------------- */

struct symbols *functions_open_symbols(const struct helpers_options *options)
{
	static const struct helpers_options plain;

	return symbols_create(
		&remote_source, remote_create(options ? options : &plain), SYMBOLS_CACHE_BYTES);
}

/* ---- functions ------------------------------------------------------------------------------- */

struct functions_builder {
	struct functions *functions;
	const struct profile *profile;
	const char **paths; /* of files; NULL if not used yet */
	struct table table;
};

static bool equal_function(const void *items, uint32_t i, const void *key)
{
	const struct functions_function *a = (const struct functions_function *)items + i, *b = key;

	return a->name == b->name && a->file == b->file && a->resolved == b->resolved;
}

static uint32_t intern_function(struct functions_builder *b, const char *name, const char *file,
	bool resolved, bool replaced)
{
	struct functions_function key = {
		.name = g_string_chunk_insert_const(b->functions->strings, name),
		.file = file,
		.resolved = resolved,
		.replaced = replaced,
	};

	return table_intern(&b->table, b->functions->list,
		table_hash((uintptr_t)key.name, (uintptr_t)file), equal_function, &key);
}

static uint32_t intern_unresolved(struct functions_builder *b, const struct profile_place *place,
	const char *file, const struct symbols_place *found)
{
	g_autofree char *name = NULL, *base = NULL;

	if (place->kernel || place->file == PROCESSES_NONE) {
		name = g_strdup_printf("0x%" PRIx64, place->offset);
	} else {
		base = g_path_get_basename(*file ? file : "-");
		name = g_strdup_printf("%s+0x%" PRIx64 "%s", base,
			found->located ? found->address : place->offset,
			found->replaced ? " [replaced]" : "");
	}
	return intern_function(b, name, file, false, found->replaced);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void intern_inlined(struct functions_builder *b, uint32_t place, const char *path)
{
	const struct symbols_place *found = &b->functions->places[place];
	uint32_t i, function;

	b->functions->inlined_at[place] = b->functions->inlined->len;
	for (i = 0; i + 1 < found->count; i++) {
		function = intern_function(b, found->frames[i].function, path, true, false);
		g_array_append_val(b->functions->inlined, function);
	}
}

static const char *path_of(struct functions_builder *b, uint32_t file)
{
	if (file >= processes_file_count(b->profile->processes))
		return "-";
	if (!b->paths[file])
		b->paths[file] = g_string_chunk_insert_const(
			b->functions->strings, processes_file(b->profile->processes, file)->path);
	return b->paths[file];
}

static void name_place(struct functions_builder *b, uint32_t i)
{
	const struct profile_place *place = profile_place(b->profile, i);
	const struct symbols_place *found = &b->functions->places[i];
	const char *path = path_of(b, place->file);

	if (place->text)
		b->functions->of_place[i] = intern_function(b, *place->text ? place->text : UNKNOWN, path,
			true, false);
	else if (found->count)
		b->functions->of_place[i] = intern_function(b,
			found->frames[found->count - 1].function, path, true, false);
	else
		b->functions->of_place[i] = intern_unresolved(b, place, path, found);
	intern_inlined(b, i, path);
}

struct functions *functions_create(
	const struct profile *profile, struct symbols *symbols, const struct symbols_how *how)
{
	static const struct symbols_how plain = {.cancel_fd = -1};
	struct functions *functions = g_new0(struct functions, 1);
	struct functions_builder b = {.functions = functions, .profile = profile};
	uint32_t i;

	functions->list = g_array_new(FALSE, FALSE, sizeof(struct functions_function));
	functions->strings = g_string_chunk_new(1 << 16);
	functions->of_place = g_new(uint32_t, profile->places->len + 1);
	functions->inlined_at = g_new(uint32_t, profile->places->len + 1);
	functions->inlined = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	functions->places = g_new0(struct symbols_place, profile->places->len + 1);
	if (symbols)
		symbolize_places(
			profile, symbols, how ? how : &plain, functions->places, functions->arenas);
	b.paths = g_new0(const char *, processes_file_count(profile->processes) + 1);
	for (i = 0; i < profile->places->len; i++)
		name_place(&b, i);
	g_free(b.paths);
	table_fini(&b.table);
	return functions;
}

const char *functions_unresolved_name(
	GStringChunk *strings, const struct functions_function *function)
{
	g_autofree char *base = NULL, *name = NULL;

	if (*function->file == '\0' || strcmp(function->file, "-") == 0)
		return UNKNOWN;
	base = g_path_get_basename(function->file);
	name = g_strdup_printf(*base == '[' ? "%s%s" : "[%s%s]", base,
		function->replaced ? " replaced" : "");
	return g_string_chunk_insert_const(strings, name);
}

/* The function that stands for the addresses of its file; it is made by the first one. */
static uint32_t merged_function(
	struct functions *functions, const struct functions_function *function, GHashTable *known)
{
	const struct functions_function merged = {
		.name = functions_unresolved_name(functions->strings, function),
		.file = function->file,
		.replaced = function->replaced,
	};
	char *key = g_strdup_printf("%s/%d", function->file, function->replaced);
	gpointer found;

	if (g_hash_table_lookup_extended(known, key, NULL, &found)) {
		g_free(key);
		return GPOINTER_TO_UINT(found);
	}
	g_hash_table_insert(known, key, GUINT_TO_POINTER(functions->list->len));
	g_array_append_val(functions->list, merged);
	return functions->list->len - 1;
}

void functions_merge_unresolved(struct functions *functions, const struct profile *profile)
{
	g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	guint i;

	for (i = 0; i < profile->places->len; i++) {
		const struct functions_function function =
			*functions_function(functions, functions->of_place[i]);

		if (!function.resolved)
			functions->of_place[i] = merged_function(functions, &function, known);
	}
}

void functions_destroy(struct functions *functions)
{
	unsigned int i;

	if (!functions)
		return;
	g_array_free(functions->list, TRUE);
	g_string_chunk_free(functions->strings);
	for (i = 0; i < SYMBOLIZE_THREADS; i++)
		symbols_arena_destroy(functions->arenas[i]);
	g_free(functions->of_place);
	g_free(functions->inlined_at);
	g_array_free(functions->inlined, TRUE);
	g_free(functions->places);
	g_free(functions);
}
