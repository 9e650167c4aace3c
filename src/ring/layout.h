/* SPDX-License-Identifier: MIT */
/*
 * The layout of a pool: computed by the producer that makes it, checked by readers. No state,
 * thread-safe, libc only.
 */
#ifndef KPROFS_RING_LAYOUT_H
#define KPROFS_RING_LAYOUT_H

#include <kprof/ring_abi.h>

#include <stdint.h>

/*
 * Fills the layout of a pool of at most `bytes` (rounded down to the page): sizes, offsets and
 * counts, magic and version; the rest is zero. The chunk size gives about 128 chunks, within
 * KPROF_CHUNK_BYTES_MIN and _MAX. -EINVAL below KPROF_POOL_BYTES_MIN; a larger size than the
 * maximum is cut.
 */
int layout_make(uint64_t bytes, struct kprof_pool *pool);

/*
 * Checks a copy of the header of a producer's pool, which is not trusted, against the size of its
 * file. 0, or -EINVAL with a sentence in *why (static text). After 0 the numbers of the header can
 * be used as indexes without leaving the file or overflowing 32 bits.
 */
int layout_check(const struct kprof_pool *pool, uint64_t file_bytes, const char **why);

#endif
