/* SPDX-License-Identifier: MIT */
/* The maps of one program in the kernel. */
#include "probes/store_state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/units.h"
#include "bpf/map.h"

/*
 * A map up to this size has the memory of all keys from the start: a new key then takes the least time. A
 * larger one has it while the programs together have less than STORE_READY_MAX so. For others the kernel
 * finds the memory of a new key while the program runs, which fails where many keys come at once.
 */
#define PREALLOC_MAX MIB
/* What the kernel needs for a key besides its bytes, about. */
#define KEY_OVERHEAD 64u
/* Maps of a text that have caches: each takes two of the 64 maps that the kernel allows a program. */
#define CACHES_MAX 8u

/* ---- creation ---------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct store *store, const struct layout_map *layout)
{
	uint64_t values = (uint64_t)layout->value_bytes;

	if (layout->kind == LAYOUT_ONE_PER_CPU || layout->kind == LAYOUT_KEYED_PER_CPU)
		values *= store->cpus;
	if (layout->kind == LAYOUT_ONE || layout->kind == LAYOUT_ONE_PER_CPU)
		return values;
	return (values + layout->key_bytes + KEY_OVERHEAD) * store->keys;
}

/* What a map needs is added up before any is made. */
static int lay_out(struct store *store, const struct ast_map *map, struct err *err)
{
	struct layout_map *layout = &store->layouts[map->number];

	layout_map(map, layout);
	if (store->cached < CACHES_MAX)
		layout_cache(map, store->cpu_slots, layout);
	store->cached += layout->cache.slots != 0;
	if (layout->value_bytes > LAYOUT_VALUE_MAX || layout->key_bytes > LAYOUT_KEY_MAX)
		return ast_fail(store->ast, map->place, E2BIG, err,
			"@%s needs %u bytes for a key and %u for a value; the limits are %u and %u",
			map->name, layout->key_bytes, layout->value_bytes, LAYOUT_KEY_MAX, LAYOUT_VALUE_MAX);
	store->bytes += bytes_of(store, layout) + store_cache_bytes(store, layout);
	/* the map of stacks is one for all of them */
	if (store_has_stacks(map) && !store->stack_bytes) {
		store->stack_bytes = (uint64_t)store->keys * (sizeof(struct gen_stack) + KEY_OVERHEAD);
		store->bytes += store->stack_bytes;
	}
	return 0;
}

/* Whether the memory of all keys is taken from the start; it is counted. */
static bool is_ready(struct store *store, uint64_t bytes)
{
	if (bytes <= PREALLOC_MAX)
		return true;
	if (store->ready_bytes + bytes > store->ready_most)
		return false;
	store->ready_bytes += bytes;
	return true;
}

static int create_map(struct store *store, const struct ast_map *map, struct err *err)
{
	static const enum bpf_map_type types[] = {
		[LAYOUT_ONE] = BPF_MAP_TYPE_ARRAY,
		[LAYOUT_KEYED] = BPF_MAP_TYPE_HASH,
		[LAYOUT_ONE_PER_CPU] = BPF_MAP_TYPE_PERCPU_ARRAY,
		[LAYOUT_KEYED_PER_CPU] = BPF_MAP_TYPE_PERCPU_HASH,
	};
	const struct layout_map *layout = &store->layouts[map->number];
	struct map_spec spec = { .name = "kp_probe", .entries = 1 };
	const bool is_keyed = map->key_count != 0;
	int ret;

	spec.type = types[layout->kind];
	spec.key_bytes = layout->key_bytes;
	spec.value_bytes = layout->value_bytes;
	if (is_keyed)
		spec.entries = store->keys;
	if (is_keyed && !is_ready(store, bytes_of(store, layout)))
		spec.flags = BPF_F_NO_PREALLOC;
	ret = map_create(&spec, &store->maps[map->number], err);
	return ret ? ret : store_cache_create(store, map, err);
}

int store_create_shared(const char *name, size_t bytes, int *fd, void **memory, struct err *err)
{
	const struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = name, .key_bytes = 4,
		.value_bytes = (uint32_t)bytes, .entries = 1, .flags = BPF_F_MMAPABLE };
	int ret = map_create(&spec, fd, err);

	if (ret)
		return ret;
	ret = map_mmap(*fd, bytes, 1, memory);
	return ret ? err_set(err, -ret, "a map can't be mapped: %s", strerror(-ret)) : 0;
}

