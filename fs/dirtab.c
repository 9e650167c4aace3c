/* SPDX-License-Identifier: MIT */
/* Rows of the mounted tree: see dirtab.h. */
#include "fs/dirtab.h"

#include <errno.h>
#include <string.h>

/* The mode of sessions/, whatever `mode=` says: each session below it has a mode of its own. */
#define SESSIONS_MODE 0700
#define SESSIONS_MODE_SHARED 01777

static const struct dirtab_row *skip(const struct dirtab_row *dir, const struct dirtab_row *row)
{
	while (row->name && dir->only && !(row->flags & dir->only))
		row++;
	return row->name ? row : NULL;
}

const struct dirtab_row *dirtab_first(const struct dirtab_row *dir)
{
	return dir->rows ? skip(dir, dir->rows) : NULL;
}

const struct dirtab_row *dirtab_next(const struct dirtab_row *dir, const struct dirtab_row *row)
{
	return skip(dir, row + 1);
}

int dirtab_lookup(struct session *session, const struct dirtab_row *dir, const char *name,
	const struct dirtab_row **found, struct err *err)
{
	const struct dirtab_row *row;

	for (row = dirtab_first(dir); row; row = dirtab_next(dir, row)) {
		if (!strcmp(row->name, name)) {
			*found = row;
			return 0;
		}
	}
	if (dir->resolve)
		return dir->resolve(session, dir, name, found, err);
	*found = dir->lookup ? dir->lookup(session, dir, name) : NULL;
	return *found ? 0 : -ENOENT;
}

void dirtab_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	const struct dirtab_row *row;

	for (row = dirtab_first(dir); row; row = dirtab_next(dir, row))
		if (!(row->flags & DIRTAB_UNLISTED))
			g_ptr_array_add(rows, (gpointer)row);
	if (dir->list)
		dir->list(session, dir, rows);
}

void dirtab_put(const struct dirtab_row *row)
{
	if (row->put)
		row->put(row);
}

static void free_made(const struct dirtab_row *row)
{
	g_free((struct dirtab_row *)row);
}

struct dirtab_row *dirtab_make(const struct dirtab_row *like, const char *name, size_t bytes)
{
	const size_t name_bytes = strlen(name) + 1;
	struct dirtab_row *row = g_malloc0(bytes + name_bytes);

	*row = *like;
	row->name = memcpy((char *)row + bytes, name, name_bytes);
	row->put = free_made;
	return row;
}

void dirtab_make_all(const struct dirtab_row *like, const GPtrArray *names, GPtrArray *rows)
{
	guint i;

	for (i = 0; i < names->len; i++)
		g_ptr_array_add(rows, dirtab_make(like, g_ptr_array_index(names, i), sizeof(*like)));
}

bool dirtab_can_read(const struct dirtab_row *row)
{
	return row->type == DIRTAB_DIR || row->content;
}

bool dirtab_can_write(const struct dirtab_row *row)
{
	return row->words || row->write || row->writer;
}

mode_t dirtab_mode(const struct dirtab_row *row, const struct dirtab_owner *owner)
{
	mode_t mode = owner->mode_given ? owner->mode & 0777 : row->mode;

	if (row->session)
		return S_IFDIR | mode;
	if (row->flags & DIRTAB_SESSIONS)
		return S_IFDIR | (owner->shared ? SESSIONS_MODE_SHARED : SESSIONS_MODE);
	if (row->type == DIRTAB_DIR) {
		mode &= row->create ? 0666 : 0444;
		if (owner->shared && row->flags & DIRTAB_SHARED)
			mode |= 0001;
		return S_IFDIR | mode | (mode & 0444) >> 2;
	}
	mode &= 0666;
	if (!dirtab_can_read(row))
		mode &= ~(mode_t)0444;
	if (!dirtab_can_write(row))
		mode &= ~(mode_t)0222;
	return S_IFREG | mode;
}

uint64_t dirtab_ino(uint64_t dir_ino, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ dir_ino; /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
	hash &= INT64_MAX; /* programs print it signed */
	return hash <= DIRTAB_ROOT_INO ? hash + 2 : hash;
}
