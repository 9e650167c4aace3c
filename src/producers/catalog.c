/* SPDX-License-Identifier: MIT */
/* The events of all producers: see catalog.h. */
#include "producers/catalog.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/atomic.h"
#include "base/strhash.h"
#include "producers/fair_share.h"

/* One name. m: under the mutex; a: written under it, read without; i: invariant */
struct catalog_name {
	char *label;	       /* i; the key */
	_Atomic bool on;       /* a */
	_Atomic uint32_t probes; /* a: programs of probes/ that want it */
	bool seen;	       /* m: a producer has had it */
	unsigned int events;   /* m: catalog_entry.name that point here */
	struct catalog_entry *current; /* m: the event that the name means; NULL if there is none yet */
};

struct catalog_entry {
	struct catalog_event public; /* i; first: private_of() casts */
	struct catalog_name *name;	     /* i; NULL for a format of kprof_printf */
	char *key;		     /* i: the kind as a digit, then the format */
	unsigned int holds;	     /* m */
	unsigned int references;     /* m; includes one for each hold until catalog_put() */
	uid_t owner;		     /* i: the uid to which the bytes are charged */
	size_t bytes;		     /* i: as charged */
};

struct catalog {
	struct catalog_hooks hooks; /* i */
	pthread_mutex_t mutex;	    /* a leaf */
	_Atomic bool enabled;	    /* a */
	_Atomic bool printx;	    /* a */
	bool all;		    /* m */
	uint32_t last_number;	    /* m */
	unsigned int settings;	    /* m: names without a hold whose switch is kept */
	uint64_t held;		    /* m: named events with a hold */
	size_t bytes;		    /* m */
	GHashTable *users;	    /* m: uid to bytes */
	GHashTable *names;	    /* m: label to struct catalog_name */
	GHashTable *numbers;	    /* m: set of the struct catalog_entry that have one */
	GHashTable *texts;	    /* m: key to struct catalog_entry */
};

struct catalog *catalog_create(const struct catalog_hooks *hooks)
{
	struct catalog *catalog = g_new0(struct catalog, 1);

	if (hooks)
		catalog->hooks = *hooks;
	pthread_mutex_init(&catalog->mutex, NULL);
	atomic_write_relaxed(&catalog->enabled, true);
	catalog->users = g_hash_table_new(g_direct_hash, g_direct_equal);
	catalog->names = g_hash_table_new(strhash, g_str_equal);
	catalog->numbers = g_hash_table_new(g_direct_hash, g_direct_equal);
	catalog->texts = g_hash_table_new(strhash, g_str_equal);
	return catalog;
}

static void free_name(struct catalog_name *name)
{
	g_free(name->label);
	g_free(name);
}

void catalog_destroy(struct catalog *catalog)
{
	GHashTableIter iter;
	gpointer value;

	if (!catalog)
		return;
	g_hash_table_iter_init(&iter, catalog->names);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		free_name(value);
	g_hash_table_destroy(catalog->names);
	g_hash_table_destroy(catalog->numbers);
	g_hash_table_destroy(catalog->texts);
	g_hash_table_destroy(catalog->users);
	pthread_mutex_destroy(&catalog->mutex);
	g_free(catalog);
}

