/* SPDX-License-Identifier: MIT */
/* The meaning of the ids of a producer: a part of producers.c, changed by the listener's thread. */
#include "producers/producers_state.h"

#include <errno.h>
#include <string.h>

#include "ring/args.h"
#include "producers/catalog.h"
#include "producers/fair_share.h"

static struct producer_event *find_event(const struct producer *producer, uint16_t id)
{
	struct producer_event *_Atomic *block;

	if (id >= KPROF_ID_LIMIT)
		return NULL;
	/* acquire, both: pairs with the releases in add_event */
	block = atomic_read_acquire(&producer->blocks[id / PRODUCER_BLOCK]);
	return block ? atomic_read_acquire(&block[id % PRODUCER_BLOCK]) : NULL;
}

const struct producer_event *producer_event(const struct producer *producer, uint16_t id)
{
	const struct producer_event *event;

	if (id < KPROF_ID_FIRST)
		return &producer->texts[id];
	if (id < KPROF_ID_SPAN_END || id >= KPROF_ID_RECORDS)
		return find_event(producer, id);
	event = find_event(producer, (uint16_t)(id - KPROF_ID_SPAN_END));
	return event ? event->end : NULL;
}

void producers_free_events(struct producer *producer)
{
	g_free(atomic_read_relaxed(&producer->file)); /* the same */
	for (size_t b = 0; b < G_N_ELEMENTS(producer->blocks); b++) {
		/* relaxed, both: no other reference is left */
		struct producer_event *_Atomic *block = atomic_read_relaxed(&producer->blocks[b]);

		for (size_t i = 0; block && i < PRODUCER_BLOCK; i++) {
			struct producer_event *event = atomic_read_relaxed(&block[i]);

			if (!event)
				continue;
			catalog_put(producer->producers->catalog, event->event);
			g_free(event->end);
			g_free(event);
		}
		g_free(block);
	}
}

/* -EDQUOT for the limit of one user; -ENOSPC for the limit that other users leave. */
static int take_id(struct producer_entry *entry)
{
	struct producers *producers = entry->public.producers;
	const struct producers_limits *limits = &producers->limits;
	struct producers_user *user = entry->user;
	int ret = 0;

	pthread_mutex_lock(&producers->lock);
	if (user->ids >= limits->user_ids)
		ret = -EDQUOT;
	else if (user->ids >=
		 fair_share_quota(user->uid, limits->ids, limits->user_ids,
			 producers->ids - user->ids))
		ret = -ENOSPC;
	if (!ret) {
		entry->ids++;
		user->ids++;
		producers->ids++;
	}
	pthread_mutex_unlock(&producers->lock);
	return ret;
}

/* Evicts an exited producer to make room after this error. Returns false if nothing was evicted. */
static bool evict_exited(struct producer_entry *entry, int error)
{
	return (error == -EDQUOT && producers_evict_one(entry->public.producers, entry->user)) ||
		(error == -ENOSPC && producers_evict_one(entry->public.producers, NULL));
}

static int add_id(struct producer_entry *entry, struct err *err)
{
	int ret;

	do
		ret = take_id(entry);
	while (evict_exited(entry, ret));
	if (ret)
		return err_set(err, -ret, "%s have too many events",
			ret == -EDQUOT ? "this user's producers" : "all producers together");
	return 0;
}

static int add_to_catalog(struct producer_entry *entry, uint8_t kind, const char *label,
	const char *format, const struct catalog_event **event, struct err *err)
{
	struct producers *producers = entry->public.producers;
	int ret;

	do
		ret = catalog_add(
			producers->catalog, entry->public.uid, kind, label, format, event);
	while (evict_exited(entry, ret));
	if (ret == -EEXIST)
		return err_set(err, EEXIST, "%s already exists with another format", label);
	if (ret == -EINVAL)
		return err_set(err, EINVAL, "not a provider and a name of [A-Za-z0-9_.-]{1,100}");
	if (ret)
		return err_set(err, -ret, "the names and formats of %s take too much memory",
			ret == -EDQUOT ? "this user's producers" : "all producers");
	return 0;
}

static struct producer_event *make_end(const struct producer_event *span)
{
	struct producer_event *end = g_new0(struct producer_event, 1);

	end->number = span->number;
	end->kind = PRODUCER_SPAN_END;
	end->label = span->label;
	end->format = "end duration_us=%.3f";
	end->format_bytes = (uint32_t)strlen(end->format);
	end->show_provisional = span->show_provisional;
	return end;
}

static void add_event(struct producer *producer, uint16_t id, const struct catalog_event *event)
{
	struct producer_event *made = g_new0(struct producer_event, 1);
	struct producer_event *_Atomic *block;

	made->number = event->number;
	made->kind = event->kind;
	made->label = event->label;
	made->format = event->shown;
	made->format_bytes = (uint32_t)strlen(event->shown);
	made->event = event;
	made->held = true;
	made->show_provisional = catalog_is_on(producer->producers->catalog, event);
	if (made->kind == KPROF_KIND_SPAN)
		made->end = make_end(made);
	/* relaxed: this thread is the only one that writes it */
	block = atomic_read_relaxed(&producer->blocks[id / PRODUCER_BLOCK]);
	if (!block) {
		block = g_malloc0(PRODUCER_BLOCK * sizeof(*block));
		atomic_write_release(&producer->blocks[id / PRODUCER_BLOCK], block);
	}
	atomic_write_release(&block[id % PRODUCER_BLOCK], made);
}

