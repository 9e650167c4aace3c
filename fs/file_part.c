/* SPDX-License-Identifier: MIT */
/*
 * The folders below views/ that are queries: views/last/10s/by/comm/nginx/ has all views, made of
 * the samples that fit. Folders nest in any order, each key once.
 *
 * last, since, until, by, versus and wakers are found by their names and not listed, so that a program that
 * copies the tree ends; views/ lists wakers while samples with wakers are held. by/KEY/ lists the values that
 * the samples of the outer query have. All rows here are made for one lookup and freed with their node.
 *
 * Functions run in any worker; only the views are made in a separate thread.
 */
#include "fs/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "capture/decode.h"
#include "capture/query.h"
#include "capture/query_filter.h"
#include "formats/view.h"
#include "fs/content.h"
#include "fs/server.h"
#include "fs/session.h"
#include "prof/profiler.h"
#include "producers/catalog.h"
#include "producers/producers.h"
#include "trace/trace.h"
#include "views/viewspans.h"

/*
 * Values are listed from the newest records of this size, in a worker: that takes some 0.4 s. The default of
 * prof_qlimit holds about so many, so by default nearly all are listed.
 */
#define LIST_BYTES (256 * MIB)

/* The pieces of one step through the held records. */
#define PIECES 64

#define WAKERS "wakers"

struct part_row {
	struct dirtab_row row; /* first, so that one is the other */
	struct file_view_part *part; /* a reference (g_atomic_rc_box) that the files of a part share */
	enum query_key key; /* of a folder of values */
};

static const struct part_row *part_of(const struct dirtab_row *row)
{
	return (const struct part_row *)(const void *)row;
}

static void put_row(const struct dirtab_row *row)
{
	g_atomic_rc_box_release(part_of(row)->part);
	g_free((struct dirtab_row *)row);
}

/* Takes the members of `like`, copies the name, and takes a reference to the part. */
static const struct dirtab_row *share_row(
	const struct dirtab_row *like, const char *name, struct file_view_part *part, enum query_key key)
{
	struct part_row *row = (struct part_row *)(void *)dirtab_make(like, name, sizeof(*row));

	row->row.put = put_row;
	row->part = g_atomic_rc_box_acquire(part);
	row->key = key;
	return &row->row;
}

/* The same with a copy of what the part is. */
static const struct dirtab_row *make_row(const struct dirtab_row *like, const char *name,
	const struct file_view_part *what, enum query_key key)
{
	struct file_view_part *part = g_atomic_rc_box_new(struct file_view_part);
	const struct dirtab_row *row;

	*part = *what;
	row = share_row(like, name, part, key);
	g_atomic_rc_box_release(part);
	return row;
}

/* ---- views ----------------------------------------------------------------------------------- */

static int make_view(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	return file_view_make_part(session, row->name, part_of(row)->part, fd, job, err);
}

static const struct dirtab_row view_row = {
	.type = DIRTAB_TEXT,
	.mode = 0400,
	.content = &content_made,
	.make = make_view,
};

/* Of since and until: a text that was written to the trace, after '@' or alone. */
static int add_mark(struct session *session, struct query *query, enum query_key key,
	const char *value, struct err *err)
{
	uint64_t time_ns;

	value += *value == '@';
	if (session->is_restricted)
		return err_set(err, ENOENT, "'%s' is no time, and messages of kptrace are not for a session "
			"of an ordinary user", value);
	if (trace_find(session->server->trace, value, &time_ns))
		return err_set(err, ENOENT, "'%s' is no time, and no message in kptrace has this text",
			value);
	return query_add_time(query, key, time_ns, err);
}

/* Adds a condition for a name in a path. A name that is none does not exist. */
static int add_condition(struct session *session, struct query *query, enum query_key key,
	const char *name, struct err *err)
{
	char value[QUERY_VALUE_MAX];
	int ret = query_unescape(name, value);

	if (ret == -EINVAL)
		err_set(err, EINVAL, "'%s': after %% two hexadecimal digits are needed, as %%2F for /",
			name);
	if (!ret && (key == QUERY_SINCE || key == QUERY_UNTIL) && !query_is_time(value))
		ret = add_mark(session, query, key, value, err);
	else if (!ret)
		ret = query_add(query, key, value, err);
	return ret == -ENAMETOOLONG ? ret : ret ? -ENOENT : 0;
}

/* ---- folders --------------------------------------------------------------------------------- */

static int resolve_in_part(struct session *session, const struct dirtab_row *dir, const char *name,
	const struct dirtab_row **row, struct err *err);