static void notify_changed(struct catalog *catalog)
{
	if (catalog->hooks.changed)
		catalog->hooks.changed(catalog->hooks.arg);
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t word_length(const char *text)
{
	size_t n = 0;

	while (g_ascii_isalnum(text[n]) || (text[n] && strchr("_.-", text[n])))
		n++;
	return n;
}

bool catalog_has_name(uint8_t kind)
{
	return kind == KPROF_KIND_EVENT || kind == KPROF_KIND_SPAN || kind == KPROF_KIND_COUNTER;
}

bool catalog_is_label(const char *label)
{
	size_t provider = word_length(label), name;

	if (provider < 1 || provider > KPROF_NAME_MAX || label[provider] != ':')
		return false;
	name = word_length(label + provider + 1);
	return name >= 1 && name <= KPROF_NAME_MAX && !label[provider + 1 + name];
}

/* Shown in events/; under the mutex. */
static bool is_known(const struct catalog *catalog, const struct catalog_name *name)
{
	if (name->current && name->current->holds)
		return true;
	/* relaxed: written under the mutex */
	return !name->seen && atomic_read_relaxed(&name->on) != catalog->all;
}

/* Counted in `settings`; under the mutex. */
static bool is_setting(const struct catalog *catalog, const struct catalog_name *name)
{
	return !(name->current && name->current->holds) &&
		atomic_read_relaxed(&name->on) != catalog->all;
}

static struct catalog_name *get_name(struct catalog *catalog, const char *label)
{
	struct catalog_name *name = g_hash_table_lookup(catalog->names, label);

	if (name)
		return name;
	name = g_new0(struct catalog_name, 1);
	name->label = g_strdup(label);
	atomic_write_relaxed(&name->on, catalog->all); /* no other thread sees it yet */
	g_hash_table_insert(catalog->names, name->label, name);
	return name;
}

/* Frees a name that has neither events nor a setting; under the mutex. */
static void drop_name(struct catalog *catalog, struct catalog_name *name)
{
	if (name->events || is_setting(catalog, name) || atomic_read_relaxed(&name->probes))
		return;
	g_hash_table_remove(catalog->names, name->label);
	free_name(name);
}

/* Called at the end of the last hold: the setting is kept, if there is room for it. */
static void keep_setting(struct catalog *catalog, struct catalog_name *name)
{
	if (!is_setting(catalog, name))
		return;
	if (catalog->settings < CATALOG_SETTINGS_MAX)
		catalog->settings++;
	else
		atomic_write_relaxed(
			&name->on, catalog->all); /* without a hold no producer tests it */
}

/* ---- events ---------------------------------------------------------------------------------- */

static size_t bytes_of_user(struct catalog *catalog, uid_t uid)
{
	return GPOINTER_TO_SIZE(g_hash_table_lookup(catalog->users, GUINT_TO_POINTER(uid)));
}

static void charge(struct catalog *catalog, uid_t uid, size_t more, size_t less)
{
	size_t bytes = bytes_of_user(catalog, uid) + more - less;

	catalog->bytes += more - less;
	if (bytes)
		g_hash_table_insert(catalog->users, GUINT_TO_POINTER(uid),
			GSIZE_TO_POINTER(bytes));
	else
		g_hash_table_remove(catalog->users, GUINT_TO_POINTER(uid));
}

/* -EDQUOT for the limit of one user; -ENOSPC for the limit that other users leave. */
static int check_room(struct catalog *catalog, uid_t uid, size_t bytes)
{
	size_t used = bytes_of_user(catalog, uid);

	if (used + bytes > CATALOG_USER_BYTES_MAX)
		return -EDQUOT;
	if (used + bytes >
		fair_share_quota(uid, CATALOG_BYTES_MAX, CATALOG_USER_BYTES_MAX,
			catalog->bytes - used))
		return -ENOSPC;
	return 0;
}

/* What the begin of a span shows before its format. */
static const char span_begin[] = "begin ";

static int make_event(struct catalog *catalog, uid_t uid, uint8_t kind, struct catalog_name *name,
	const char *format, struct catalog_entry **made)
{
	/* twice the struct: an estimate of what the hash tables need */
	size_t bytes = 2 * sizeof(struct catalog_entry) + strlen(span_begin) + strlen(format) + 1;
	struct catalog_entry *event;
	int ret;

	if (name)
		bytes += 2 * sizeof(struct catalog_name) + strlen(name->label) + 1;
	ret = check_room(catalog, uid, bytes);
	if (ret)
		return ret;
	charge(catalog, uid, bytes, 0);
	event = g_new0(struct catalog_entry, 1);
	event->owner = uid;
	event->bytes = bytes;
	event->name = name;
	event->public.kind = kind;
	event->public.label = name ? name->label : "";
	event->key = g_strdup_printf("%c%s%s", '0' + kind, kind == KPROF_KIND_SPAN ? span_begin : "", format);
	event->public.shown = event->key + 1;
	event->public.format = event->public.shown + (kind == KPROF_KIND_SPAN ? strlen(span_begin) : 0);
	if (name) {
		event->public.number = ++catalog->last_number;
		name->events++;
		name->current = event;
		g_hash_table_add(catalog->numbers, event);
	} else {
		g_hash_table_insert(catalog->texts, event->key, event);
	}
	*made = event;
	return 0;
}

static void hold(struct catalog *catalog, struct catalog_entry *event)
{
	struct catalog_name *name = event->name;

	if (name && !event->holds) {
		catalog->settings -= is_setting(catalog, name);
		name->seen = true;
		name->current = event;
		catalog->held++;
	}
	event->holds++;
}

static int add_named(struct catalog *catalog, uid_t uid, uint8_t kind, const char *label,
	const char *format, struct catalog_entry **event)
{
	struct catalog_name *name;
	int ret = 0;

	if (!catalog_is_label(label))
		return -EINVAL;
	name = get_name(catalog, label);
	*event = name->current;
	if (*event && ((*event)->public.kind != kind || strcmp((*event)->public.format, format) != 0)) {
		if ((*event)->holds)
			return -EEXIST;
		*event = NULL; /* pools of exited producers keep the old event, with its number */
	}
	if (!*event)
		ret = make_event(catalog, uid, kind, name, format, event);
	if (ret)
		drop_name(catalog, name);
	return ret;
}

static int add_text(struct catalog *catalog, uid_t uid, uint8_t kind, const char *format,
	struct catalog_entry **event)
{
	g_autofree char *key = g_strdup_printf("%c%s", '0' + kind, format);

	*event = g_hash_table_lookup(catalog->texts, key);
	return *event ? 0 : make_event(catalog, uid, kind, NULL, format, event);
}

int catalog_add(struct catalog *catalog, uid_t uid, uint8_t kind, const char *label,
	const char *format, const struct catalog_event **event)
{
	struct catalog_entry *found = NULL;
	int ret;

	pthread_mutex_lock(&catalog->mutex);
	if (catalog_has_name(kind))
		ret = add_named(catalog, uid, kind, label, format, &found);
	else
		ret = add_text(catalog, uid, kind, format, &found);
	if (!ret) {
		hold(catalog, found);
		found->references++;
		*event = &found->public;
	}
	pthread_mutex_unlock(&catalog->mutex);
	return ret;
}

static struct catalog_entry *private_of(const struct catalog_event *event)
{
	return (struct catalog_entry *)event;
}

int catalog_hold(struct catalog *catalog, const struct catalog_event *event)
{
	struct catalog_entry *e = private_of(event);
	const struct catalog_entry *current;
	int ret = 0;

	pthread_mutex_lock(&catalog->mutex);
	current = e->name ? e->name->current : NULL;
	if (current && current != e && current->holds)
		ret = -EEXIST;
	else
		hold(catalog, e);
	pthread_mutex_unlock(&catalog->mutex);
	return ret;
}

void catalog_leave(struct catalog *catalog, const struct catalog_event *event)
{
	struct catalog_entry *e = private_of(event);

	pthread_mutex_lock(&catalog->mutex);
	e->holds--;
	if (!e->holds && e->name) {
		catalog->held--;
		keep_setting(catalog, e->name);
	}
	pthread_mutex_unlock(&catalog->mutex);
}

static void free_event(struct catalog *catalog, struct catalog_entry *event)
{
	struct catalog_name *name = event->name;

	charge(catalog, event->owner, 0, event->bytes);
	if (name) {
		g_hash_table_remove(catalog->numbers, event);
		if (name->current == event)
			name->current = NULL;
		name->events--;
		drop_name(catalog, name);
	} else {
		g_hash_table_remove(catalog->texts, event->key);
	}
	g_free(event->key);
	g_free(event);
}

void catalog_put(struct catalog *catalog, const struct catalog_event *event)
{
	struct catalog_entry *e = private_of(event);

	pthread_mutex_lock(&catalog->mutex);
	e->references--;
	if (!e->references)
		free_event(catalog, e);
	pthread_mutex_unlock(&catalog->mutex);
}

/* ---- switches -------------------------------------------------------------------------------- */

/*
 * Relaxed throughout: a switch orders no other memory. After a change the hook is called, which
 * orders the change before what the thread of the hook reads.
 */
bool catalog_is_on(struct catalog *catalog, const struct catalog_event *event)
{
	const struct catalog_entry *e = private_of(event);

	if (!e->name)
		return catalog_text_is_on(catalog, event->kind);
	return atomic_read_relaxed(&catalog->enabled) && atomic_read_relaxed(&e->name->on);
}

bool catalog_text_is_on(struct catalog *catalog, uint8_t kind)
{
	return atomic_read_relaxed(&catalog->enabled) &&
		(kind != KPROF_KIND_PRINTX || atomic_read_relaxed(&catalog->printx));
}

bool catalog_enabled(struct catalog *catalog)
{
	return atomic_read_relaxed(&catalog->enabled);
}

/* Holds the mutex, so that of two toggles at a time both are done. */
static void set_flag(struct catalog *catalog, _Atomic bool *flag, enum switch_word to)
{
	pthread_mutex_lock(&catalog->mutex);
	atomic_write_relaxed(flag, switch_word_apply(to, atomic_read_relaxed(flag)));
	pthread_mutex_unlock(&catalog->mutex);
	notify_changed(catalog);
}

void catalog_set_enabled(struct catalog *catalog, enum switch_word to)
{
	set_flag(catalog, &catalog->enabled, to);
}

bool catalog_printx(struct catalog *catalog)
{
	return atomic_read_relaxed(&catalog->printx);
}

void catalog_set_printx(struct catalog *catalog, enum switch_word to)
{
	set_flag(catalog, &catalog->printx, to);
}

bool catalog_all(struct catalog *catalog)
{
	bool on;

	pthread_mutex_lock(&catalog->mutex);
	on = catalog->all;
	pthread_mutex_unlock(&catalog->mutex);
	return on;
}

void catalog_set_all(struct catalog *catalog, enum switch_word to)
{
	GHashTableIter iter;
	gpointer value;
	bool on;

	pthread_mutex_lock(&catalog->mutex);
	on = switch_word_apply(to, catalog->all);
	catalog->all = on;
	catalog->settings = 0; /* every name has the default now */
	g_hash_table_iter_init(&iter, catalog->names);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct catalog_name *name = value;

		atomic_write_relaxed(&name->on, on);
		if (!name->events && !atomic_read_relaxed(&name->probes)) {
			g_hash_table_iter_remove(&iter);
			free_name(name);
		}
	}
	pthread_mutex_unlock(&catalog->mutex);
	notify_changed(catalog);
}

