/* SPDX-License-Identifier: MIT */
/* Symbolizes addresses, with a cache of results: see symbols.h. */
#include "symbolizer/symbols.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>

#include "symbolizer/cache.h"
#include "symbolizer/proto.h"

struct symbols {
	const struct symbols_source *source; /* invariant */
	void *self;			     /* invariant */
	pthread_mutex_t lock;                /* covers the members below; a leaf */
	struct cache *cache;
	uint64_t requested, cached;
};

/* ---- results --------------------------------------------------------------------------------- */

#define ARENA_FRAMES 1024 /* frames in one allocation */

struct symbols_arena {
	GStringChunk *strings;
	GHashTable *known; /* the strings, by content */
	size_t bytes;
	GPtrArray *blocks; /* of ARENA_FRAMES frames */
	size_t used;       /* frames used in the last block */
};

struct symbols_arena *symbols_arena_create(void)
{
	struct symbols_arena *arena = g_new0(struct symbols_arena, 1);

	arena->strings = g_string_chunk_new(1 << 14);
	arena->known = g_hash_table_new(g_str_hash, g_str_equal);
	arena->blocks = g_ptr_array_new_with_free_func(g_free);
	arena->used = ARENA_FRAMES;
	return arena;
}

void symbols_arena_destroy(struct symbols_arena *arena)
{
	if (!arena)
		return;
	g_hash_table_destroy(arena->known);
	g_string_chunk_free(arena->strings);
	g_ptr_array_free(arena->blocks, TRUE);
	g_free(arena);
}

const char *symbols_arena_text(struct symbols_arena *arena, const char *text)
{
	char *cached;

	if (!text)
		return NULL;
	cached = g_hash_table_lookup(arena->known, text);
	if (!cached) {
		cached = g_string_chunk_insert(arena->strings, text);
		g_hash_table_add(arena->known, cached);
		arena->bytes += strlen(cached) + 1 + sizeof(cached);
	}
	return cached;
}

size_t symbols_arena_bytes(const struct symbols_arena *arena)
{
	return arena->bytes;
}

static struct symbols_frame *take_frames(struct symbols_arena *arena, uint32_t count)
{
	struct symbols_frame *block;

	if (arena->used + count > ARENA_FRAMES) {
		g_ptr_array_add(arena->blocks, g_new(struct symbols_frame, ARENA_FRAMES));
		arena->bytes += ARENA_FRAMES * sizeof(struct symbols_frame);
		arena->used = 0;
	}
	block = g_ptr_array_index(arena->blocks, arena->blocks->len - 1);
	block += arena->used;
	arena->used += count;
	return block;
}

void symbols_arena_place(struct symbols_arena *arena, const struct symbols_place *from,
	struct symbols_place *place)
{
	uint32_t count = MIN(from->count, SYMBOLS_FRAMES_MAX), i;
	struct symbols_frame *frames = count ? take_frames(arena, count) : NULL;

	for (i = 0; i < count; i++) {
		frames[i].function = symbols_arena_text(arena, from->frames[i].function);
		frames[i].source = symbols_arena_text(arena, from->frames[i].source);
		frames[i].line = from->frames[i].line;
	}
	*place = *from;
	place->frames = frames;
	place->count = count;
}

/* ---- requests -------------------------------------------------------------------------------- */

struct symbols *symbols_create(const struct symbols_source *source, void *self,
	size_t cache_bytes_max)
{
	struct symbols *symbols = g_new0(struct symbols, 1);

	symbols->source = source;
	symbols->self = self;
	symbols->cache = cache_create(cache_bytes_max);
	pthread_mutex_init(&symbols->lock, NULL);
	return symbols;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	if (symbols->source->destroy)
		symbols->source->destroy(symbols->self);
	cache_destroy(symbols->cache);
	pthread_mutex_destroy(&symbols->lock);
	g_free(symbols);
}

/* Sets the places that are cached, and lists the indexes of the others. */
static size_t take_cached(struct symbols *symbols, const struct symbols_file *file,
	const uint64_t *offsets, size_t count, const struct symbols_how *how,
	struct symbols_arena *arena, struct symbols_place *places, size_t *others)
{
	const struct cache_file *cached;
	uint64_t now_ns = proto_now_ns();
	struct symbols_place place;
	size_t i, n = 0;

	pthread_mutex_lock(&symbols->lock);
	cached = cache_find_file(symbols->cache, file);
	for (i = 0; i < count; i++) {
		if (cached && cache_find(cached, offsets[i], how->flags, now_ns, &place))
			symbols_arena_place(arena, &place, &places[i]);
		else
			others[n++] = i;
	}
	symbols->requested += count;
	symbols->cached += count - n;
	pthread_mutex_unlock(&symbols->lock);
	return n;
}

static void cache_results(struct symbols *symbols, const struct symbols_file *file,
	const uint64_t *offsets, size_t count, unsigned int flags, unsigned int satisfied,
	const struct symbols_place *places)
{
	uint64_t now_ns = proto_now_ns();
	struct cache_file *cached;
	size_t i;

	pthread_mutex_lock(&symbols->lock);
	cached = cache_find_file(symbols->cache, file);
	for (i = 0; cached && i < count; i++)
		cache_add(symbols->cache, cached, offsets[i], flags, satisfied, now_ns, &places[i]);
	cache_trim(symbols->cache);
	pthread_mutex_unlock(&symbols->lock);
}

void symbols_prepare(struct symbols *symbols)
{
	if (symbols->source->prepare)
		symbols->source->prepare(symbols->self);
}

int symbols_resolve(struct symbols *symbols, const struct symbols_file *file,
	const uint64_t *offsets, size_t count, const struct symbols_how *how,
	struct symbols_arena *arena, struct symbols_place *places)
{
	g_autofree size_t *others = g_new(size_t, count + 1);
	g_autofree uint64_t *requested = NULL;
	g_autofree struct symbols_place *found = NULL;
	size_t n, i;
	int ret;

	memset(places, 0, count * sizeof(*places));
	n = take_cached(symbols, file, offsets, count, how, arena, places, others);
	if (!n)
		return 0;
	requested = g_new(uint64_t, n);
	found = g_new0(struct symbols_place, n);
	for (i = 0; i < n; i++)
		requested[i] = offsets[others[i]];
	ret = symbols->source->resolve(symbols->self, file, requested, n, how, arena, found);
	if (ret >= 0)
		cache_results(symbols, file, requested, n, how->flags, (unsigned int)ret, found);
	for (i = 0; i < n; i++)
		places[others[i]] = found[i];
	return ret == -ECANCELED || ret == -ETIMEDOUT ? ret : 0;
}

unsigned int symbols_lanes(const struct symbols *symbols)
{
	return MAX(symbols->source->lanes, 1);
}

int symbols_connect(struct symbols *symbols, const struct symbols_file *file,
	const struct symbols_how *how)
{
	if (!symbols->source->connect)
		return -ENOENT;
	return symbols->source->connect(symbols->self, file, how);
}

void symbols_stats(struct symbols *symbols, struct stats *stats)
{
	pthread_mutex_lock(&symbols->lock);
	stats_u64(stats, symbols->requested, "symbols.asked");
	stats_u64(stats, symbols->cached, "symbols.cached");
	stats_u64(stats, cache_bytes(symbols->cache), "symbols.bytes");
	pthread_mutex_unlock(&symbols->lock);
	if (symbols->source->stats)
		symbols->source->stats(symbols->self, stats);
}
