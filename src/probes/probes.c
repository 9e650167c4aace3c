/* SPDX-License-Identifier: MIT */
/* The programs of probes/ of one session. */
#include "probes/probes.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/bell.h"
#include "bpf/queue.h"
#include "probes/parser.h"

/* Actions that wait for kp-probes: some 2,700. */
#define QUEUE_BYTES (64u << 10)

/* A program, and those who use it now. */
struct entry {
	struct probe *probe;
	unsigned int users; /* l */
	bool removed;	    /* l: the thread destroys it when it has no users */
};

/*
 * i: invariant; l: under the lock; t: of the thread that holds `changing`
 */
struct probes {
	struct probes_options options;	    /* i */
	pthread_mutex_t changing;	    /* outer: programs are attached, detached, asked to act */
	const struct emit_machine *machine; /* t: NULL until the first program */
	struct queue *queue;		    /* t: the same */
	uint32_t serials;		    /* t */
	pthread_t thread;		    /* t */
	bool has_thread;		    /* t */
	int bell;			    /* i: wakes the thread */
	pthread_mutex_t lock;		    /* a leaf */
	GHashTable *entries;		    /* l: name -> struct entry */
	GPtrArray *removed;		    /* l: struct entry, to be destroyed */
	bool closing;			    /* l */
};

struct probes *probes_create(const struct probes_options *options)
{
	struct probes *probes = g_new0(struct probes, 1);

	probes->options = *options;
	probes->bell = bell_open();
	pthread_mutex_init(&probes->changing, NULL);
	pthread_mutex_init(&probes->lock, NULL);
	probes->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	probes->removed = g_ptr_array_new();
	return probes;
}

/* ---- entries ----------------------------------------------------------------------------------- */

static struct entry *get(struct probes *probes, const char *name)
{
	struct entry *entry;

	pthread_mutex_lock(&probes->lock);
	entry = g_hash_table_lookup(probes->entries, name);
	if (entry)
		entry->users++;
	pthread_mutex_unlock(&probes->lock);
	return entry;
}

static void put(struct probes *probes, struct entry *entry)
{
	bool is_last;

	pthread_mutex_lock(&probes->lock);
	is_last = !--entry->users && entry->removed;
	pthread_mutex_unlock(&probes->lock);
	if (is_last)
		bell_ring(probes->bell);
}

/* With the lock held: takes an entry out of the table. */
static void take_out(struct probes *probes, const char *name, struct entry *entry)
{
	entry->removed = true;
	/* detaching takes longer */
	probe_stop(entry->probe);
	g_ptr_array_add(probes->removed, entry);
	g_hash_table_remove(probes->entries, name);
}

int probes_remove(struct probes *probes, const char *name)
{
	struct entry *entry;

	pthread_mutex_lock(&probes->lock);
	entry = g_hash_table_lookup(probes->entries, name);
	if (entry)
		take_out(probes, name, entry);
	pthread_mutex_unlock(&probes->lock);
	if (!entry)
		return -ENOENT;
	bell_ring(probes->bell);
	return 0;
}

bool probes_is_name(const char *name)
{
	const size_t length = strlen(name);

	if (!length || length > PROBES_NAME_MAX || strcmp(name, "list") == 0 || strcmp(name, ".") == 0 ||
		strcmp(name, "..") == 0)
		return false;
	for (const char *at = name; *at; at++)
		if (!g_ascii_isalnum(*at) && !strchr("_.-", *at))
			return false;
	return true;
}

