/* SPDX-License-Identifier: MIT */
/* Events of programs for programs of probes/. */
#include "fs/probe_events.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>

#include "base/atomic.h"
#include "base/text.h"
#include "fs/server.h"
#include "fs/session.h"
#include "producers/catalog.h"
#include "producers/listener.h"
#include "producers/producers.h"
#include "producers/sync_rounds.h"
#include "ring/args.h"

int probe_events_each(void *arg, const char *provider, const char *name,
	int (*each)(void *arg, const char *provider, const char *name), void *each_arg)
{
	struct session *session = arg;
	g_autoptr(GPtrArray) labels = g_ptr_array_new_with_free_func(g_free);
	int ret = 0;

	catalog_list(session->server->catalog, labels);
	for (guint i = 0; i < labels->len && !ret; i++) {
		char *label = g_ptr_array_index(labels, i), *colon = strchr(label, ':');

		*colon = '\0';
		if (text_matches(provider, label) && text_matches(name, colon + 1))
			ret = each(each_arg, label, colon + 1);
	}
	return ret;
}

/* ---- values ------------------------------------------------------------------------------------ */

static void set_value(const char *format, const struct args_plan *plan, uint32_t index,
	struct check_event_value *value)
{
	*value = (struct check_event_value){ .index = index, .bytes = plan->bytes,
		.is_signed = plan->is_signed, .is_string = plan->kind == ARGS_STRING,
		.is_pointer = plan->kind == ARGS_POINTER, .is_double = plan->kind == ARGS_DOUBLE,
		.format_hash = args_hash(format, (uint32_t)strlen(format)) };
}

/* A value with this name, or -EINVAL with the names in `all`. */
static int find_value(const char *format, const char *name, struct check_event_value *value, GString *all)
{
	struct args_format walk = { format, format + strlen(format) };
	struct args_plan plan[KPROF_ARGS_MAX];
	struct args_conversion c;
	uint32_t i = 0;

	if (args_plan(format, (uint32_t)strlen(format), plan) < 0)
		return -EINVAL;
	while (args_next(&walk, &c) > 0) {
		char word[ARGS_WORD_MAX + 1];

		if (c.letter == '%')
			continue;
		i += (c.width == ARGS_STAR) + (c.precision == ARGS_STAR);
		if (args_word(&c, word)) {
			g_string_append_printf(all, "%s%s", all->len ? ", " : "", word);
			if (strcmp(word, name) == 0) {
				set_value(format, &plan[i], i, value);
				return 0;
			}
		}
		i++;
	}
	return -EINVAL;
}

int probe_events_value(void *arg, const char *provider, const char *event, const char *name,
	struct check_event_value *value, struct err *err)
{
	struct session *session = arg;
	g_autofree char *label = g_strconcat(provider, ":", event, NULL);
	g_autofree char *format = catalog_format(session->server->catalog, label);
	g_autoptr(GString) all = g_string_new(NULL);

	if (!format)
		return -ENOENT;
	if (!find_value(format, name, value, all))
		return 0;
	return err_set(err, EINVAL, "the event %s has no argument '%s' in its format; it has: %s", label,
		name, all->len ? all->str : "none with a name");
}

/* ---- programs ---------------------------------------------------------------------------------- */

void probe_events_programs(void *arg, void (*each)(void *arg, const char *path, int pid), void *each_arg)
{
	struct session *session = arg;
	GPtrArray *all = producers_all(session->server->producers);

	for (guint i = 0; i < all->len; i++) {
		const struct producer *producer = g_ptr_array_index(all, i);
		/* acquire: the text that it points to */
		const char *file = atomic_read_acquire(&producer->file);

		/* relaxed: one that ends meanwhile has no mount namespace any more */
		if (file && producer->pid && !atomic_read_relaxed(&producer->ended))
			each(each_arg, file, producer->pid);
	}
	g_ptr_array_unref(all);
}

struct wait {
	struct sync_waiter waiter; /* first: a pointer to it is cast to struct wait */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done;
};

static void on_synced(struct sync_waiter *waiter, const char *late)
{
	struct wait *wait = (struct wait *)waiter;

	(void)late;
	pthread_mutex_lock(&wait->lock);
	wait->done = true;
	pthread_cond_signal(&wait->cond);
	pthread_mutex_unlock(&wait->lock);
}

/* At most SYNC_ROUNDS_WAIT_MS. */
static void wait_for_programs(struct listener *listener)
{
	struct wait wait = { .waiter = { .done = on_synced } };

	pthread_mutex_init(&wait.lock, NULL);
	pthread_cond_init(&wait.cond, NULL);
	if (listener_sync(listener, &wait.waiter)) {
		pthread_mutex_lock(&wait.lock);
		while (!wait.done)
			pthread_cond_wait(&wait.cond, &wait.lock);
		pthread_mutex_unlock(&wait.lock);
	}
	pthread_cond_destroy(&wait.cond);
	pthread_mutex_destroy(&wait.lock);
}

void probe_events_want(void *arg, const char *label, bool more)
{
	struct server *server = ((struct session *)arg)->server;

	/* the hook of the catalog wakes the listener */
	if (!catalog_probe(server->catalog, label, more ? 1 : -1) && more && server->listener)
		wait_for_programs(server->listener);
}
