/* SPDX-License-Identifier: MIT */
/* Snapshots of a session: see snapshots.h. */
#include "fs/snapshots.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>

#include "base/units.h"
#include "fs/kperr.h"
#include "fs/openfile.h"
#include "fs/report.h"
#include "sys/clock.h"

/* The shortest time between two snapshots of one name of a program. */
#define BETWEEN_NS NSEC_PER_SEC
/* Names that programs used and whose last number is known. */
#define SERIES_MAX 256
/* How many numbers are tried if sessions with the first ones exist. */
#define NUMBERS_TRIED (2 * SNAPSHOTS_NUMBERED_MAX)

/* A snapshot that waits. */
struct waiting {
	uint64_t due_ns;
	char *name;
	char *label; /* of the program that asked for it, or NULL */
	struct origin origin;
};

/* The snapshots of one name in programs. */
struct series {
	unsigned int last; /* number */
	uint64_t asked_ns;
};

struct snapshots {
	struct session *session;	 /* invariant */
	const struct snapshots_ops *ops; /* invariant */
	struct report *report;		 /* invariant */
	pthread_mutex_t lock;		 /* a leaf */
	GQueue waiting;		 /* (lock) of struct waiting, the next one first */
	GHashTable *series;	 /* (lock) name to struct series */
	uint64_t taken, lost;	 /* (lock) lost: that programs asked for */
};

struct snapshots *snapshots_create(struct session *session, const struct snapshots_ops *ops,
	struct report *report)
{
	struct snapshots *s = g_new0(struct snapshots, 1);

	s->session = session;
	s->ops = ops;
	s->report = report;
	pthread_mutex_init(&s->lock, NULL);
	g_queue_init(&s->waiting);
	s->series = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return s;
}

static void free_waiting(struct waiting *w)
{
	g_free(w->name);
	g_free(w->label);
	g_free(w);
}

void snapshots_destroy(struct snapshots *s)
{
	struct waiting *w;

	if (!s)
		return;
	while ((w = g_queue_pop_head(&s->waiting)))
		free_waiting(w);
	g_hash_table_destroy(s->series);
	pthread_mutex_destroy(&s->lock);
	g_free(s);
}

void snapshots_print_stats(struct snapshots *s, struct stats *stats)
{
	pthread_mutex_lock(&s->lock);
	stats_u64(stats, s->taken, "snapshots.taken");
	stats_u64(stats, s->lost, "snapshots.lost");
	stats_u64(stats, s->waiting.length, "snapshots.waiting");
	pthread_mutex_unlock(&s->lock);
}

static void count(struct snapshots *s, uint64_t *counter)
{
	pthread_mutex_lock(&s->lock);
	(*counter)++;
	pthread_mutex_unlock(&s->lock);
}

int snapshots_take(struct snapshots *s, const char *name, const struct origin *origin, struct err *err)
{
	const struct snapshots_made made = { .name = name, .origin = origin };
	int ret = s->ops->take(s->session, &made, err);

	if (!ret)
		count(s, &s->taken);
	return ret;
}

/* ---- waiting ----------------------------------------------------------------------------------- */

static int compare_due(gconstpointer a, gconstpointer b, gpointer unused)
{
	const struct waiting *one = a, *other = b;

	(void)unused;
	return one->due_ns < other->due_ns ? -1 : one->due_ns > other->due_ns;
}

/* Under the lock. */
static void add_waiting(struct snapshots *s, uint64_t due_ns, const char *name, const char *label,
	const struct origin *origin)
{
	struct waiting *w = g_new0(struct waiting, 1);

	w->due_ns = due_ns;
	w->name = g_strdup(name);
	w->label = g_strdup(label);
	w->origin = *origin;
	g_queue_insert_sorted(&s->waiting, w, compare_due, NULL);
}

/* Whether a snapshot of this name waits. Under the lock. */
static bool is_waiting(const struct snapshots *s, const char *name)
{
	const GList *link;

	for (link = s->waiting.head; link; link = link->next) {
		const struct waiting *w = link->data;

		if (!w->label && !strcmp(w->name, name))
			return true;
	}
	return false;
}