bool probes_has(struct probes *probes, const char *name)
{
	bool has;

	pthread_mutex_lock(&probes->lock);
	has = g_hash_table_contains(probes->entries, name);
	pthread_mutex_unlock(&probes->lock);
	return has;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void probes_list(struct probes *probes, GPtrArray *names)
{
	GHashTableIter iter;
	void *name;

	pthread_mutex_lock(&probes->lock);
	g_hash_table_iter_init(&iter, probes->entries);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		g_ptr_array_add(names, g_strdup(name));
	pthread_mutex_unlock(&probes->lock);
	g_ptr_array_sort(names, compare_names);
}

/* ---- the thread -------------------------------------------------------------------------------- */

/* Destroys those removed programs that have no users any more. */
static void destroy_removed(struct probes *probes)
{
	g_autoptr(GPtrArray) gone = g_ptr_array_new();

	pthread_mutex_lock(&probes->lock);
	for (guint i = 0; i < probes->removed->len;) {
		struct entry *entry = g_ptr_array_index(probes->removed, i);

		if (entry->users) {
			i++;
			continue;
		}
		g_ptr_array_add(gone, entry);
		g_ptr_array_remove_index_fast(probes->removed, i);
	}
	pthread_mutex_unlock(&probes->lock);
	for (guint i = 0; i < gone->len; i++) {
		struct entry *entry = g_ptr_array_index(gone, i);

		probe_off(entry->probe);
		probe_destroy(entry->probe);
		g_free(entry);
	}
}

/* A record of the queue: with `changing` held. */
static void act(void *arg, const void *record, size_t bytes)
{
	struct probes *probes = arg;
	struct gen_action action;
	struct entry *found = NULL;
	GHashTableIter iter;
	void *value;

	if (bytes < sizeof(action))
		return;
	memcpy(&action, record, sizeof(action));
	pthread_mutex_lock(&probes->lock);
	g_hash_table_iter_init(&iter, probes->entries);
	while (!found && g_hash_table_iter_next(&iter, NULL, &value))
		if (probe_serial(((struct entry *)value)->probe) == action.serial)
			found = value;
	if (found)
		found->users++;
	pthread_mutex_unlock(&probes->lock);
	if (!found)
		return;
	probe_act(found->probe, action.output, action.time_ns);
	put(probes, found);
}

static void *run_thread(void *arg)
{
	struct probes *probes = arg;
	struct pollfd fds[2] = {{.fd = probes->bell, .events = POLLIN}, {.events = POLLIN}};
	bool closing;

	pthread_setname_np(pthread_self(), "kp-probes");
	fds[1].fd = queue_fd(probes->queue);
	do {
		(void)poll(fds, 2, -1);
		(void)bell_take(probes->bell);
		pthread_mutex_lock(&probes->changing);
		queue_read(probes->queue);
		destroy_removed(probes);
		pthread_mutex_unlock(&probes->changing);
		pthread_mutex_lock(&probes->lock);
		closing = probes->closing;
		pthread_mutex_unlock(&probes->lock);
	} while (!closing);
	return NULL;
}

/* What the first program needs: with `changing` held. */
static int prepare(struct probes *probes, struct err *err)
{
	const struct probe_hooks *hooks = &probes->options.hooks;
	int ret;

	if (!probes->machine) {
		ret = hooks->hold(hooks->arg, &probes->machine, err);
		if (ret)
			return ret;
	}
	if (!probes->queue) {
		ret = queue_create(QUEUE_BYTES, act, probes, &probes->queue, err);
		if (ret)
			return ret;
	}
	if (probes->has_thread)
		return 0;
	ret = pthread_create(&probes->thread, NULL, run_thread, probes);
	if (ret)
		return err_set(err, ret, "a thread can't be started: %s", g_strerror(ret));
	probes->has_thread = true;
	return 0;
}

void probes_close(struct probes *probes)
{
	GHashTableIter iter;
	void *name, *value;

	if (!probes)
		return;
	pthread_mutex_lock(&probes->lock);
	probes->closing = true;
	g_hash_table_iter_init(&iter, probes->entries);
	while (g_hash_table_iter_next(&iter, &name, &value)) {
		((struct entry *)value)->removed = true;
		probe_stop(((struct entry *)value)->probe);
		g_ptr_array_add(probes->removed, value);
	}
	g_hash_table_remove_all(probes->entries);
	pthread_mutex_unlock(&probes->lock);
	if (probes->has_thread) {
		bell_ring(probes->bell);
		pthread_join(probes->thread, NULL);
		probes->has_thread = false;
	}
}

void probes_destroy(struct probes *probes)
{
	if (!probes)
		return;
	probes_close(probes);
	destroy_removed(probes);
	queue_destroy(probes->queue);
	if (probes->machine)
		probes->options.hooks.release(probes->options.hooks.arg);
	g_hash_table_unref(probes->entries);
	g_ptr_array_unref(probes->removed);
	if (probes->bell >= 0)
		close(probes->bell);
	pthread_mutex_destroy(&probes->changing);
	pthread_mutex_destroy(&probes->lock);
	g_free(probes);
}

/* ---- writes ------------------------------------------------------------------------------------ */

/* What the other programs have: of a new one named so. */
static int measure(struct probes *probes, const char *name, struct probe_options *options, struct err *err)
{
	const uint64_t most = probes->options.memory_bytes / PROBES_MEMORY_PART;
	GHashTableIter iter;
	void *key, *value;
	uint64_t bytes = 0;
	uint32_t places = 0, count = 0;

	pthread_mutex_lock(&probes->lock);
	g_hash_table_iter_init(&iter, probes->entries);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct entry *entry = value;

		if (strcmp(key, name) == 0)
			continue;
		count++;
		bytes += probe_bytes(entry->probe);
		places += probe_places(entry->probe);
	}
	pthread_mutex_unlock(&probes->lock);
	if (count >= PROBES_MAX)
		return err_set(err, ENOSPC, "there are %u programs already", count);
	if (places >= PROBES_PLACES_MAX || (most && bytes >= most))
		return err_set(err, ENOSPC, "the other programs have all that is allowed: %u of %u probes, %"
			G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " bytes for maps", places,
				PROBES_PLACES_MAX,
			bytes, most);
	options->probes_most = PROBES_PLACES_MAX - places;
	options->bytes_most = most ? most - bytes : 0;
	return 0;
}

