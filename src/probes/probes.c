/* SPDX-License-Identifier: MIT */
/* The programs of probes/ of one session. */
#include "probes/probes_state.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bell.h"
#include "base/switch_word.h"
#include "base/units.h"
#include "bpf/file_links.h"
#include "bpf/queue.h"
#include "probes/parser.h"
#include "probes/store.h"
#include "sys/clock.h"

/* What can be probed takes some 20 ms and 15 MB to read: it is kept so long behind the last program. */
#define TARGETS_KEPT_NS (5 * NSEC_PER_SEC)

/* Actions that wait for kp-probes: some 2,700. */
#define QUEUE_BYTES (64u << 10)

/* What could not be attached yet is tried again after this time. */
#define AGAIN_MS 500

/* So many may wait until the thread has detached them: 100 functions by fentry take 20 s. */
#define REMOVED_MAX 16

struct probes *probes_create(const struct probes_options *options)
{
	struct probes *probes = g_new0(struct probes, 1);

	probes->options = *options;
	probes->bell = bell_open();
	probes->measuring = -1;
	pthread_mutex_init(&probes->changing, NULL);
	pthread_mutex_init(&probes->lock, NULL);
	pthread_mutex_init(&probes->settling, NULL);
	pthread_cond_init(&probes->settled, NULL);
	probes->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	probes->removed = g_ptr_array_new();
	return probes;
}

/* ---- entries ----------------------------------------------------------------------------------- */

struct entry *probes_get(struct probes *probes, const char *name)
{
	struct entry *entry;

	pthread_mutex_lock(&probes->lock);
	entry = g_hash_table_lookup(probes->entries, name);
	if (entry)
		entry->users++;
	pthread_mutex_unlock(&probes->lock);
	return entry;
}

void probes_put(struct probes *probes, struct entry *entry)
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

bool probes_exist(struct probes *probes)
{
	bool exist;

	pthread_mutex_lock(&probes->lock);
	exist = g_hash_table_size(probes->entries) != 0;
	pthread_mutex_unlock(&probes->lock);
	return exist;
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

/* One that is to be detached by the caller; NULL if there is none. */
static struct entry *take_removed(struct probes *probes)
{
	struct entry *found = NULL;

	pthread_mutex_lock(&probes->lock);
	for (guint i = 0; i < probes->removed->len && !found; i++) {
		struct entry *entry = g_ptr_array_index(probes->removed, i);

		if (!entry->users && !entry->detaching)
			found = entry;
	}
	if (found)
		found->detaching = true;
	pthread_mutex_unlock(&probes->lock);
	return found;
}

/*
 * Detaches those removed programs that have no users any more, which runs their END. `changing` need not be
 * held, so that others are attached meanwhile.
 */
static void detach_removed(struct probes *probes)
{
	struct entry *entry;

	while ((entry = take_removed(probes))) {
		probe_off(entry->probe);
		pthread_mutex_lock(&probes->lock);
		entry->detached = true;
		pthread_mutex_unlock(&probes->lock);
	}
}

static bool has_many_removed(struct probes *probes)
{
	bool has;

	pthread_mutex_lock(&probes->lock);
	has = probes->removed->len > REMOVED_MAX;
	pthread_mutex_unlock(&probes->lock);
	return has;
}

/* With the lock held. Not one that a thread is detaching just now. */
static struct entry *find_removed(struct probes *probes, uint32_t serial)
{
	for (guint i = 0; i < probes->removed->len; i++) {
		struct entry *entry = g_ptr_array_index(probes->removed, i);

		if (probe_serial(entry->probe) == serial && entry->detaching == entry->detached)
			return entry;
	}
	return NULL;
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
	if (!found)
		found = find_removed(probes, action.serial);
	if (found)
		found->users++;
	pthread_mutex_unlock(&probes->lock);
	if (!found)
		return;
	probe_act(found->probe, &action, (const char *)record + sizeof(action), bytes - sizeof(action));
	probes_put(probes, found);
}

/* With `changing` held. */
static void read_queue(struct probes *probes)
{
	if (!probes->queue)
		return;
	queue_read(probes->queue);
	pthread_mutex_lock(&probes->settling);
	pthread_cond_broadcast(&probes->settled);
	pthread_mutex_unlock(&probes->settling);
}

static void list_detached(struct probes *probes, GPtrArray *detached)
{
	pthread_mutex_lock(&probes->lock);
	for (guint i = 0; i < probes->removed->len; i++) {
		struct entry *entry = g_ptr_array_index(probes->removed, i);

		if (entry->detached)
			g_ptr_array_add(detached, entry);
	}
	pthread_mutex_unlock(&probes->lock);
}

/* Whether it has no users, and no other thread finds it from now on. */
static bool take_unused(struct probes *probes, struct entry *entry)
{
	bool is_unused;

	pthread_mutex_lock(&probes->lock);
	is_unused = !entry->users;
	if (is_unused)
		g_ptr_array_remove_fast(probes->removed, entry);
	pthread_mutex_unlock(&probes->lock);
	return is_unused;
}

/*
 * With `changing` held, without which none is destroyed: destroys those that are detached, when what they
 * asked for before is done. Not those that are detached only while the queue is read.
 */
static void destroy_detached(struct probes *probes)
{
	g_autoptr(GPtrArray) detached = g_ptr_array_new();

	list_detached(probes, detached);
	if (!detached->len)
		return;
	read_queue(probes);
	for (guint i = 0; i < detached->len; i++) {
		struct entry *entry = g_ptr_array_index(detached, i);

		if (!take_unused(probes, entry))
			continue;
		probe_destroy(entry->probe);
		g_free(entry);
	}
}

void probes_settle(struct probes *probes, uint64_t until_ns)
{
	bool waits = true;

	pthread_mutex_lock(&probes->settling);
	while (waits && probes->queue && queue_has_records(probes->queue))
		waits = clock_wait_until(&probes->settled, &probes->settling, until_ns);
	pthread_mutex_unlock(&probes->settling);
}

void probes_look(struct probes *probes)
{
	/* relaxed: a flag that the bell goes with */
	atomic_write_relaxed(&probes->look, true);
	bell_ring(probes->bell);
}

/* With `changing` held, without which no program is detached. */
static void look(struct probes *probes)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();
	GHashTableIter iter;
	void *value;

	atomic_write_relaxed(&probes->look, false);
	pthread_mutex_lock(&probes->lock);
	g_hash_table_iter_init(&iter, probes->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		((struct entry *)value)->users++;
		g_ptr_array_add(all, value);
	}
	pthread_mutex_unlock(&probes->lock);
	for (guint i = 0; i < all->len; i++) {
		struct entry *entry = g_ptr_array_index(all, i);

		probe_check_links(entry->probe);
		probe_look(entry->probe);
		if (probe_has_more(entry->probe))
			atomic_write_relaxed(&probes->look, true);
		probes_put(probes, entry);
	}
}