static int create_others(struct store *store, struct err *err)
{
	const struct map_spec zeros = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_zeros", .key_bytes = 4,
		.value_bytes = LAYOUT_VALUE_MAX, .entries = 1 };
	const struct map_spec stacks = { .type = BPF_MAP_TYPE_HASH, .name = "kp_stacks", .key_bytes = 8,
		.value_bytes = sizeof(struct gen_stack), .entries = store->keys,
		.flags = BPF_F_NO_PREALLOC };
	void *control = NULL, *counts = NULL;
	int ret = store_create_shared("kp_probe_ctl", sizeof(*store->control), &store->control_fd, &control,
		err);

	store->control = control;
	if (!ret)
		ret = store_create_shared("kp_probe_cnt", store->counts_bytes, &store->counts_fd, &counts,
			err);
	store->counts = counts;
	if (!ret)
		ret = map_create(&zeros, &store->zeros_fd, err);
	if (!ret)
		ret = map_create(&stacks, &store->stacks_fd, err);
	return ret;
}

static struct store *make(const struct ast *ast, const struct store_options *options)
{
	struct store *store = g_new0(struct store, 1);
	int cpus = map_possible_cpus();

	store->ast = ast;
	store->keys = options->keys ? options->keys : STORE_KEYS_DEFAULT;
	store->ready_most = options->ready_most;
	store->cpus = cpus > 0 ? (uint32_t)cpus : 1;
	for (store->cpu_slots = 1; store->cpu_slots < store->cpus; store->cpu_slots *= 2)
		;
	store->bytes = LAYOUT_VALUE_MAX; /* of the value that is all zeros */
	store->counts_bytes = (size_t)ast->unit_count * store->cpu_slots * sizeof(struct gen_counts);
	store->maps = g_new(int, ast->map_count + 1);
	store->cache_fds = g_new(int, ast->map_count + 1);
	for (uint32_t i = 0; i < ast->map_count; i++)
		store->maps[i] = store->cache_fds[i] = -1;
	store->caches = g_new0(struct store_cache, ast->map_count + 1);
	store->layouts = g_new0(struct layout_map, ast->map_count + 1);
	store->control_fd = store->counts_fd = store->zeros_fd = store->stacks_fd = -1;
	pthread_mutex_init(&store->sweeping, NULL);
	return store;
}

int store_create(const struct ast *ast, const struct store_options *options, struct store **store,
	struct err *err)
{
	struct store *made;
	int ret = 0;