static void list_part(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);

static const struct dirtab_row part_folder = {
	.type = DIRTAB_DIR,
	.mode = 0500,
	.resolve = resolve_in_part,
	.list = list_part,
};

static int resolve_value(struct session *session, const struct dirtab_row *dir, const char *name,
	const struct dirtab_row **row, struct err *err)
{
	struct file_view_part part = *part_of(dir)->part;
	int ret = add_condition(session, &part.query, part_of(dir)->key, name, err);

	if (!ret)
		*row = make_row(&part_folder, name, &part, QUERY_KEYS);
	return ret;
}

/* Gives the held records of the time of a query to a function. */
static void each_record(struct profiler *profiler, const struct query *query,
	struct query_values *values,
	void (*take)(struct query_values *values, const struct decode_record *record))
{
	struct iovec iov[PIECES];
	struct cursor *cursor = NULL;
	struct decode_record record;
	struct decoder decoder;
	int count = PIECES, i;
	bool eof;

	if (file_view_open_part(profiler, query, LIST_BYTES, &cursor))
		return;
	/* without a limit of bytes, pieces are whole records */
	while (cursor_begin(cursor, SIZE_MAX / 2, iov, &count, &eof) > 0) {
		for (i = 0; i < count; i++) {
			decode_init_memory(&decoder, iov[i].iov_base, iov[i].iov_len);
			while (decode_next(&decoder, &record, NULL) > 0)
				take(values, &record);
			decode_fini(&decoder);
		}
		cursor_end(cursor, true);
		count = PIECES;
	}
	profiler_close_cursor(cursor);
}

static void add_value(const struct part_row *part, const char *value, GPtrArray *rows)
{
	g_autoptr(GString) name = g_string_new(NULL);

	query_escape(value, name);
	g_ptr_array_add(rows, (gpointer)share_row(&part_folder, name->str, part->part, QUERY_KEYS));
}

/* The values that samples have. Without memory for the times of a span there are none. */
static void list_sampled(struct session *session, const struct part_row *part, GPtrArray *rows)
{
	struct query query = part->part->query;
	struct intervals *spans = NULL;
	struct query_values *values;
	GHashTable *found;
	GHashTableIter iter;
	gpointer value;

	file_view_settle(session, &query);
	if (query_has(&query, QUERY_SPAN) && (!profiler_is_of_this_boot(session->profiler) ||
		viewspans_take(session_readings(session), getuid(), query.span, NULL, &spans)))
		return;
	values = query_values_create(&query, spans, part->key);
	if (query_values_must_learn(values))
		each_record(session->profiler, &query, values, query_values_learn);
	each_record(session->profiler, &query, values, query_values_add);
	found = query_values_finish(values);
	intervals_destroy(spans);
	g_hash_table_iter_init(&iter, found);
	while (g_hash_table_iter_next(&iter, &value, NULL))
		add_value(part, value, rows);
	g_hash_table_unref(found);
}

static void list_values(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	const struct part_row *part = part_of(dir);
	g_autoptr(GPtrArray) labels = NULL;

	if (part->key != QUERY_SPAN) {
		list_sampled(session, part, rows);
		return;
	}
	if (!profiler_is_of_this_boot(session->profiler))
		return;
	labels = g_ptr_array_new_with_free_func(g_free);
	if (session->is_restricted)
		producers_list_spans(session->server->producers, session->maker, labels);
	else
		catalog_list_spans(session->server->catalog, labels);
	for (guint i = 0; i < labels->len; i++)
		add_value(part, g_ptr_array_index(labels, i), rows);
}

/* last/, since/ and until/ list nothing: any time is a value. */
static const struct dirtab_row time_folder = {
	.type = DIRTAB_DIR,
	.mode = 0500,
	.resolve = resolve_value,
};

static const struct dirtab_row values_folder = {
	.type = DIRTAB_DIR,
	.mode = 0500,
	.resolve = resolve_value,
	.list = list_values,
};

static int refuse_twice(const char *name, struct err *err)
{
	err_set(err, ENOENT, "'%s' is in this path already", name);
	return -ENOENT;
}

static int resolve_key(struct session *session, const struct dirtab_row *dir, const char *name,
	const struct dirtab_row **row, struct err *err)
{
	struct file_view_part *part = part_of(dir)->part;
	const enum query_key key = query_find(name);

	if (key < QUERY_PID || key == QUERY_KEYS)
		return -ENOENT;
	if (query_has(&part->query, key))
		return refuse_twice(name, err);
	*row = share_row(&values_folder, name, part, key);
	return 0;
}

