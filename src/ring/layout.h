/* SPDX-License-Identifier: MIT */
/*
 * Where things stand in a pool: computed by the program that makes one, checked by who reads one.
 * No state, thread-safe, libc only.
 */
#ifndef KPROFS_RING_LAYOUT_H
#define KPROFS_RING_LAYOUT_H

#include <kprof/ring_abi.h>

#include <stdint.h>

/*
 * Fills the geometry of a pool of at most `bytes` (rounded down to the page): sizes, offsets and
 * counts, magic and version; the rest is zero. The chunks are such that there are about 128, within
 * KPROF_CHUNK_BYTES_MIN and _MAX. -EINVAL below KPROF_POOL_BYTES_MIN; more than the maximum is cut.
 */
int layout_make(uint64_t bytes, struct kprof_pool *pool);

/*
 * Checks a copy of a pool's header that a stranger wrote against the size of its file. 0, or
 * -EINVAL with a sentence in *why (static text). Everything that passes can be indexed with the
 * header's numbers without leaving the file or overflowing 32 bits.
 */
int layout_check(const struct kprof_pool *pool, uint64_t file_bytes, const char **why);

#endif
