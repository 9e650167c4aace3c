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