/* The id was defined before: the same meaning is accepted, another one is a violation. */
static int define_again(struct producer *producer, struct producer_event *event, uint8_t kind,
	const char *label, const char *format, struct err *err)
{
	if (event->kind != kind || strcmp(event->label, label) != 0 ||
		strcmp(event->event->format, format) != 0)
		return err_set(err, EPROTO, "one id for two events");
	if (event->held)
		return 0;
	if (catalog_hold(producer->producers->catalog, event->event))
		return err_set(err, EEXIST, "%s already exists with another format", label);
	event->held = true;
	return 0;
}

/* The one argument of a counter is its value. */
static bool is_number(const struct args_plan *plan, int count)
{
	return count == 1 && (plan->kind == ARGS_INT || plan->kind == ARGS_DOUBLE);
}

static int check_definition(uint16_t id, uint8_t kind, const char *format, struct err *err)
{
	struct args_plan plan[KPROF_ARGS_MAX];
	int count;

	if (id < KPROF_ID_FIRST || id >= KPROF_ID_LIMIT)
		return err_set(err, EPROTO, "an event whose id is out of range");
	if (kind < KPROF_KIND_EVENT || kind > KPROF_KIND_COUNTER)
		return err_set(err, EPROTO, "an event of an unknown kind");
	count = strlen(format) > KPROF_FORMAT_MAX ? -E2BIG :
						    args_plan(format, (uint32_t)strlen(format), plan);
	if (count < 0)
		return err_set(err, EINVAL, "a format with an unknown conversion, or too long");
	if (kind == KPROF_KIND_COUNTER && !is_number(plan, count))
		return err_set(err, EINVAL, "a counter whose format is not one number");
	return 0;
}

int producer_define(struct producer *producer, uint16_t id, uint8_t kind, const char *label,
	const char *format, struct err *err)
{
	const struct catalog_event *event;
	struct producer_event *known;
	int ret = check_definition(id, kind, format, err);

	if (!catalog_has_name(kind))
		label = "";
	known = ret ? NULL : find_event(producer, id);
	if (known) {
		ret = define_again(producer, known, kind, label, format, err);
	} else if (!ret) {
		ret = add_id(entry_of(producer), err);
		if (!ret)
			ret = add_to_catalog(entry_of(producer), kind, label, format, &event, err);
		if (!ret)
			add_event(producer, id, event);
	}
	if (ret && ret != -EPROTO)
		producers_count_refused(producer->producers);
	return ret;
}

void producer_undefine(struct producer *producer, uint16_t id)
{
	struct producer_event *event = find_event(producer, id);

	if (!event || !event->held)
		return;
	event->held = false;
	catalog_leave(producer->producers->catalog, event->event);
}

static void add_spans(const struct producer *producer, GHashTable *labels)
{
	for (uint16_t id = KPROF_ID_FIRST; id < KPROF_ID_LIMIT; id++) {
		const struct producer_event *event = find_event(producer, id);

		if (event && event->kind == KPROF_KIND_SPAN && !g_hash_table_contains(labels, event->label))
			g_hash_table_add(labels, g_strdup(event->label));
	}
}

static gint compare_labels(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void producers_list_spans(struct producers *producers, uid_t uid, GPtrArray *labels)
{
	GHashTable *found = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, NULL);
	g_autoptr(GPtrArray) all = producers_all(producers);
	GHashTableIter iter;
	gpointer label;

	for (guint i = 0; i < all->len; i++) {
		const struct producer *producer = g_ptr_array_index(all, i);

		if (producer->uid == uid)
			add_spans(producer, found);
	}
	g_hash_table_iter_init(&iter, found);
	while (g_hash_table_iter_next(&iter, &label, NULL))
		g_ptr_array_add(labels, label);
	g_hash_table_destroy(found);
	g_ptr_array_sort(labels, compare_labels);
}

void producer_set_file(struct producer *producer, const char *path, size_t bytes)
{
	struct producers *producers = producer->producers;

	/* relaxed: this thread alone writes it */
	if (atomic_read_relaxed(&producer->file))
		return;
	atomic_write_release(&producer->file, g_strndup(path, bytes));
	if (producers->on_file)
		producers->on_file(producers->on_file_arg);
}

void producers_on_file(struct producers *producers, void (*on_file)(void *arg), void *arg)
{
	producers->on_file = on_file;
	producers->on_file_arg = arg;
}

bool producer_is_probed(const struct producer *producer, uint16_t id)
{
	const struct producer_event *event = producer_event(producer, id);

	return event && event->held && event->event && catalog_is_probed(event->event);
}

bool producer_is_on(const struct producer *producer, uint16_t id)
{
	const struct producer_event *event = producer_event(producer, id);

	if (!event || !event->held)
		return false;
	return event->event ? catalog_is_on(producer->producers->catalog, event->event) :
			      catalog_text_is_on(producer->producers->catalog, event->kind);
}
