/* SPDX-License-Identifier: MIT */
/*
 * Answers that are kept: file, offset -> frames. Bounded; the file that was asked for least
 * recently goes first, whole. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZER_CACHE_H
#define KPROFS_SYMBOLIZER_CACHE_H

#include <stdbool.h>

#include "base/units.h"
#include "symbolizer/symbols.h"

struct cache;
struct cache_file;

struct cache *cache_create(size_t bytes_max);
void cache_destroy(struct cache *cache);

/*
 * The answers about a file, made if need be; NULL where such answers must not be kept (a file that
 * has no build-id may be another one tomorrow; a JIT's memory too). Valid until the next
 * cache_trim().
 */
struct cache_file *cache_find_file(struct cache *cache, const struct symbols_file *file);

/*
 * Is the answer known, to this depth (SYMBOLS_LINES or 0)? *place is valid until it is added anew.
 */
bool cache_find(const struct cache_file *file, uint64_t offset, unsigned int flags,
	uint64_t now_ns, struct symbols_place *place);

/*
 * For how long it counts that something could not be told: then a debug file may have been
 * installed.
 */
#define CACHE_RETRY_NS (60 * NSEC_PER_SEC)

/*
 * Keeps a copy of the answer to a question for `flags`, of which `honoured` could be; a place
 * without frames says that there is no name.
 */
void cache_add(struct cache *cache, struct cache_file *file, uint64_t offset, unsigned int flags,
	unsigned int honoured, uint64_t now_ns, const struct symbols_place *place);

/* Brings it back under its bound. */
void cache_trim(struct cache *cache);

size_t cache_bytes(const struct cache *cache);

#endif
