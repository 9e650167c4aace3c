/* SPDX-License-Identifier: MIT */
/* Spans that have begun: see openspans.h. */
#include "formats/openspans.h"

#include <glib.h>
#include <string.h>

struct openspans {
	GHashTable *open; /* of struct open_span, its own key */
};

struct open_span {
	struct view_annotation begin; /* its strings are owned */
};

static guint hash_span(gconstpointer key)
{
	const struct view_annotation *begin = &((const struct open_span *)key)->begin;

	return g_int64_hash(&begin->time_ns) ^ begin->tid * 2654435761u;
}

static gboolean is_same(gconstpointer a, gconstpointer b)
{
	const struct view_annotation *x = &((const struct open_span *)a)->begin,
				     *y = &((const struct open_span *)b)->begin;

	return x->time_ns == y->time_ns && x->tid == y->tid && x->pid == y->pid &&
	       strcmp(x->name, y->name) == 0;
}

static void free_span(void *data)
{
	struct open_span *span = data;

	g_free((char *)span->begin.program);
	g_free((char *)span->begin.name);
	g_free((char *)span->begin.text);
	g_free(span);
}

struct openspans *openspans_create(void)
{
	struct openspans *spans = g_new0(struct openspans, 1);

	spans->open = g_hash_table_new_full(hash_span, is_same, free_span, NULL);
	return spans;
}

void openspans_destroy(struct openspans *spans)
{
	if (!spans)
		return;
	g_hash_table_unref(spans->open);
	g_free(spans);
}

void openspans_begin(struct openspans *spans, const struct view_annotation *begin)
{
	struct open_span *span = g_new(struct open_span, 1);

	span->begin = *begin;
	span->begin.program = g_strdup(begin->program);
	span->begin.name = g_strdup(begin->name);
	span->begin.text = g_strdup(begin->text);
	g_hash_table_replace(spans->open, span, span);
}

char *openspans_end(struct openspans *spans, const struct view_annotation *end)
{
	const uint64_t begin_ns = end->time_ns - MIN(end->duration_ns, end->time_ns);
	const struct open_span key = {
		.begin = { .time_ns = begin_ns, .pid = end->pid, .tid = end->tid, .name = end->name },
	};
	struct open_span *span = g_hash_table_lookup(spans->open, &key);
	char *text;

	if (!span)
		return NULL;
	text = g_strdup(span->begin.text);
	g_hash_table_remove(spans->open, span);
	return text;
}

static gint by_time(gconstpointer a, gconstpointer b)
{
	const struct open_span *x = a, *y = b;

	return x->begin.time_ns < y->begin.time_ns ? -1 : x->begin.time_ns > y->begin.time_ns;
}

void openspans_each(struct openspans *spans, void (*see)(void *arg, const struct view_annotation *begin),
	void *arg)
{
	GList *list = g_list_sort(g_hash_table_get_keys(spans->open), by_time);

	for (GList *at = list; at; at = at->next)
		see(arg, &((const struct open_span *)at->data)->begin);
	g_list_free(list);
}
