/* SPDX-License-Identifier: MIT */
/* Cache of results: see cache.h. */
#include "symbolizer/cache.h"

#include <glib.h>
#include <string.h>

/* Approximate overhead of an entry and a string: hash table slots, malloc's headers. */
#define OVERHEAD_BYTES 64

struct cache {
	size_t bytes_max;
	size_t bytes;
	GHashTable *files; /* key (GBytes) -> struct cache_file */
	GQueue recent;     /* struct cache_file, the most recently used one first */
};

struct cache_file {
	GBytes *key;
	GList link; /* in cache.recent */
	GHashTable *entries; /* struct cache_entry, by offset */
	GStringChunk *strings;
	GHashTable *known; /* the strings in it, to count their bytes once */
	size_t bytes;
};

struct cache_entry {
	uint64_t offset;
	unsigned int flags; /* of the request */
	/* until when missing parts count as missing; UINT64_MAX: nothing is missing */
	uint64_t until_ns;
	struct symbols_place place;
	struct symbols_frame frames[];
};

static void free_file(gpointer data)
{
	struct cache_file *file = data;

	g_hash_table_destroy(file->entries);
	g_hash_table_destroy(file->known);
	g_string_chunk_free(file->strings);
	g_bytes_unref(file->key);
	g_free(file);
}

struct cache *cache_create(size_t bytes_max)
{
	struct cache *cache = g_new0(struct cache, 1);

	cache->bytes_max = bytes_max;
	cache->files = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, NULL, free_file);
	g_queue_init(&cache->recent);
	return cache;
}

void cache_destroy(struct cache *cache)
{
	if (!cache)
		return;
	g_hash_table_destroy(cache->files);
	g_free(cache);
}

/* The identity of a file; NULL if it has none. */
static GBytes *make_key(const struct symbols_file *file)
{
	GByteArray *key = g_byte_array_new();
	uint8_t kind = (uint8_t)file->kind;

	g_byte_array_append(key, &kind, 1);
	g_byte_array_append(key, (const guint8 *)file->path, (guint)strlen(file->path) + 1);
	if (file->kind != SYMBOLS_ELF && file->kernel && file->kernel->build_id_length) {
		g_byte_array_append(key, file->kernel->build_id,
			(guint)file->kernel->build_id_length);
		g_byte_array_append(key, (const guint8 *)&file->kernel->start,
			sizeof(file->kernel->start));
		/* a module may be loaded again at another address */
		if (file->mapping_count)
			g_byte_array_append(key, (const guint8 *)&file->mappings[0].start,
				sizeof(file->mappings[0].start));
	} else if (file->kind == SYMBOLS_ELF && file->build_id_length) {
		g_byte_array_append(key, file->build_id, (guint)file->build_id_length);
	} else {
		g_byte_array_unref(key);
		return NULL;
	}
	return g_byte_array_free_to_bytes(key);
}

struct cache_file *cache_find_file(struct cache *cache, const struct symbols_file *wanted)
{
	GBytes *key = NULL;
	struct cache_file *file;

	if (cache->bytes_max && wanted->kind != SYMBOLS_JIT)
		key = make_key(wanted);
	if (!key)
		return NULL;
	file = g_hash_table_lookup(cache->files, key);
	if (file) {
		g_bytes_unref(key);
		g_queue_unlink(&cache->recent, &file->link);
	} else {
		file = g_new0(struct cache_file, 1);
		file->key = key;
		file->link.data = file;
		file->entries = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
		file->known = g_hash_table_new(g_direct_hash, g_direct_equal);
		file->strings = g_string_chunk_new(4096);
		file->bytes = sizeof(*file) + g_bytes_get_size(key) + 4096;
		cache->bytes += file->bytes;
		g_hash_table_insert(cache->files, key, file);
	}
	g_queue_push_head_link(&cache->recent, &file->link);
	return file;
}

bool cache_find(const struct cache_file *file, uint64_t offset, unsigned int flags,
	uint64_t now_ns, struct symbols_place *place)
{
	const struct cache_entry *entry = g_hash_table_lookup(file->entries, &offset);

	if (!entry || (flags & ~entry->flags))
		return false;
	/* a name without a line is a complete result for a request without lines */
	if (now_ns >= entry->until_ns && (flags || !entry->place.count))
		return false;
	*place = entry->place;
	if (!(flags & SYMBOLS_LINES) && place->count > 1) {
		place->frames += place->count - 1;
		place->count = 1;
	}
	return true;
}

static const char *add_text(struct cache_file *file, const char *text, size_t *bytes)
{
	char *copy;

	if (!text)
		return NULL;
	copy = g_string_chunk_insert_const(file->strings, text);
	if (g_hash_table_add(file->known, copy))
		*bytes += strlen(copy) + 1 + OVERHEAD_BYTES;
	return copy;
}

static void drop_file(struct cache *cache, struct cache_file *file)
{
	cache->bytes -= file->bytes;
	g_queue_unlink(&cache->recent, &file->link);
	g_hash_table_remove(cache->files, file->key);
}

void cache_add(struct cache *cache, struct cache_file *file, uint64_t offset, unsigned int flags,
	unsigned int satisfied, uint64_t now_ns, const struct symbols_place *place)
{
	size_t bytes = sizeof(struct cache_entry) + place->count * sizeof(struct symbols_frame);
	struct cache_entry *entry;
	uint32_t i;

	entry = g_malloc(bytes);
	bytes += OVERHEAD_BYTES;
	entry->offset = offset;
	entry->flags = flags;
	entry->until_ns =
		place->count && !(flags & ~satisfied) ? UINT64_MAX : now_ns + CACHE_RETRY_NS;
	entry->place = *place;
	entry->place.frames = entry->frames;
	for (i = 0; i < place->count; i++) {
		entry->frames[i] = place->frames[i];
		entry->frames[i].function = add_text(file, place->frames[i].function, &bytes);
		entry->frames[i].source = add_text(file, place->frames[i].source, &bytes);
	}
	/*
	 * the bytes of a replaced entry stay counted: that happens once, when lines are requested
	 * after names
	 */
	g_hash_table_replace(file->entries, &entry->offset, entry);
	file->bytes += bytes;
	cache->bytes += bytes;
}

void cache_trim(struct cache *cache)
{
	while (cache->bytes > cache->bytes_max && cache->recent.tail)
		drop_file(cache, cache->recent.tail->data);
}

size_t cache_bytes(const struct cache *cache)
{
	return cache->bytes;
}
