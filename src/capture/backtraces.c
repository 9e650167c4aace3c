/* SPDX-License-Identifier: MIT */
/* Names for the addresses of kprof_backtrace: see backtraces.h. */
#include "capture/backtraces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture/processes.h"
#include "capture/profile.h"
#include "capture/symbolize.h"
#include "capture/table.h"
#include "sys/proc.h"

/* Cancellation is checked once for this many records, which take well below a millisecond. */
#define CANCEL_RECORDS 4096

/* The captures of a server are one section. */
#define SECTION 0

/* An address as a position in a file, so that it is symbolized once. */
struct backtraces_place {
	uint32_t file;
	uint64_t offset;
	struct symbols_place found;
};

struct backtraces {
	struct processes *processes;
	GHashTable *pids; /* of the processes that the capture has */
	bool has_kernel;  /* a mapping of the kernel, which tells it from others */
	GArray *places;	  /* struct backtraces_place */
	struct table table; /* of them */
	struct symbols_arena *arena;
};

struct backtraces *backtraces_create(void)
{
	struct backtraces *b = g_new0(struct backtraces, 1);

	b->processes = processes_create();
	b->pids = g_hash_table_new(g_direct_hash, g_direct_equal);
	b->places = g_array_new(FALSE, FALSE, sizeof(struct backtraces_place));
	b->arena = symbols_arena_create();
	return b;
}

void backtraces_destroy(struct backtraces *b)
{
	if (!b)
		return;
	processes_destroy(b->processes);
	g_hash_table_destroy(b->pids);
	g_array_free(b->places, TRUE);
	table_fini(&b->table);
	symbols_arena_destroy(b->arena);
	g_free(b);
}

/* ---- mappings -------------------------------------------------------------------------------- */

static void note_process(struct backtraces *b, const struct decode_record *record)
{
	if (record->type == KPROF_REC_KERNEL_MMAP)
		b->has_kernel = true;
	else if (record->type == KPROF_REC_MMAP)
		g_hash_table_add(b->pids, GUINT_TO_POINTER(record->mmap.pid));
	else if (record->type == KPROF_REC_FORK) /* with the mappings of its parent */
		g_hash_table_add(b->pids, GUINT_TO_POINTER(record->fork.pid));
}

int backtraces_learn(struct backtraces *b, struct decoder *decoder, const struct cancel *cancel)
{
	struct decode_record record;
	uint32_t n = 0;
	int ret;

	while ((ret = decode_next(decoder, &record, NULL)) > 0 || ret == -EBADMSG) {
		if (n++ % CANCEL_RECORDS == 0 && cancel_requested(cancel))
			return -EINTR;
		if (ret < 0)
			continue;
		note_process(b, &record);
		profile_learn(b->processes, SECTION, &record);
	}
	return ret;
}

bool backtraces_has_process(const struct backtraces *b, uint32_t pid)
{
	return g_hash_table_contains(b->pids, GUINT_TO_POINTER(pid));
}

static void add_mapping(struct backtraces *b, const struct proc_mapping *mapping, uint32_t pid,
	uint64_t time_ns)
{
	const struct kprof_rec_mmap mmap = {
		.time_ns = time_ns,
		.addr = mapping->start,
		.size = mapping->size,
		.offset = mapping->offset,
		.pid = pid,
	};
	const struct kprof_rec_build_id build_id = {
		.time_ns = time_ns,
		.addr = mapping->start,
		.pid = pid,
		.length = mapping->build_id_length,
	};
	const struct kprof_rec_file_id file_id = {
		.time_ns = time_ns,
		.addr = mapping->start,
		.pid = pid,
	};
	const struct symbols_file_id id = {
		.dev_major = mapping->dev_major,
		.dev_minor = mapping->dev_minor,
		.inode = mapping->inode,
	};

	processes_add_mapping(b->processes, SECTION, &mmap, mapping->path);
	if (build_id.length && build_id.length <= KPROF_BUILD_ID_MAX)
		processes_add_build_id(b->processes, SECTION, &build_id, mapping->build_id);
	else if (id.inode)
		processes_add_file_id(b->processes, SECTION, &file_id, &id);
}

/* Processes of this moment run on the running kernel. */
static void add_kernel(struct backtraces *b, uint64_t time_ns)
{
	struct proc_mapping mapping = { .size = 1, .path = "[kernel.kallsyms]" };
	struct proc_kernel kernel;

	b->has_kernel = true;
	if (proc_kernel_identity(NULL, NULL, &kernel))
		return;
	mapping.start = kernel.start;
	mapping.build_id = kernel.build_id;
	mapping.build_id_length = kernel.build_id_length;
	add_mapping(b, &mapping, KPROF_PID_KERNEL, time_ns);
}