/* With `changing` held: without programs nothing of it is needed. */
static void give_back(struct probes *probes)
{
	bool is_empty;

	pthread_mutex_lock(&probes->lock);
	is_empty = !g_hash_table_size(probes->entries) && !probes->removed->len;
	pthread_mutex_unlock(&probes->lock);
	if (!is_empty)
		return;
	pthread_mutex_lock(&probes->settling);
	queue_destroy(g_steal_pointer(&probes->queue));
	pthread_mutex_unlock(&probes->settling);
	if (probes->machine)
		probes->options.hooks.release(probes->options.hooks.arg);
	probes->machine = NULL;
}

/* With `changing` held: what can be probed on this machine, which is not to be closed. */
static int find_targets(struct probes *probes, struct targets **targets, struct err *err)
{
	int ret = probes->targets ? 0 : targets_open(NULL, &probes->targets, err);

	if (ret)
		return ret;
	probes->targets_until_ns = clock_monotonic_ns() + TARGETS_KEPT_NS;
	bell_ring(probes->bell);
	*targets = probes->targets;
	return 0;
}

/* With `changing` held. Returns the time until there is something to close; -1 for none. */
static int expire_targets(struct probes *probes)
{
	const uint64_t now_ns = clock_monotonic_ns();

	if (!probes->targets)
		return -1;
	if (now_ns < probes->targets_until_ns)
		return (int)((probes->targets_until_ns - now_ns) / NSEC_PER_MSEC) + 1;
	targets_close(g_steal_pointer(&probes->targets));
	return -1;
}

/* The earlier one of two times; -1 is never. */
static int earlier(int ms, int other_ms)
{
	return ms < 0 || (other_ms >= 0 && other_ms < ms) ? other_ms : ms;
}

