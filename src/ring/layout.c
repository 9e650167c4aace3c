/* SPDX-License-Identifier: MIT */
/* The layout of a pool. See layout.h; ring_abi.h explains the parts. */
#include "ring/layout.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* enough that threads seldom find none, and few enough that taking one is rare */
#define CHUNKS_WANTED 128u

static uint32_t round_up(uint32_t value, uint32_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

static uint32_t choose_chunk_bytes(uint32_t bytes)
{
	uint32_t chunk = KPROF_CHUNK_BYTES_MIN;

	while (chunk < KPROF_CHUNK_BYTES_MAX && chunk * 2 <= bytes / CHUNKS_WANTED)
		chunk *= 2;
	return chunk;
}

int layout_make(uint64_t bytes, struct kprof_pool *pool)
{
	uint32_t total, chunk, count, heads_end;

	if (bytes < KPROF_POOL_BYTES_MIN)
		return -EINVAL;
	if (bytes > KPROF_POOL_BYTES_MAX)
		bytes = KPROF_POOL_BYTES_MAX;
	total = (uint32_t)bytes / KPROF_POOL_PAGE * KPROF_POOL_PAGE;
	chunk = choose_chunk_bytes(total);

	/* a slot for each chunk: a thread that has a slot also finds a chunk */
	count = (total - KPROF_POOL_PAGE) /
		(chunk + sizeof(struct kprof_slot) + sizeof(struct kprof_chunk));
	if (count > KPROF_CHUNKS_MAX)
		count = KPROF_CHUNKS_MAX;
	for (;; count--) {
		heads_end = KPROF_POOL_PAGE +
			count * (sizeof(struct kprof_slot) + sizeof(struct kprof_chunk));
		if (round_up(heads_end, KPROF_POOL_PAGE) + count * chunk <= total)
			break;
	}
	memset(pool, 0, sizeof(*pool));
	pool->magic = KPROF_POOL_MAGIC;
	pool->version = KPROF_POOL_VERSION;
	pool->pool_bytes = total;
	pool->slot_offset = KPROF_POOL_PAGE;
	pool->slot_count = count;
	pool->head_offset = KPROF_POOL_PAGE + count * (uint32_t)sizeof(struct kprof_slot);
	pool->chunk_count = count;
	pool->data_offset = round_up(heads_end, KPROF_POOL_PAGE);
	pool->chunk_bytes = chunk;
	return 0;
}

/*
 * Whether an array of `count` elements of `size` from `offset` on is inside [from, end), at a
 * multiple of 8.
 */
static bool fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t from, uint64_t end)
{
	/* no overflow: count and size are below 2^17 here, offset below 2^32 */
	return offset % 8 == 0 && offset >= from && offset + count * size <= end;
}

int layout_check(const struct kprof_pool *pool, uint64_t file_bytes, const char **why)
{
	if (pool->magic != KPROF_POOL_MAGIC)
		*why = "wrong magic number";
	else if (pool->version != KPROF_POOL_VERSION)
		*why = "unknown version";
	else if (file_bytes > KPROF_POOL_BYTES_MAX || pool->pool_bytes != file_bytes ||
		file_bytes < KPROF_POOL_BYTES_MIN)
		*why = "wrong size";
	else if (pool->chunk_bytes < KPROF_CHUNK_BYTES_MIN ||
		pool->chunk_bytes > KPROF_CHUNK_BYTES_MAX ||
		(pool->chunk_bytes & (pool->chunk_bytes - 1)) != 0)
		*why = "wrong chunk size";
	else if (pool->chunk_count < 1 || pool->chunk_count > KPROF_CHUNKS_MAX ||
		pool->slot_count < 1 || pool->slot_count > KPROF_SLOTS_MAX)
		*why = "too many or no chunks or slots";
	else if (!fits(pool->slot_offset, pool->slot_count, sizeof(struct kprof_slot),
			 sizeof(*pool), pool->head_offset) ||
		!fits(pool->head_offset, pool->chunk_count, sizeof(struct kprof_chunk),
			pool->slot_offset, pool->data_offset) ||
		!fits(pool->data_offset, pool->chunk_count, pool->chunk_bytes, pool->head_offset,
			file_bytes))
		*why = "parts that overlap or leave the file";
	else if (pool->clock != KPROF_CLOCK_COUNTER && pool->clock != KPROF_CLOCK_MONOTONIC)
		*why = "unknown clock";
	else
		return 0;
	return -EINVAL;
}
