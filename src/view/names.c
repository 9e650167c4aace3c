/* SPDX-License-Identifier: MIT */
/* The functions of a profile: see names.h. */
#include "view/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sym/proto.h"
#include "sym/remote.h"
#include "view/table.h"

/* ---- whom to ask ------------------------------------------------------------------------------ */

struct symbols *names_open_symbols(const struct helpers_options *options)
{
	static const struct helpers_options plain;

	return symbols_create(&remote_source, remote_create(options ? options : &plain),
		SYMBOLS_CACHE_BYTES);
}

/* ---- functions -------------------------------------------------------------------------------- */

struct builder {
	struct names *names;
	const struct profile *profile;
	struct symbols *symbols; /* or NULL */
	const struct symbols_how *how;
	struct table table;
};

static bool equal_function(const void *items, uint32_t i, const void *key)
{
	const struct names_function *a = (const struct names_function *)items + i, *b = key;

	return a->name == b->name && a->file == b->file && a->resolved == b->resolved;
}

static uint32_t intern_function(struct builder *b, const char *name, const char *file,
	bool resolved)
{
	struct names_function key = {
		.name = g_string_chunk_insert_const(b->names->strings, name),
		.file = file,
		.resolved = resolved,
	};
	uint32_t hash = table_hash((uintptr_t)key.name, (uintptr_t)file);
	GArray *functions = b->names->functions;
	uint32_t i = table_find(&b->table, hash, equal_function, functions->data, &key);

	if (i == TABLE_NONE) {
		i = functions->len;
		g_array_append_val(functions, key);
		table_add(&b->table, hash, i);
	}
	return i;
}

static uint32_t intern_unresolved(struct builder *b, const struct profile_place *place,
	const char *file)
{
	g_autofree char *name = NULL, *base = NULL;

	if (place->kernel || place->file == PROCESSES_NONE) {
		name = g_strdup_printf("0x%" PRIx64, place->offset);
	} else {
		base = g_path_get_basename(*file ? file : "-");
		name = g_strdup_printf("%s+0x%" PRIx64, base, place->offset);
	}
	return intern_function(b, name, file, false);
}

/* ---- batches ---------------------------------------------------------------------------------- */

/* The order in which places are asked about: file by file. */
static uint32_t *order_by_file(const struct profile *profile, uint32_t **ends)
{
	uint32_t files = processes_file_count(profile->processes), i, sum = 0;
	uint32_t *order = g_new(uint32_t, profile->places->len + 1);

	/* the last group is of places without a file */
	*ends = g_new0(uint32_t, files + 1);
	for (i = 0; i < profile->places->len; i++)
		(*ends)[MIN(profile_place(profile, i)->file, files)]++;
	for (i = 0; i <= files; i++) {
		uint32_t count = (*ends)[i];

		(*ends)[i] = sum;
		sum += count;
	}
	for (i = 0; i < profile->places->len; i++)
		order[(*ends)[MIN(profile_place(profile, i)->file, files)]++] = i;
	return order;
}

static void describe_kernel(const struct processes *processes, uint32_t i,
	struct symbols_kernel *kernel)
{
	const struct processes_kernel *k = processes_kernel(processes, i);

	kernel->build_id = k->build_id;
	kernel->build_id_length = k->build_id_length;
	kernel->start = k->start;
}

static enum symbols_kind kind_of(const struct processes_file *file)
{
	if (file->kernel != PROCESSES_NONE)
		return SYMBOLS_KERNEL;
	if (file->process != PROCESSES_NONE)
		return SYMBOLS_JIT;
	return strcmp(file->path, "[vdso]") == 0 ? SYMBOLS_VDSO : SYMBOLS_ELF;
}

void names_describe(const struct processes *processes, const struct processes_file *file,
	struct names_question *question)
{
	uint32_t running = file->kernel != PROCESSES_NONE ? file->kernel : file->ran_on, i;

	question->file = (struct symbols_file){
		.kind = kind_of(file),
		.path = file->path,
		.build_id = file->build_id,
		.build_id_length = file->build_id_length,
		.mappings = question->mappings,
		.mapping_count = file->mapping_count,
	};
	for (i = 0; i < file->mapping_count; i++) { /* the last one first */
		const struct processes_mapping *from = &file->mappings[(file->mapping_next +
			PROCESSES_FILE_MAPPINGS - 1 - i) % PROCESSES_FILE_MAPPINGS];

		question->mappings[i].pid = from->pid;
		question->mappings[i].start = from->start;
		question->mappings[i].end = from->end;
	}
	if (running != PROCESSES_NONE) {
		describe_kernel(processes, running, &question->kernel);
		question->file.kernel = &question->kernel;
	}
}