/* The new program counts from the moment on at which the old one ends; that is detached later. */
static void replace(struct probes *probes, const char *name, struct probe *probe)
{
	struct entry *entry = g_new0(struct entry, 1), *old;

	entry->probe = probe;
	pthread_mutex_lock(&probes->lock);
	old = g_hash_table_lookup(probes->entries, name);
	if (old)
		take_out(probes, name, old);
	g_hash_table_insert(probes->entries, g_strdup(name), entry);
	pthread_mutex_unlock(&probes->lock);
	probe_run(probe);
	if (old)
		bell_ring(probes->bell);
}

static int set_program(struct probes *probes, const char *name, const char *text, struct ast *ast,
	struct err *err)
{
	struct probe_options options = { .name = name, .hooks = &probes->options.hooks,
		.serials = &probes->serials, .keys = probes->options.keys,
		.string_bytes = probes->options.string_bytes };
	struct targets *targets = NULL;
	struct probe *probe = NULL;
	int ret = prepare(probes, err);

	/* what was removed, and kp-probes had no time for, does not count below */
	destroy_removed(probes);
	if (!ret)
		ret = measure(probes, name, &options, err);
	if (!ret)
		ret = targets_open(NULL, &targets, err);
	if (ret) {
		ast_destroy(ast);
		return ret;
	}
	options.machine = probes->machine;
	options.actions = queue_map(probes->queue);
	options.targets = targets;
	ret = probe_create(&options, ast, text, &probe, err);
	targets_close(targets);
	if (!ret)
		replace(probes, name, probe);
	return ret;
}

static int turn_on(struct probe *probe, struct err *err)
{
	struct targets *targets = NULL;
	int ret = targets_open(NULL, &targets, err);

	if (!ret)
		ret = probe_on(probe, targets, err);
	targets_close(targets);
	return ret;
}

/* A word alone on a line. Returns false if it is none. */
static bool run_word(struct probes *probes, const char *name, const char *text, int *ret, struct err *err)
{
	g_autofree char *word = g_strstrip(g_strdup(text));
	const bool on = strcmp(word, "on") == 0, off = strcmp(word, "off") == 0;
	struct entry *entry;

	if (!on && !off && strcmp(word, "clear") != 0)
		return false;
	entry = get(probes, name);
	if (!entry) {
		*ret = err_set(err, EINVAL, "there is no program yet that the word '%s' is for", word);
		return true;
	}
	*ret = 0;
	if (on)
		*ret = turn_on(entry->probe, err);
	else if (off)
		probe_off(entry->probe);
	else
		probe_clear(entry->probe);
	put(probes, entry);
	return true;
}

int probes_set(struct probes *probes, const char *name, const char *text, size_t bytes, bool *is_word,
	struct err *err)
{
	g_autofree char *copy = g_strndup(text, bytes);
	struct ast *ast = NULL;
	int ret = 0;

	pthread_mutex_lock(&probes->changing);
	*is_word = run_word(probes, name, copy, &ret, err);
	if (!*is_word) {
		ret = parser_parse(text, bytes, &ast, err);
		if (!ret)
			ret = set_program(probes, name, copy, ast, err);
	}
	pthread_mutex_unlock(&probes->changing);
	return ret;
}

void probes_begin(struct probes *probes, const char *name)
{
	struct entry *entry;

	pthread_mutex_lock(&probes->changing);
	entry = get(probes, name);
	if (entry) {
		probe_begin(entry->probe);
		put(probes, entry);
	}
	pthread_mutex_unlock(&probes->changing);
}

/* ---- reads ------------------------------------------------------------------------------------- */

int probes_print(struct probes *probes, const char *name, const struct value_names *names, GString *out)
{
	struct entry *entry = get(probes, name);

	if (!entry)
		return -ENOENT;
	probe_print(entry->probe, names, out);
	put(probes, entry);
	return 0;
}

static void print_one(struct stats *stats, const char *name, struct probe *probe)
{
	struct probe_counts counts;

	probe_count(probe, &counts);
	stats_text(stats, probe_is_on(probe) ? "on" : "off", "probes.%s.state", name);
	stats_u64(stats, counts.events, "probes.%s.events", name);
	stats_u64(stats, counts.missed, "probes.%s.missed", name);
	stats_u64(stats, counts.filtered, "probes.%s.filtered", name);
	stats_u64(stats, counts.keys, "probes.%s.keys", name);
	stats_u64(stats, counts.keys_dropped, "probes.%s.keys_dropped", name);
	stats_u64(stats, counts.run_ns, "probes.%s.run_ns", name);
}

void probes_print_stats(struct probes *probes, struct stats *stats)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	probes_list(probes, names);
	for (guint i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		struct entry *entry = get(probes, name);

		if (!entry)
			continue;
		print_one(stats, name, entry->probe);
		put(probes, entry);
	}
}