	/* a lookup in a map of all CPUs writes a value for each that is possible */
	if (map_possible_cpus() <= 0)
		return err_set(err, EOPNOTSUPP, "the possible CPUs of this machine can't be read (/sys)");
	made = make(ast, options);
	for (const struct ast_map *map = ast->maps; map && !ret; map = map->next)
		ret = lay_out(made, map, err);
	if (!ret && options->bytes_most && made->bytes > options->bytes_most)
		ret = err_set(err, ENOMEM, "the maps may need %" G_GUINT64_FORMAT
			" bytes; of 1/32 of the machine's memory %" G_GUINT64_FORMAT " are left", made->bytes,
			options->bytes_most);
	for (const struct ast_map *map = ast->maps; map && !ret; map = map->next)
		ret = create_map(made, map, err);
	if (!ret)
		ret = create_others(made, err);
	if (ret) {
		store_destroy(made);
		return ret;
	}
	*store = made;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void store_destroy(struct store *store)
{
	if (!store)
		return;
	for (uint32_t i = 0; i < store->ast->map_count; i++) {
		close_fd(store->maps[i]);
		store_cache_destroy(store, i);
	}
	if (store->control)
		munmap(store->control, sizeof(*store->control));
	if (store->counts)
		munmap(store->counts, store->counts_bytes);
	close_fd(store->control_fd);
	close_fd(store->counts_fd);
	close_fd(store->zeros_fd);
	close_fd(store->stacks_fd);
	pthread_mutex_destroy(&store->sweeping);
	g_free(store->maps);
	g_free(store->cache_fds);
	g_free(store->caches);
	g_free(store->layouts);
	g_free(store);
}

uint64_t store_bytes(const struct store *store)
{
	return store->bytes;
}

uint64_t store_ready_bytes(const struct store *store)
{
	return store->ready_bytes;
}

void store_fill(const struct store *store, struct gen_env *env)
{
	env->ast = store->ast;
	env->maps = store->maps;
	env->caches = store->cache_fds;
	env->layouts = store->layouts;
	env->control = store->control_fd;
	env->counts = store->counts_fd;
	env->cpus = store->cpu_slots;
	env->zeros = store->zeros_fd;
	env->stacks = store->stacks_fd;
}

void store_run(struct store *store, uint32_t serial, uint64_t start_ns)
{
	if (start_ns)
		store->control->start_ns = start_ns;
	/* after the time, for programs that see it */
	atomic_plain_write_release(&store->control->running, (uint64_t)(int32_t)serial);
}

void store_stop(struct store *store)
{
	atomic_plain_write_release(&store->control->running, 0);
}

bool store_is_running(const struct store *store)
{
	return atomic_plain_read_acquire(&store->control->running) != 0;
}

void store_counts(const struct store *store, struct gen_counts *counts)
{
	const size_t slots = store->counts_bytes / sizeof(*store->counts);

	*counts = (struct gen_counts){ 0 };
	for (size_t i = 0; i < slots; i++) {
		const struct gen_counts *one = &store->counts[i];

		counts->counted += atomic_plain_read_acquire(&one->counted);
		counts->filtered += atomic_plain_read_acquire(&one->filtered);
		counts->dropped += atomic_plain_read_acquire(&one->dropped);
		counts->lost += atomic_plain_read_acquire(&one->lost);
		counts->busy += atomic_plain_read_acquire(&one->busy);
	}
}

const struct layout_map *store_layout(const struct store *store, const struct ast_map *map)
{
	return &store->layouts[map->number];
}

/* ---- reading ----------------------------------------------------------------------------------- */

static bool is_per_cpu(const struct layout_map *layout)
{
	return layout->kind == LAYOUT_ONE_PER_CPU || layout->kind == LAYOUT_KEYED_PER_CPU;
}

/* The extreme of those CPUs that have one. */
static void keep_extreme(const struct ast_map *map, const uint64_t *values, uint64_t *sum)
{
	bool is_better = map->value.is_signed ? (int64_t)values[0] > (int64_t)sum[0] : values[0] > sum[0];

	if (!values[1])
		return;
	if (!sum[1] || is_better == (map->value_kind == AST_MAX))
		sum[0] = values[0];
	sum[1] = 1;
}

void store_add_cpu(const struct ast_map *map, const struct layout_map *layout, const uint64_t *values,
	uint64_t *sum)
{
	if (map->value_kind == AST_MIN || map->value_kind == AST_MAX) {
		keep_extreme(map, values, sum);
		return;
	}
	for (uint32_t i = 0; i < layout->value_bytes / sizeof(*sum); i++)
		sum[i] += values[i];
}

/* Whether a map without keys was ever set. */
static bool is_set(const struct ast_map *map, const struct layout_map *layout, const uint64_t *value)
{
	switch (map->value_kind) {
	case AST_PLAIN:
	case AST_COUNT:
		return value[0] != 0;
	case AST_HIST:
	case AST_LHIST:
		for (uint32_t i = 0; i < layout->buckets; i++)
			if (value[i])
				return true;
		return false;
	default:
		return value[1] != 0;
	}
}

/*
 * Adds the entry of a key; `raw` has room for what a lookup returns, `cached` is what the cache has of it, or
 * NULL. A program may have added the key when the map was cleared, and have counted for what was cleared: a
 * key of a map with a cache that has no value is none.
 */
static void add_entry(const struct store *store, const struct ast_map *map, const void *key, uint64_t *raw,
	const uint64_t *cached, GArray *entries)
{
	const struct layout_map *layout = &store->layouts[map->number];
	const uint32_t words = layout->value_bytes / sizeof(*raw);
	struct store_entry entry;
	uint64_t *sum;

	if (map_lookup(store->maps[map->number], key, raw))
		return;
	sum = g_new0(uint64_t, words);
	if (is_per_cpu(layout))
		for (uint32_t cpu = 0; cpu < store->cpus; cpu++)
			store_add_cpu(map, layout, raw + (size_t)cpu * words, sum);
	else
		memcpy(sum, raw, layout->value_bytes);
	if (cached)
		store_add_cpu(map, layout, cached, sum);
	if ((!map->key_count || layout->cache.slots) && !is_set(map, layout, sum)) {
		g_free(sum);
		return;
	}
	entry.key = g_memdup2(key, layout->key_bytes);
	entry.value = (char *)sum;
	g_array_append_val(entries, entry);
}

static void free_entry(gpointer data)
{
	struct store_entry *entry = data;

	g_free(entry->key);
	g_free(entry->value);
}

/* A key that goes meanwhile makes the walk begin again: keys are remembered. */
GPtrArray *store_keys(const struct store *store, const struct ast_map *map)
{
	const int fd = store->maps[map->number];
	const uint32_t bytes = store->layouts[map->number].key_bytes;
	GPtrArray *keys = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_bytes_hash, g_bytes_equal,
		(GDestroyNotify)g_bytes_unref, NULL);
	g_autofree char *key = g_malloc0(bytes), *next = g_malloc0(bytes);
	const char *at = NULL;