/* With lines where there is time for them, else without. */
static void ask_in_time(struct builder *b, const struct symbols_file *question,
	const uint64_t *offsets, size_t count, struct symbols_place *found)
{
	struct symbols_how how = *b->how;
	int ret = -ETIMEDOUT;

	how.arena_max = NAMES_BYTES_MAX;
	if (symbols_arena_bytes(b->names->arena) >= how.arena_max)
		return;
	if (!how.deadline_ns || proto_now_ns() < how.deadline_ns)
		ret = symbols_resolve(b->symbols, question, offsets, count, &how,
			b->names->arena, found);
	if (ret != -ETIMEDOUT)
		return;
	/* what can't be told in time is shown as what can't be told */
	how.flags = 0;
	how.deadline_ns = 0;
	(void)symbols_resolve(b->symbols, question, offsets, count, &how, b->names->arena, found);
}

static void ask_symbols(struct builder *b, const struct processes_file *file,
	const uint64_t *offsets, size_t count, struct symbols_place *found)
{
	struct names_question question;

	names_describe(b->profile->processes, file, &question);
	ask_in_time(b, &question.file, offsets, count, found);
}

static void intern_inlined(struct builder *b, uint32_t place, const char *path)
{
	const struct symbols_place *found = &b->names->places[place];
	uint32_t i, function;

	b->names->inlined_at[place] = b->names->inlined->len;
	for (i = 0; i + 1 < found->count; i++) {
		function = intern_function(b, found->frames[i].function, path, true);
		g_array_append_val(b->names->inlined, function);
	}
}

/* Names the places order[0] to order[count - 1], all of one file or (NULL) of none. */
static void name_batch(struct builder *b, const struct processes_file *file, const uint32_t *order,
	uint32_t count)
{
	g_autofree uint64_t *offsets = g_new(uint64_t, count);
	g_autofree struct symbols_place *found = g_new0(struct symbols_place, count);
	const char *path = file ? g_string_chunk_insert_const(b->names->strings, file->path) : "-";
	uint32_t i;

	for (i = 0; i < count; i++)
		offsets[i] = profile_place(b->profile, order[i])->offset;
	if (file && b->symbols)
		ask_symbols(b, file, offsets, count, found);
	for (i = 0; i < count; i++) {
		const struct profile_place *place = profile_place(b->profile, order[i]);
		const struct symbols_frame *frames = found[i].frames;

		b->names->places[order[i]] = found[i];
		b->names->of_place[order[i]] = found[i].count
			? intern_function(b, frames[found[i].count - 1].function, path, true)
			: intern_unresolved(b, place, path);
		intern_inlined(b, order[i], path);
	}
}

struct names *names_create(const struct profile *profile, struct symbols *symbols,
	const struct symbols_how *how)
{
	static const struct symbols_how plain = { .cancel_fd = -1 };
	struct names *names = g_new0(struct names, 1);
	struct builder b = { names, profile, symbols, how ? how : &plain, { NULL } };
	uint32_t files = processes_file_count(profile->processes), first = 0, i;
	g_autofree uint32_t *ends = NULL;
	g_autofree uint32_t *order = order_by_file(profile, &ends);

	names->functions = g_array_new(FALSE, FALSE, sizeof(struct names_function));
	names->strings = g_string_chunk_new(1 << 16);
	names->arena = symbols_arena_create();
	names->of_place = g_new(uint32_t, profile->places->len + 1);
	names->inlined_at = g_new(uint32_t, profile->places->len + 1);
	names->inlined = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	names->places = g_new0(struct symbols_place, profile->places->len + 1);
	for (i = 0; i <= files; i++) {
		const struct processes_file *file =
			i < files ? processes_file(profile->processes, i) : NULL;

		if (ends[i] > first)
			name_batch(&b, file, order + first, ends[i] - first);
		first = ends[i];
	}
	table_fini(&b.table);
	return names;
}

void names_destroy(struct names *names)
{
	if (!names)
		return;
	g_array_free(names->functions, TRUE);
	g_string_chunk_free(names->strings);
	symbols_arena_destroy(names->arena);
	g_free(names->of_place);
	g_free(names->inlined_at);
	g_array_free(names->inlined, TRUE);
	g_free(names->places);
	g_free(names);
}
