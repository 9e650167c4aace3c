/* SPDX-License-Identifier: MIT */
/* Unwind tables of files: see unwind_table.h. */
#include "symbolizer/unwind_table.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "symbolizer/proto.h"

/* A row is found in some microseconds; a parser that takes longer than this hangs. */
#define ROW_REQUEST_NS (2 * NSEC_PER_SEC)

/*
 * Rows that are cached, of some 600 bytes; at this number all are dropped and requested again. A
 * capture of a busy machine has some thousand different return addresses.
 */
#define ROWS_MAX 16384

/* Parsers at a time, each a process; beyond that the least recently used one is ended. */
#define PARSERS_MAX 24

struct table_file {
	int connection; /* to its parser; -1 if there is none, or it failed */
	bool evicted;   /* its parser was ended to make room for another */
	uint64_t used;  /* number of its last request */
	/* to start the parser again; owns the strings and bytes */
	struct symbols_file file;
	char *path;
	uint8_t *build_id, *kernel_build_id;
	struct symbols_mapping *mappings;
	struct symbols_kernel kernel;
};

struct table_place {
	uint32_t file;
	uint64_t offset;
};

struct unwind_table {
	struct symbols *symbols;
	const struct symbols_how *how;
	GHashTable *files; /* number -> struct table_file */
	GHashTable *known; /* struct table_place -> struct unwind_row, NULL if there is none */
	unsigned int parsers;
	uint64_t requests;
	struct proto_message *message;
};

static guint hash_place(gconstpointer key)
{
	const struct table_place *place = key;

	return (guint)((place->offset ^ place->offset >> 32) * 0x9e3779b1u) ^ place->file;
}

static gboolean equal_place(gconstpointer a, gconstpointer b)
{
	const struct table_place *x = a, *y = b;

	return x->offset == y->offset && x->file == y->file;
}

static void free_file(gpointer data)
{
	struct table_file *f = data;

	if (f->connection >= 0)
		close(f->connection);
	g_free(f->path);
	g_free(f->build_id);
	g_free(f->kernel_build_id);
	g_free(f->mappings);
	g_free(f);
}

struct unwind_table *unwind_table_create(struct symbols *symbols, const struct symbols_how *how)
{
	struct unwind_table *table = g_new0(struct unwind_table, 1);

	table->symbols = symbols;
	table->how = how;
	table->files = g_hash_table_new_full(NULL, NULL, NULL, free_file);
	table->known = g_hash_table_new_full(hash_place, equal_place, g_free, g_free);
	table->message = g_new(struct proto_message, 1);
	return table;
}

void unwind_table_destroy(struct unwind_table *table)
{
	if (!table)
		return;
	g_hash_table_destroy(table->files);
	g_hash_table_destroy(table->known);
	g_free(table->message);
	g_free(table);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct table_file *copy_file(const struct symbols_file *from)
{
	struct table_file *f = g_new0(struct table_file, 1);

	f->file = *from;
	f->file.path = f->path = g_strdup(from->path);
	f->file.build_id = f->build_id = g_memdup2(from->build_id, from->build_id_length);
	f->mappings = g_memdup2(from->mappings, from->mapping_count * sizeof(*from->mappings));
	f->file.mappings = f->mappings;
	if (from->kernel) {
		f->kernel = *from->kernel;
		f->kernel_build_id =
			g_memdup2(from->kernel->build_id, from->kernel->build_id_length);
		f->kernel.build_id = f->kernel_build_id;
		f->file.kernel = &f->kernel;
	}
	f->connection = -1;
	return f;
}

static void disconnect(struct unwind_table *table, struct table_file *f)
{
	if (f->connection < 0)
		return;
	close(f->connection);
	f->connection = -1;
	table->parsers--;
}

static void end_oldest(struct unwind_table *table)
{
	struct table_file *f, *oldest = NULL;
	GHashTableIter iter;

	g_hash_table_iter_init(&iter, table->files);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&f))
		if (f->connection >= 0 && (!oldest || f->used < oldest->used))
			oldest = f;
	if (!oldest)
		return;
	disconnect(table, oldest);
	oldest->evicted = true;
}

static void start_parser(struct unwind_table *table, struct table_file *f)
{
	struct symbols_how how = *table->how;
	int ret;

	if (table->parsers >= PARSERS_MAX)
		end_oldest(table);
	how.flags = 0;
	f->evicted = false;
	ret = symbols_connect(table->symbols, &f->file, &how);
	if (ret < 0)
		return;
	f->connection = ret;
	f->used = ++table->requests;
	table->parsers++;
}

bool unwind_table_has_file(const struct unwind_table *table, uint32_t number)
{
	return g_hash_table_contains(table->files, GUINT_TO_POINTER(number));
}

void unwind_table_add_file(
	struct unwind_table *table, uint32_t number, const struct symbols_file *file)
{
	struct table_file *f = copy_file(file);

	g_hash_table_replace(table->files, GUINT_TO_POINTER(number), f);
	start_parser(table, f);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Requests a row from the parser. NULL if no row; after an error the parser is disconnected. */
static struct unwind_row *request_row(
	struct unwind_table *table, struct table_file *f, uint64_t offset)
{
	struct proto_message *message = table->message;
	struct proto_wait wait = {table->how->cancel_fd, proto_now_ns() + ROW_REQUEST_NS};
	struct unwind_row row = {0};
	int ret;

	if (table->how->deadline_ns)
		wait.deadline_ns = MIN(wait.deadline_ns, table->how->deadline_ns);
	f->used = ++table->requests;
	proto_init(message, PROTO_ROW);
	message->address = offset;
	ret = proto_send(f->connection, message, -1, &wait);
	if (!ret)
		ret = proto_receive(f->connection, message, NULL, &wait);
	if (!ret && message->head.type == PROTO_ROW && message->head.error)
		return NULL;
	if (ret || message->head.type != PROTO_ROW || message->head.count > sizeof(row)) {
		disconnect(table, f);
		return NULL;
	}
	memcpy(&row, message->tail.bytes, message->head.count);
	if (!unwind_row_is_sound(&row, message->head.count)) {
		disconnect(table, f);
		return NULL;
	}
	return g_memdup2(&row, unwind_row_bytes(&row));
}

const struct unwind_row *unwind_table_find(
	struct unwind_table *table, uint32_t number, uint64_t offset)
{
	const struct table_place key = {number, offset};
	struct table_file *f;
	gpointer known;

	if (g_hash_table_lookup_extended(table->known, &key, NULL, &known))
		return known;
	f = g_hash_table_lookup(table->files, GUINT_TO_POINTER(number));
	if (f && f->evicted)
		start_parser(table, f);
	if (!f || f->connection < 0)
		return NULL;
	if (g_hash_table_size(table->known) >= ROWS_MAX)
		g_hash_table_remove_all(table->known);
	known = request_row(table, f, offset);
	g_hash_table_insert(table->known, g_memdup2(&key, sizeof(key)), known);
	return known;
}