static void list_keys(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	struct file_view_part *part = part_of(dir)->part;
	int key;

	for (key = QUERY_PID; key < QUERY_KEYS; key++)
		if (!query_has(&part->query, (enum query_key)key))
			g_ptr_array_add(rows, (gpointer)share_row(&values_folder, query_names[key], part,
						      (enum query_key)key));
}

static const struct dirtab_row by_folder = {
	.type = DIRTAB_DIR,
	.mode = 0500,
	.resolve = resolve_key,
	.list = list_keys,
};

/* versus/ lists nothing: the sessions are in sessions/. */
static int resolve_session(struct session *session, const struct dirtab_row *dir, const char *name,
	const struct dirtab_row **row, struct err *err)
{
	struct file_view_part part = *part_of(dir)->part;

	if (strlen(name) >= sizeof(part.versus))
		return -ENOENT;
	g_strlcpy(part.versus, name, sizeof(part.versus));
	*row = make_row(&part_folder, name, &part, QUERY_KEYS);
	return 0;
}

static const struct dirtab_row versus_folder = {
	.type = DIRTAB_DIR,
	.mode = 0500,
	.resolve = resolve_session,
};

/* Adds wakers to the part. */
static int resolve_wakers(const struct file_view_part *part, const char *name, const struct dirtab_row **row,
	struct err *err)
{
	struct file_view_part with = *part;

	if (part->wakers)
		return refuse_twice(name, err);
	with.wakers = true;
	*row = make_row(&part_folder, name, &with, QUERY_KEYS);
	return 0;
}

static int resolve(struct file_view_part *part, const char *name, const struct dirtab_row **row,
	struct err *err)
{
	const enum query_key key = query_find(name);

	if (!strcmp(name, "by")) {
		*row = share_row(&by_folder, name, part, QUERY_KEYS);
		return 0;
	}
	if (!strcmp(name, "versus")) {
		if (part->versus[0])
			return refuse_twice(name, err);
		*row = share_row(&versus_folder, name, part, QUERY_KEYS);
		return 0;
	}
	if (!strcmp(name, WAKERS))
		return resolve_wakers(part, name, row, err);
	if (key >= QUERY_PID)
		return -ENOENT;
	if (query_has(&part->query, key))
		return refuse_twice(name, err);
	*row = share_row(&time_folder, name, part, key);
	return 0;
}

static int resolve_in_part(struct session *session, const struct dirtab_row *dir, const char *name,
	const struct dirtab_row **row, struct err *err)
{
	struct file_view_part *part = part_of(dir)->part;
	const struct view_format *format = view_find(name);

	if (format && part->versus[0] && !(format->needs & VIEW_DIFFERENCE))
		return err_set(err, EOPNOTSUPP,
			"%s shows no difference: flat, tree, flame.svg and report.html do", name);
	if (format && part->wakers && !(format->needs & VIEW_WAKERS))
		return err_set(err, EOPNOTSUPP, "%s shows no wakers: tree, folded, flame.svg and pprof do",
			name);
	if (format) {
		*row = share_row(&view_row, name, part, QUERY_KEYS);
		return 0;
	}
	if (!strcmp(name, "ctf") || !strcmp(name, "metrics") || !strcmp(name, "sched"))
		return err_set(err, EOPNOTSUPP,
			"%s is not made of samples: there is no part of it, only views/%s", name, name);
	return resolve(part, name, row, err);
}

static void list_part(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	const struct view_format *format;
	struct file_view_part *part = part_of(dir)->part;
	const unsigned int needs = (part->versus[0] ? VIEW_DIFFERENCE : 0) | (part->wakers ? VIEW_WAKERS : 0);

	for (format = view_formats; format->name; format++)
		if ((format->needs & needs) == needs)
			g_ptr_array_add(rows, (gpointer)share_row(&view_row, format->name, part,
						      QUERY_KEYS));
}

int file_part_resolve(struct session *session, const struct dirtab_row *dir, const char *name,
	const struct dirtab_row **row, struct err *err)
{
	struct file_view_part *all = g_atomic_rc_box_new0(struct file_view_part);
	int ret = resolve(all, name, row, err);

	g_atomic_rc_box_release(all);
	return ret;
}

void file_part_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	static const struct file_view_part wakers = { .wakers = true };

	if (profiler_has_wakers(session->profiler))
		g_ptr_array_add(rows, (gpointer)make_row(&part_folder, WAKERS, &wakers, QUERY_KEYS));
}