int snapshots_take_later(struct snapshots *s, const char *name, uint64_t after_ns,
	const struct origin *origin, struct err *err)
{
	int ret;

	if (after_ns > SNAPSHOTS_AFTER_MAX_S * NSEC_PER_SEC)
		return err_set(err, ERANGE, "at most %d s later", SNAPSHOTS_AFTER_MAX_S);
	ret = s->ops->check(s->session, name, origin, err);
	if (ret)
		return ret;
	pthread_mutex_lock(&s->lock);
	if (is_waiting(s, name))
		ret = err_set(err, EEXIST, "a snapshot '%s' waits for its time already", name);
	else if (s->waiting.length >= SNAPSHOTS_WAITING_MAX)
		ret = err_set(err, EBUSY, "%d snapshots wait for their time already",
			SNAPSHOTS_WAITING_MAX);
	else
		add_waiting(s, clock_monotonic_ns() + after_ns, name, NULL, origin);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

/* Under the lock. */
static struct series *find_series(struct snapshots *s, const char *name)
{
	struct series *series = g_hash_table_lookup(s->series, name);

	if (series)
		return series;
	/* numbers that are in use are passed over, so that nothing depends on the table */
	if (g_hash_table_size(s->series) >= SERIES_MAX)
		g_hash_table_remove_all(s->series);
	series = g_new0(struct series, 1);
	g_hash_table_insert(s->series, g_strdup(name), series);
	return series;
}

bool snapshots_request(struct snapshots *s, const char *label, const char *name,
	const struct origin *origin)
{
	const uint64_t now_ns = clock_monotonic_ns();
	struct series *series;
	bool taken;

	pthread_mutex_lock(&s->lock);
	series = find_series(s, name);
	taken = s->waiting.length < SNAPSHOTS_WAITING_MAX &&
		(!series->asked_ns || now_ns - series->asked_ns >= BETWEEN_NS);
	if (taken) {
		series->asked_ns = now_ns;
		add_waiting(s, now_ns, name, label, origin);
	} else {
		s->lost++;
	}
	pthread_mutex_unlock(&s->lock);
	return taken;
}

/* ---- those that are due ------------------------------------------------------------------------ */

static void report(struct snapshots *s, const struct waiting *w, const char *reason)
{
	g_autofree char *text = g_strdup_printf("%s%ssnapshot %s: %s", w->label ? w->label : "",
		w->label ? ": " : "", w->name, reason);
	struct kperr_entry entry = { .pid = w->origin.pid, .uid = w->origin.uid, .file = "kpctl",
		.written = "", .reason = text };

	report_add(s->report, &entry);
}

static unsigned int next_number(struct snapshots *s, const char *name)
{
	unsigned int number;

	pthread_mutex_lock(&s->lock);
	number = ++find_series(s, name)->last;
	pthread_mutex_unlock(&s->lock);
	return number;
}

/* The oldest of a full series goes first, so that its memory can be had again. */
static void remove_old(struct snapshots *s, const char *name, unsigned int number)
{
	g_autofree char *old = NULL;

	if (number <= SNAPSHOTS_NUMBERED_MAX)
		return;
	old = g_strdup_printf("%s.%u", name, number - SNAPSHOTS_NUMBERED_MAX);
	s->ops->remove(s->session, old);
}

static int take_numbered(struct snapshots *s, const struct waiting *w, struct err *err)
{
	struct snapshots_made made = { .origin = &w->origin, .is_numbered = true };
	int ret = -EEXIST, tries;

	for (tries = 0; ret == -EEXIST && tries < NUMBERS_TRIED; tries++) {
		const unsigned int number = next_number(s, w->name);
		g_autofree char *name = g_strdup_printf("%s.%u", w->name, number);

		err->text[0] = 0;
		remove_old(s, w->name, number);
		made.name = name;
		ret = s->ops->take(s->session, &made, err);
	}
	count(s, ret ? &s->lost : &s->taken);
	return ret;
}

static void take_waiting(struct snapshots *s, const struct waiting *w)
{
	struct err err = { "" };
	int ret = w->label ? take_numbered(s, w, &err) : snapshots_take(s, w->name, &w->origin, &err);

	if (ret)
		report(s, w, err.text[0] ? err.text : g_strerror(-ret));
}

uint64_t snapshots_serve(struct snapshots *s)
{
	uint64_t due_ns = 0;

	pthread_mutex_lock(&s->lock);
	while (s->waiting.length) {
		struct waiting *w = g_queue_peek_head(&s->waiting);

		due_ns = w->due_ns;
		if (clock_monotonic_ns() < due_ns)
			break;
		g_queue_pop_head(&s->waiting);
		due_ns = 0;
		pthread_mutex_unlock(&s->lock);
		take_waiting(s, w);
		free_waiting(w);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return due_ns;
}
