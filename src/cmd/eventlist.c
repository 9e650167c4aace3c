/* SPDX-License-Identifier: MIT */
/* The events that can be sampled: see eventlist.h. */
#include "cmd/eventlist.h"

#include <string.h>
#include <unistd.h>

#include "prof/events.h"
#include "sys/perf_count.h"
#include "sys/pfm.h"
#include "sys/tracefs.h"

struct eventlist_finder {
	struct eventlist *list;
	const regex_t *pattern;
};

static bool matches(const struct eventlist_finder *f, const char *name)
{
	return !f->pattern || regexec(f->pattern, name, 0, NULL, 0) == 0;
}

static void free_event(void *data)
{
	struct eventlist_event *event = data;

	g_array_free(event->masks, TRUE);
	g_ptr_array_free(event->modifiers, TRUE);
	g_free(event);
}

static struct eventlist_event *new_event(enum eventlist_kind kind)
{
	struct eventlist_event *event = g_new0(struct eventlist_event, 1);

	event->kind = kind;
	event->pmu = event->text = "";
	event->masks = g_array_new(FALSE, FALSE, sizeof(struct eventlist_mask));
	event->modifiers = g_ptr_array_new_with_free_func(g_free);
	return event;
}

/* ---- what there is ---------------------------------------------------------------------------- */

static void add_modifiers(struct eventlist_event *event, const char *const *names)
{
	for (; *names; names++)
		g_ptr_array_add(event->modifiers, g_strdup(*names));
}

static void find_generic(struct eventlist_finder *f)
{
	static const char *const both[] = { "u", "k", "period=N", "freq=HZ", NULL };
	static const char *const hardware_only[] = { "h", "mg", "mh", "precise=0..3", NULL };
	struct eventlist_event *event;
	const char *name;
	bool hardware;
	size_t i;

	for (i = 0; (name = events_generic(i, &hardware)) != NULL; i++) {
		if (!matches(f, name))
			continue;
		event = new_event(hardware ? EVENTLIST_HARDWARE : EVENTLIST_SOFTWARE);
		event->name = name;
		add_modifiers(event, both);
		if (hardware)
			add_modifiers(event, hardware_only);
		g_ptr_array_add(f->list->events, event);
	}
}

/* What the programs at the switches of tasks sample. */
static void find_times(struct eventlist_finder *f)
{
	static const char *const modifiers[] = { "min=US", "waker", NULL };
	static const char *const wall_only[] = { "freq=HZ", NULL };
	static const char *const texts[][2] = {
		{ "offcpu", "time away from the CPU, with its stacks; not for stat" },
		{ "wall", "time on the CPU and away from it; not for stat" },
	};
	struct eventlist_event *event;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(texts); i++) {
		if (!matches(f, texts[i][0]))
			continue;
		event = new_event(EVENTLIST_TIME);
		event->name = texts[i][0];
		event->text = texts[i][1];
		add_modifiers(event, modifiers);
		if (i)
			add_modifiers(event, wall_only);
		g_ptr_array_add(f->list->events, event);
	}
}

/* perf's own table has these, under their usual names. */
static bool is_generic(const struct pfm_listed *listed)
{
	const char *name;
	bool hardware;
	size_t i;

	if (!listed->generic)
		return false;
	for (i = 0; (name = events_generic(i, &hardware)) != NULL; i++)
		if (g_ascii_strcasecmp(name, listed->name) == 0)
			return true;
	return g_str_has_prefix(listed->name, "PERF_COUNT_");
}

/* Modifiers that kpctl refuses are not listed. */
static bool is_refused(const char *modifier)
{
	return strcmp(modifier, "cpu") == 0 || strcmp(modifier, "pinned") == 0 ||
	       strcmp(modifier, "excl") == 0;
}

static void add_attr(struct eventlist_event *event, const struct pfm_listed_attr *attr)
{
	if (attr->kind == PFM_UNIT_MASK) {
		const struct eventlist_mask mask = { attr->name, attr->text, attr->is_default };

		g_array_append_val(event->masks, mask);
	} else if (!is_refused(attr->name)) {
		g_ptr_array_add(event->modifiers,
			g_strconcat(attr->name, attr->kind == PFM_NUMBER ? "=N" : "", NULL));
	}
}

static bool matches_with_mask(
	const struct eventlist_finder *f, const char *name, const struct pfm_listed *listed)
{
	size_t i;

	if (matches(f, name))
		return true;
	for (i = 0; i < listed->attr_count; i++) {
		g_autofree char *full = g_strconcat(name, ":", listed->attrs[i].name, NULL);

		if (listed->attrs[i].kind == PFM_UNIT_MASK && matches(f, full))
			return true;
	}
	return false;
}