int catalog_get(struct catalog *catalog, const char *label, bool *on)
{
	const struct catalog_name *name;
	int ret = -ENOENT;

	pthread_mutex_lock(&catalog->mutex);
	name = g_hash_table_lookup(catalog->names, label);
	if (name && is_known(catalog, name)) {
		*on = atomic_read_relaxed(&name->on);
		ret = 0;
	}
	pthread_mutex_unlock(&catalog->mutex);
	return ret;
}

int catalog_set(struct catalog *catalog, const char *label, enum switch_word to)
{
	struct catalog_name *name;
	bool on;
	int ret = 0;

	if (!catalog_is_label(label))
		return -EINVAL;
	pthread_mutex_lock(&catalog->mutex);
	name = get_name(catalog, label);
	on = switch_word_apply(to, atomic_read_relaxed(&name->on));
	catalog->settings -= is_setting(catalog, name);
	if (!(name->current && name->current->holds) && on != catalog->all &&
		catalog->settings >= CATALOG_SETTINGS_MAX)
		ret = -ENOSPC;
	else
		atomic_write_relaxed(&name->on, on);
	catalog->settings += is_setting(catalog, name);
	drop_name(catalog, name);
	pthread_mutex_unlock(&catalog->mutex);
	if (!ret)
		notify_changed(catalog);
	return ret;
}