static void *run_thread(void *arg)
{
	struct probes *probes = arg;
	struct pollfd fds[2] = {{.fd = probes->bell, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
	bool closing;
	int timeout_ms = -1;

	pthread_setname_np(pthread_self(), "kp-probes");
	do {
		(void)poll(fds, 2, timeout_ms);
		(void)bell_take(probes->bell);
		pthread_mutex_lock(&probes->changing);
		read_queue(probes);
		if (atomic_read_relaxed(&probes->look))
			look(probes);
		pthread_mutex_unlock(&probes->changing);
		detach_removed(probes);
		pthread_mutex_lock(&probes->changing);
		destroy_detached(probes);
		give_back(probes);
		timeout_ms = earlier(expire_targets(probes), probes_expire_measuring(probes));
		if (atomic_read_relaxed(&probes->look))
			timeout_ms = earlier(timeout_ms, AGAIN_MS);
		/* prepare() rings the bell when there is one again */
		fds[1].fd = probes->queue ? queue_fd(probes->queue) : -1;
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
	struct queue *queue;
	int ret;

	if (!probes->machine) {
		ret = hooks->hold(hooks->arg, &probes->machine, err);
		if (ret)
			return ret;
	}
	if (!probes->queue) {
		ret = queue_create(QUEUE_BYTES, act, probes, &queue, err);
		if (ret)
			return ret;
		pthread_mutex_lock(&probes->settling);
		probes->queue = queue;
		pthread_mutex_unlock(&probes->settling);
		bell_ring(probes->bell);
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
	detach_removed(probes);
	destroy_detached(probes);
	give_back(probes);
	targets_close(probes->targets);
	g_hash_table_unref(probes->entries);
	g_ptr_array_unref(probes->removed);
	if (probes->measuring >= 0)
		close(probes->measuring);
	if (probes->bell >= 0)
		close(probes->bell);
	pthread_mutex_destroy(&probes->changing);
	pthread_mutex_destroy(&probes->lock);
	pthread_mutex_destroy(&probes->settling);
	pthread_cond_destroy(&probes->settled);
	g_free(probes);
}

/* ---- writes ------------------------------------------------------------------------------------ */

/* What the other programs have, with those that are not detached yet: of a new one named so. */
static int measure(struct probes *probes, const char *name, struct probe_options *options, struct err *err)
{
	const uint64_t most = probes->options.memory_bytes / PROBES_MEMORY_PART;
	GHashTableIter iter;
	void *key, *value;
	struct file_links_size left = { 0 };
	uint64_t bytes, ready;
	uint32_t places, count = 0;

	if (probes->options.links)
		file_links_left(probes->options.links, &left);
	places = left.places;
	bytes = left.bytes;
	ready = left.ready_bytes;

	pthread_mutex_lock(&probes->lock);
	g_hash_table_iter_init(&iter, probes->entries);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct entry *entry = value;

		if (strcmp(key, name) == 0)
			continue;
		count++;
		bytes += probe_bytes(entry->probe);
		ready += probe_ready_bytes(entry->probe);
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
	options->ready_most = ready < STORE_READY_MAX ? STORE_READY_MAX - ready : 0;
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

/* kp-probes attaches what was left. */
static void look_again(struct probes *probes, const struct probe *probe)
{
	if (probe_has_more(probe))
		probes_look(probes);
}

static int set_program(struct probes *probes, const char *name, const char *text, struct ast *ast,
	struct err *err)
{
	struct probe_options options = { .name = name, .hooks = &probes->options.hooks,
		.serials = probes->options.serials, .links = probes->options.links,
		.keys = probes->options.keys, .string_bytes = probes->options.string_bytes,
		.pid = probes->options.pid, .as_json = probes->options.as_json };
	struct targets *targets = NULL;
	struct probe *probe = NULL;
	int ret = prepare(probes, err);

	/* removed programs that kp-probes has not detached yet take memory, and are not counted below */
	if (has_many_removed(probes)) {
		detach_removed(probes);
		destroy_detached(probes);
	}
	if (!ret)
		ret = measure(probes, name, &options, err);
	if (!ret)
		ret = find_targets(probes, &targets, err);
	if (ret) {
		ast_destroy(ast);
		return ret;
	}
	options.machine = probes->machine;
	options.actions = queue_map(probes->queue);
	options.targets = targets;
	ret = probe_create(&options, ast, text, &probe, err);
	if (!ret) {
		look_again(probes, probe);
		replace(probes, name, probe);
	} else {
		bell_ring(probes->bell); /* it may have been the first one */
	}
	return ret;
}

static int turn_on(struct probes *probes, struct probe *probe, struct err *err)
{
	struct targets *targets = NULL;
	int ret = find_targets(probes, &targets, err);

	if (!ret)
		ret = probe_on(probe, targets, err);
	look_again(probes, probe);
	return ret;
}

/* With what END asks for, as clear() of a map: the next answer is without it. */
static void turn_off(struct probes *probes, struct probe *probe)
{
	probe_off(probe);
	read_queue(probes);
}

/* A word alone on a line. Returns false if it is none. */
static bool run_word(struct probes *probes, const char *name, const char *text, int *ret, struct err *err)
{
	g_autofree char *word = g_strstrip(g_strdup(text));
	const bool clear = strcmp(word, "clear") == 0;
	enum switch_word to = SWITCH_WORD_OFF;
	struct entry *entry;

	if (!clear && switch_word_parse(word, &to))
		return false;
	entry = probes_get(probes, name);
	if (!entry) {
		*ret = err_set(err, EINVAL, "there is no program yet that the word '%s' is for", word);
		return true;
	}
	*ret = 0;
	if (clear)
		probe_clear(entry->probe);
	else if (switch_word_apply(to, probe_is_on(entry->probe)))
		*ret = turn_on(probes, entry->probe, err);
	else
		turn_off(probes, entry->probe);
	probes_put(probes, entry);
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
	entry = probes_get(probes, name);
	if (entry) {
		probe_begin(entry->probe);
		probes_put(probes, entry);
	}
	pthread_mutex_unlock(&probes->changing);
}