static int take_listed(void *arg, const struct pfm_listed *listed)
{
	struct eventlist_finder *f = arg;
	g_autofree char *name = g_strconcat(listed->pmu, "::", listed->name, NULL);
	struct eventlist_event *event;
	size_t i;

	if (is_generic(listed) || !matches_with_mask(f, name, listed))
		return 0;
	event = new_event(EVENTLIST_PMU);
	event->name = g_string_chunk_insert(f->list->strings, name);
	event->pmu = listed->pmu;
	event->absent = !listed->present;
	event->text = listed->text;
	for (i = 0; i < listed->attr_count; i++)
		add_attr(event, &listed->attrs[i]);
	g_ptr_array_add(f->list->events, event);
	return 0;
}

static int take_tracepoint(void *arg, const char *system, const char *name)
{
	static const char *const modifiers[] = { "u", "k", "period=N", "freq=HZ", NULL };
	struct eventlist_finder *f = arg;
	g_autofree char *full = g_strconcat(system, ":", name, NULL);
	struct eventlist_event *event;

	if (!matches(f, full))
		return 0;
	event = new_event(EVENTLIST_TRACEPOINT);
	event->name = g_string_chunk_insert(f->list->strings, full);
	add_modifiers(event, modifiers);
	g_ptr_array_add(f->list->events, event);
	return 0;
}

static gint compare_events(gconstpointer a, gconstpointer b)
{
	const struct eventlist_event *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void find_tracepoints(struct eventlist_finder *f)
{
	GPtrArray *all = f->list->events, *tracepoints = g_ptr_array_new();
	int dirfd, ret = tracefs_open(NULL, &dirfd);
	guint i;

	f->list->events = tracepoints;
	if (!ret) {
		ret = tracefs_list(dirfd, NULL, take_tracepoint, f);
		close(dirfd);
	}
	f->list->tracepoints = ret;
	f->list->events = all;
	g_ptr_array_sort(tracepoints, compare_events); /* tracefs lists them in no order */
	for (i = 0; i < tracepoints->len; i++)
		g_ptr_array_add(all, tracepoints->pdata[i]);
	g_ptr_array_free(tracepoints, TRUE);
}

/* ---- what can be counted ---------------------------------------------------------------------- */

static bool can_count(const char *text)
{
	struct event_list parsed;

	return events_parse(text, NULL, &parsed, NULL) == 0 &&
	       perf_count_try(&parsed.events[0].attr) == 0;
}

/* If the event can't be opened without a unit mask, tries each mask until one works. */
static bool can_count_event(const struct eventlist_event *event)
{
	guint i;

	if (can_count(event->name))
		return true;
	for (i = 0; i < event->masks->len; i++) {
		g_autofree char *text = g_strconcat(event->name, ":",
			g_array_index(event->masks, struct eventlist_mask, i).name, NULL);

		if (can_count(text))
			return true;
	}
	return false;
}

/*
 * Tries one tracepoint for all: the permission is the same for all, and each close takes some ms. The same
 * for offcpu and wall.
 */
static void set_available(struct eventlist *list)
{
	const struct eventlist_event *tried = NULL;
	guint i;

	for (i = 0; i < list->events->len; i++) {
		struct eventlist_event *event = list->events->pdata[i];

		if (tried && event->kind == tried->kind) {
			event->available = tried->available;
			continue;
		}
		if (event->kind == EVENTLIST_TIME)
			event->available = events_try_offcpu(NULL) == 0;
		else
			event->available = !event->absent && can_count_event(event);
		if (event->kind == EVENTLIST_TRACEPOINT || event->kind == EVENTLIST_TIME)
			tried = event;
	}
}

struct eventlist *eventlist_create(const regex_t *pattern, bool all)
{
	struct eventlist *list = g_new0(struct eventlist, 1);
	struct eventlist_finder finder = {list, pattern};

	list->events = g_ptr_array_new_with_free_func(free_event);
	list->strings = g_string_chunk_new(4096);
	find_generic(&finder);
	find_times(&finder);
	pfm_list(all, take_listed, &finder, &list->pfm);
	find_tracepoints(&finder);
	set_available(list);
	return list;
}

void eventlist_destroy(struct eventlist *list)
{
	g_ptr_array_free(list->events, TRUE);
	g_string_chunk_free(list->strings);
	g_free(list);
}
