/* SPDX-License-Identifier: MIT */
/*
 * Cache of results: file, offset -> frames. Bounded; the least recently used file is evicted first,
 * with all its results. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZER_CACHE_H
#define KPROFS_SYMBOLIZER_CACHE_H

#include <stdbool.h>

#include "base/units.h"
#include "symbolizer/symbols_arena.h"

struct cache;
struct cache_file;

struct cache *cache_create(size_t bytes_max);
void cache_destroy(struct cache *cache);

/*
 * Returns the results of a file, which are created if there are none. Returns NULL if results must
 * not be cached, since a file without a build-id, or the memory of a JIT, may change. The result is
 * valid until the next cache_trim().
 */
struct cache_file *cache_find_file(struct cache *cache, const struct symbols_file *file);

/*
 * Returns whether there is a result with this detail (SYMBOLS_LINES or 0). *place is valid until it
 * is added again.
 */
bool cache_find(const struct cache_file *file, uint64_t offset, unsigned int flags,
	uint64_t now_ns, struct symbols_place *place);

/* The time for which a negative result is cached, since a debug file may be installed meanwhile. */
#define CACHE_RETRY_NS (60 * NSEC_PER_SEC)

/*
 * Adds a copy of the result of a request with `flags`, of which `satisfied` could be; a place
 * without frames says that there is no name.
 */
void cache_add(struct cache *cache, struct cache_file *file, uint64_t offset, unsigned int flags,
	unsigned int satisfied, uint64_t now_ns, const struct symbols_place *place);

/* Evicts files until the cache is within its bound. */
void cache_trim(struct cache *cache);

size_t cache_bytes(const struct cache *cache);

#endif