/* ---- probes ---------------------------------------------------------------------------------- */

int catalog_probe(struct catalog *catalog, const char *label, int more)
{
	struct catalog_name *name;

	if (!catalog_is_label(label))
		return -EINVAL;
	pthread_mutex_lock(&catalog->mutex);
	name = get_name(catalog, label);
	atomic_write_relaxed(&name->probes, atomic_read_relaxed(&name->probes) + (uint32_t)more);
	drop_name(catalog, name);
	pthread_mutex_unlock(&catalog->mutex);
	notify_changed(catalog);
	return 0;
}

bool catalog_is_probed(const struct catalog_event *event)
{
	const struct catalog_entry *e = (const struct catalog_entry *)event;

	return e->name && atomic_read_relaxed(&e->name->probes);
}

char *catalog_format(struct catalog *catalog, const char *label)
{
	const struct catalog_name *name;
	char *format;

	pthread_mutex_lock(&catalog->mutex);
	name = g_hash_table_lookup(catalog->names, label);
	format = name && name->current ? g_strdup(name->current->public.format) : NULL;
	pthread_mutex_unlock(&catalog->mutex);
	return format;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static gint compare_labels(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void catalog_list(struct catalog *catalog, GPtrArray *labels)
{
	GHashTableIter iter;
	gpointer value;

	pthread_mutex_lock(&catalog->mutex);
	g_hash_table_iter_init(&iter, catalog->names);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct catalog_name *name = value;

		if (is_known(catalog, name))
			g_ptr_array_add(labels, g_strdup(name->label));
	}
	pthread_mutex_unlock(&catalog->mutex);
	g_ptr_array_sort(labels, compare_labels);
}

void catalog_list_spans(struct catalog *catalog, GPtrArray *labels)
{
	GHashTableIter iter;
	gpointer value;

	pthread_mutex_lock(&catalog->mutex);
	g_hash_table_iter_init(&iter, catalog->names);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct catalog_name *name = value;

		if (name->current && name->current->public.kind == KPROF_KIND_SPAN)
			g_ptr_array_add(labels, g_strdup(name->label));
	}
	pthread_mutex_unlock(&catalog->mutex);
	g_ptr_array_sort(labels, compare_labels);
}