	for (uint32_t turns = 0; turns < store->keys * 4 && !map_next_key(fd, at, next); turns++) {
		if (g_hash_table_add(seen, g_bytes_new(next, bytes)))
			g_ptr_array_add(keys, g_memdup2(next, bytes));
		memcpy(key, next, bytes);
		at = key;
	}
	return keys;
}

/* Those of the keys that the map has. */
static GArray *read_keys(const struct store *store, const struct ast_map *map, const void *const *keys,
	guint count)
{
	const struct layout_map *layout = &store->layouts[map->number];
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(struct store_entry));
	g_autofree uint64_t *raw = g_malloc0((size_t)layout->value_bytes * store->cpus);
	g_autoptr(GHashTable) cached = store_cache_values(store, map);

	g_array_set_clear_func(entries, free_entry);
	for (guint i = 0; i < count; i++) {
		g_autoptr(GBytes) bytes = g_bytes_new_static(keys[i], layout->key_bytes);

		add_entry(store, map, keys[i], raw, g_hash_table_lookup(cached, bytes), entries);
	}
	return entries;
}

GArray *store_read(const struct store *store, const struct ast_map *map)
{
	const uint32_t zero = 0;
	g_autoptr(GPtrArray) keys = NULL;

	if (!map->key_count)
		return store_read_key(store, map, &zero);
	keys = store_keys(store, map);
	return read_keys(store, map, (const void *const *)keys->pdata, keys->len);
}

GArray *store_read_key(const struct store *store, const struct ast_map *map, const void *key)
{
	return read_keys(store, map, &key, 1);
}

uint32_t store_count_keys(const struct store *store, const struct ast_map *map)
{
	g_autoptr(GPtrArray) keys = NULL;
	g_autoptr(GArray) entries = NULL;

	if (!map->key_count)
		return 0;
	if (store->layouts[map->number].cache.slots) {
		/* a key without a value is none */
		entries = store_read(store, map);
		return entries->len;
	}
	keys = store_keys(store, map);
	return keys->len;
}

/* ---- changes ----------------------------------------------------------------------------------- */

void store_zero(struct store *store, const struct ast_map *map)
{
	const struct layout_map *layout = &store->layouts[map->number];
	g_autofree char *zeros = g_malloc0((size_t)layout->value_bytes * store->cpus);
	const int fd = store->maps[map->number];
	const uint32_t zero = 0;

	if (map->key_count) {
		g_autoptr(GPtrArray) keys = store_keys(store, map);

		for (guint i = 0; i < keys->len; i++)
			map_update(fd, g_ptr_array_index(keys, i), zeros, BPF_EXIST);
	} else {
		map_update(fd, &zero, zeros, BPF_ANY);
	}
}

void store_clear(struct store *store, const struct ast_map *map)
{
	const int fd = store->maps[map->number];

	if (map->key_count) {
		g_autoptr(GPtrArray) keys = store_keys(store, map);

		for (guint i = 0; i < keys->len; i++)
			map_delete(fd, g_ptr_array_index(keys, i));
		store_cache_clear(store, map);
	} else {
		store_zero(store, map);
	}
}
