/* SPDX-License-Identifier: MIT */
/* How the functions of files are unwound: see rows.h. */
#include "symbolizer/unwind_table.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "symbolizer/proto.h"

/* A row is found in some microseconds; a parser that needs longer than this does not end. */
#define ROWS_ASK_NS (2 * NSEC_PER_SEC)

/*
 * Rows that are kept, of some 600 bytes; beyond it all are forgotten and asked for again. A capture
 * of a busy machine has some thousand different return addresses.
 */
#define ROWS_MAX 16384

/* Parsers at a time, each a process; beyond it the one asked longest ago ends. */
#define PARSERS_MAX 24

struct file {
	int connection; /* to its parser; -1: it has none (any more) */
	bool again;     /* its parser was ended for another's sake */
	uint64_t used;  /* when it was last asked */
	/* to ask for it again; strings and bytes are ours */
	struct symbols_file file;
	char *path;
	uint8_t *build_id, *kernel_build_id;
	struct symbols_mapping *mappings;
	struct symbols_kernel kernel;
};

struct place {
	uint32_t file;
	uint64_t offset;
};

struct unwind_table {
	struct symbols *symbols;
	const struct symbols_how *how;
	GHashTable *files; /* number -> struct file */
	GHashTable *known; /* struct place -> struct unwind_row, NULL: none */
	unsigned int parsers;
	uint64_t questions;
	struct proto_message *message;
};

static guint hash_place(gconstpointer key)
{
	const struct place *place = key;

	return (guint)((place->offset ^ place->offset >> 32) * 0x9e3779b1u) ^ place->file;
}

static gboolean equal_place(gconstpointer a, gconstpointer b)
{
	const struct place *x = a, *y = b;

	return x->offset == y->offset && x->file == y->file;
}

static void free_file(gpointer data)
{
	struct file *f = data;

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
	struct unwind_table *rows = g_new0(struct unwind_table, 1);

	rows->symbols = symbols;
	rows->how = how;
	rows->files = g_hash_table_new_full(NULL, NULL, NULL, free_file);
	rows->known = g_hash_table_new_full(hash_place, equal_place, g_free, g_free);
	rows->message = g_new(struct proto_message, 1);
	return rows;
}

void unwind_table_destroy(struct unwind_table *rows)
{
	if (!rows)
		return;
	g_hash_table_destroy(rows->files);
	g_hash_table_destroy(rows->known);
	g_free(rows->message);
	g_free(rows);
}

/*
 * ---- files ------------------------------------------------------------------------------------
 */

static struct file *copy_file(const struct symbols_file *from)
{
	struct file *f = g_new0(struct file, 1);

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

static void hang_up(struct unwind_table *rows, struct file *f)
{
	if (f->connection < 0)
		return;
	close(f->connection);
	f->connection = -1;
	rows->parsers--;
}

static void end_oldest(struct unwind_table *rows)
{
	struct file *f, *oldest = NULL;
	GHashTableIter iter;

	g_hash_table_iter_init(&iter, rows->files);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&f))
		if (f->connection >= 0 && (!oldest || f->used < oldest->used))
			oldest = f;
	if (!oldest)
		return;
	hang_up(rows, oldest);
	oldest->again = true;
}

static void start_parser(struct unwind_table *rows, struct file *f)
{
	struct symbols_how how = *rows->how;
	int ret;

	if (rows->parsers >= PARSERS_MAX)
		end_oldest(rows);
	how.flags = 0;
	f->again = false;
	ret = symbols_connect(rows->symbols, &f->file, &how);
	if (ret < 0)
		return;
	f->connection = ret;
	f->used = ++rows->questions;
	rows->parsers++;
}

bool unwind_table_has_file(const struct unwind_table *rows, uint32_t number)
{
	return g_hash_table_contains(rows->files, GUINT_TO_POINTER(number));
}

void unwind_table_add_file(
	struct unwind_table *rows, uint32_t number, const struct symbols_file *file)
{
	struct file *f = copy_file(file);

	g_hash_table_replace(rows->files, GUINT_TO_POINTER(number), f);
	start_parser(rows, f);
}

/*
 * ---- rows -------------------------------------------------------------------------------------
 */

/* What the parser says, copied; NULL: nothing, and it is not asked again if it can't answer. */
static struct unwind_row *ask(struct unwind_table *rows, struct file *f, uint64_t offset)
{
	struct proto_message *message = rows->message;
	struct proto_wait wait = {rows->how->cancel_fd, proto_now_ns() + ROWS_ASK_NS};
	struct unwind_row row = {0};
	int ret;

	if (rows->how->deadline_ns)
		wait.deadline_ns = MIN(wait.deadline_ns, rows->how->deadline_ns);
	f->used = ++rows->questions;
	proto_init(message, PROTO_ROW);
	message->address = offset;
	ret = proto_send(f->connection, message, -1, &wait);
	if (!ret)
		ret = proto_receive(f->connection, message, NULL, &wait);
	if (!ret && message->head.type == PROTO_ROW && message->head.error)
		return NULL;
	if (ret || message->head.type != PROTO_ROW || message->head.count > sizeof(row)) {
		hang_up(rows, f);
		return NULL;
	}
	memcpy(&row, message->tail.bytes, message->head.count);
	if (!unwind_row_is_sound(&row, message->head.count)) {
		hang_up(rows, f);
		return NULL;
	}
	return g_memdup2(&row, unwind_row_bytes(&row));
}

const struct unwind_row *unwind_table_find(
	struct unwind_table *rows, uint32_t number, uint64_t offset)
{
	const struct place key = {number, offset};
	struct file *f;
	gpointer known;

	if (g_hash_table_lookup_extended(rows->known, &key, NULL, &known))
		return known;
	f = g_hash_table_lookup(rows->files, GUINT_TO_POINTER(number));
	if (f && f->again)
		start_parser(rows, f);
	if (!f || f->connection < 0)
		return NULL;
	if (g_hash_table_size(rows->known) >= ROWS_MAX)
		g_hash_table_remove_all(rows->known);
	known = ask(rows, f, offset);
	g_hash_table_insert(rows->known, g_memdup2(&key, sizeof(key)), known);
	return known;
}