void backtraces_add_mapping(
	struct backtraces *b, const struct proc_mapping *mapping, uint64_t time_ns)
{
	if (!b->has_kernel)
		add_kernel(b, time_ns);
	add_mapping(b, mapping, (uint32_t)mapping->pid, time_ns);
}

void backtraces_finish(struct backtraces *b)
{
	processes_finish(b->processes);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool equal_place(const void *items, uint32_t i, const void *key)
{
	const struct backtraces_place *a = (const struct backtraces_place *)items + i, *p = key;

	return a->offset == p->offset && a->file == p->file;
}

static uint32_t hash_place(const struct backtraces_place *place)
{
	return table_hash(place->offset, place->file);
}

/* A return address is behind the call: the function is that of the byte before it. */
static struct backtraces_place find_place(
	struct backtraces *b, uint32_t pid, uint64_t time_ns, uint64_t address)
{
	struct processes_hit hit;

	processes_find_user(b->processes,
		processes_find_life(b->processes, SECTION, pid, time_ns), address - 1, time_ns, &hit);
	return (struct backtraces_place){ .file = hit.file, .offset = hit.offset };
}

void backtraces_add_address(
	struct backtraces *b, uint32_t pid, uint64_t time_ns, uint64_t address)
{
	struct backtraces_place place = find_place(b, pid, time_ns, address);

	if (place.file != PROCESSES_NONE && b->places->len < BACKTRACES_ADDRESSES_MAX)
		table_intern(&b->table, b->places, hash_place(&place), equal_place, &place);
}

static int compare_files(const void *a, const void *b)
{
	const struct backtraces_place *x = *(struct backtraces_place *const *)a,
				      *y = *(struct backtraces_place *const *)b;

	return x->file < y->file ? -1 : x->file > y->file;
}

static int resolve_file(struct backtraces *b, struct symbols *symbols,
	const struct symbols_how *how, struct backtraces_place **places, size_t count)
{
	g_autofree struct symbols_place *found = g_new0(struct symbols_place, count);
	g_autofree uint64_t *offsets = g_new(uint64_t, count);
	struct symbolize_query query;
	size_t i;
	int ret;

	for (i = 0; i < count; i++)
		offsets[i] = places[i]->offset;
	symbolize_describe(b->processes, processes_file(b->processes, places[0]->file), &query);
	ret = symbols_resolve(symbols, &query.file, offsets, count, how, b->arena, found);
	for (i = 0; i < count; i++)
		places[i]->found = found[i];
	return ret;
}

int backtraces_resolve(
	struct backtraces *b, struct symbols *symbols, const struct symbols_how *how)
{
	const size_t count = b->places->len;
	g_autofree struct backtraces_place **order = g_new(struct backtraces_place *, count);
	struct symbols_how names_only = *how;
	size_t first, end;
	int ret = 0;

	names_only.flags = 0;
	names_only.arena_max = SYMBOLIZE_BYTES_MAX;
	for (first = 0; first < count; first++)
		order[first] = &g_array_index(b->places, struct backtraces_place, first);
	if (count)
		qsort(order, count, sizeof(order[0]), compare_files);
	for (first = 0; first < count && ret != -ECANCELED; first = end) {
		for (end = first; end < count && order[end]->file == order[first]->file;)
			end++;
		ret = resolve_file(b, symbols, &names_only, order + first, end - first);
	}
	return ret == -ECANCELED ? ret : 0;
}

void backtraces_append_name(struct backtraces *b, uint32_t pid, uint64_t time_ns,
	uint64_t address, GString *out)
{
	const struct backtraces_place key = find_place(b, pid, time_ns, address);
	uint32_t i = table_find(&b->table, hash_place(&key), equal_place, b->places->data, &key);
	const struct symbols_place *place;

	place = i == TABLE_NONE ? NULL : &g_array_index(b->places, struct backtraces_place, i).found;
	if (!place || !place->count) {
		g_string_append(out, "[unknown]");
		return;
	}
	text_append(out, place->frames[place->count - 1].function);
	if (place->size)
		g_string_append_printf(out, "+0x%" PRIx64, key.offset + 1 - place->start);
	g_string_append(out, " (");
	text_append(out, processes_file(b->processes, key.file)->path);
	g_string_append_c(out, ')');
}