static void append_quoted(GString *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 32 || c == 127 || c == '\'' || c == '"' || c == '\\')
			g_string_append_printf(out, "\\x%02x", c);
		else
			g_string_append_c(out, (char)c);
	}
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
	const struct catalog_entry *x = a, *y = b;

	return x->public.number < y->public.number ? -1 : x->public.number > y->public.number;
}

void catalog_print_info(struct catalog *catalog, GString *out)
{
	GList *events, *link;

	g_string_append_printf(out, "version %d\n", CATALOG_INFO_VERSION);
	pthread_mutex_lock(&catalog->mutex);
	events = g_list_sort(g_hash_table_get_keys(catalog->numbers), compare_numbers);
	for (link = events; link; link = link->next) {
		const struct catalog_entry *event = link->data;

		g_string_append(out, "name '");
		append_quoted(out, event->public.label);
		g_string_append(out, "' format '");
		append_quoted(out, event->public.format);
		g_string_append_printf(out, "' id %u %s\n", event->public.number,
			atomic_read_relaxed(&event->name->on) ? "enabled" : "disabled");
	}
	pthread_mutex_unlock(&catalog->mutex);
	g_list_free(events);
}

void catalog_count(struct catalog *catalog, struct catalog_counts *counts)
{
	pthread_mutex_lock(&catalog->mutex);
	counts->events = catalog->held;
	counts->kept = g_hash_table_size(catalog->numbers) - catalog->held;
	counts->settings = catalog->settings;
	counts->bytes = catalog->bytes;
	pthread_mutex_unlock(&catalog->mutex);
}
