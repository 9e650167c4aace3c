/* SPDX-License-Identifier: MIT */
/* Memory for the blocks of a capture: see capture_state.h. */
#include <errno.h>
#include <glib.h>
#include <stdint.h>
#include <sys/mman.h>

#include "prof/capture_state.h"

/*
 * Blocks of a large capture are in huge pages. Each record is accessed three times, long after
 * the one before it (written, copied to a reader, overwritten). With small pages the kernel's
 * page table entries are as cold as the records: looking them up took a tenth of the cost of a
 * sample. The first arena has small pages, so that a capture of few samples takes little memory.
 */
#define HUGE_PAGE_BYTES (2u << 20)
/* From this limit on one block of huge pages too many does not matter. */
#define HUGE_LIMIT_BYTES (16u * HUGE_PAGE_BYTES)
/* Free blocks whose memory is kept for the next use. */
#define SPARE_BLOCKS_MAX 4

/* Adjacent blocks, mapped and unmapped together. */
struct capture_arena {
	GList link; /* in the pool's list: arenas with a free block first */
	uint8_t *data;
	struct capture_block *free;
	unsigned int count, used; /* number of blocks; of blocks that are not free */
	struct capture_block blocks[];
};

static size_t arena_bytes(const struct capture_arena *arena)
{
	return (size_t)arena->count * CAPTURE_BLOCK_BYTES;
}

/* Mapped at a multiple of its size, as huge pages require. NULL if there is no memory. */
static uint8_t *map_aligned(size_t bytes)
{
	uint8_t *base, *data;
	size_t before;

	base = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)base % bytes;
	data = base + before;
	if (before)
		munmap(base, before);
	munmap(data + bytes, bytes - before);
	return data;
}

static bool add_arena(struct capture_pool *pool, uint64_t limit)
{
	const bool large = limit >= HUGE_LIMIT_BYTES;
	const unsigned int count = large ? HUGE_PAGE_BYTES / CAPTURE_BLOCK_BYTES : 1;
	struct capture_arena *arena;
	uint8_t *data;
	unsigned int i;

	data = map_aligned((size_t)count * CAPTURE_BLOCK_BYTES);
	if (!data)
		return false;
	if (large && pool->arenas.length)
		/* the machine may still use small pages */
		madvise(data, HUGE_PAGE_BYTES, MADV_HUGEPAGE);
	arena = g_malloc0(sizeof(*arena) + count * sizeof(arena->blocks[0]));
	arena->link.data = arena;
	arena->data = data;
	arena->count = count;
	for (i = count; i-- > 0;) {
		struct capture_block *b = &arena->blocks[i];

		b->arena = arena;
		b->data = data + (size_t)i * CAPTURE_BLOCK_BYTES;
		b->next = arena->free;
		arena->free = b;
	}
	g_queue_push_head_link(&pool->arenas, &arena->link);
	return true;
}

static void drop_arena(struct capture_pool *pool, struct capture_arena *arena)
{
	unsigned int i;

	for (i = 0; i < arena->count; i++)
		pool->spare -= arena->blocks[i].backed;
	g_queue_unlink(&pool->arenas, &arena->link);
	munmap(arena->data, arena_bytes(arena));
	g_free(arena);
}

static struct capture_arena *first_arena(const struct capture_pool *pool)
{
	return pool->arenas.head ? pool->arenas.head->data : NULL;
}

struct capture_block *capture_pool_get(struct capture_pool *pool, uint64_t limit)
{
	struct capture_arena *arena = first_arena(pool);
	struct capture_block *b;

	if (!arena || !arena->free) {
		if (!add_arena(pool, limit))
			return NULL;
		arena = first_arena(pool);
	}
	b = arena->free;
	arena->free = b->next;
	b->next = NULL;
	arena->used++;
	if (!arena->free) {
		g_queue_unlink(&pool->arenas, &arena->link);
		g_queue_push_tail_link(&pool->arenas, &arena->link);
	}
	if (b->backed) {
		pool->spare--;
	} else {
		/*
		 * all pages at once: a page fault for each would take as long as the records in
		 * it
		 */
		madvise(b->data, CAPTURE_BLOCK_BYTES, MADV_POPULATE_WRITE);
		b->backed = true;
	}
	return b;
}

void capture_pool_put(struct capture_pool *pool, struct capture_block *b, bool keep)
{
	struct capture_arena *arena = b->arena;

	b->next = arena->free;
	arena->free = b;
	arena->used--;
	pool->spare++;
	if (!arena->used && !keep && pool->spare > SPARE_BLOCKS_MAX) {
		drop_arena(pool, arena);
		return;
	}
	g_queue_unlink(&pool->arenas, &arena->link);
	g_queue_push_head_link(&pool->arenas, &arena->link);
}

/* An arena with blocks in use stays mapped; the memory of its free blocks is returned. */
static void trim_arena(struct capture_pool *pool, const struct capture_arena *arena)
{
	struct capture_block *b;

	for (b = arena->free; b; b = b->next) {
		if (!b->backed)
			continue;
		madvise(b->data, CAPTURE_BLOCK_BYTES, MADV_DONTNEED);
		b->backed = false;
		pool->spare--;
	}
}

void capture_pool_trim(struct capture_pool *pool)
{
	GList *link, *next;

	for (link = pool->arenas.head; link; link = next) {
		struct capture_arena *arena = link->data;

		next = link->next;
		if (arena->used)
			trim_arena(pool, arena);
		else
			drop_arena(pool, arena);
	}
}
