/* SPDX-License-Identifier: MIT */
/* Memory for the blocks of a capture: see capture_state.h. */
#include <errno.h>
#include <glib.h>
#include <stdint.h>
#include <sys/mman.h>

#include "prof/capture_state.h"
#include "prof/disk.h"

/*
 * Blocks of a large capture are in huge pages. Each record is accessed three times, long after
 * the one before it (written, copied to a reader, overwritten). With small pages the kernel's
 * page table entries are as cold as the records: looking them up took a tenth of the cost of a
 * sample. The first arena has small pages, so that a capture of few samples takes little memory.
 */
#define HUGE_PAGE_BYTES (2u << 20)
/* From this limit on one block of huge pages too many does not matter. */
#define HUGE_LIMIT_BYTES (16u * HUGE_PAGE_BYTES)
#define HUGE_BLOCKS (HUGE_PAGE_BYTES / CAPTURE_BLOCK_BYTES)
/* Blocks for which free memory is kept for the next use. */
#define SPARE_BLOCKS_MAX (CAPTURE_UNPACKED_BYTES / CAPTURE_BLOCK_BYTES + 1)

/* The memory of adjacent blocks, mapped and unmapped together. */
struct capture_arena {
	GList link; /* in the pool's list: arenas with free memory first */
	uint8_t *data;
	struct capture_memory *free;
	unsigned int count, used; /* number of blocks that have room; of those that are not free */
	uint32_t number; /* of its file, if the pool has a disk */
	/*
	 * The last process wrote the file, and perhaps more of it is needed than what is used: nothing of it
	 * is free, or becomes free.
	 */
	bool is_kept;
	struct capture_memory memory[];
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

static uint8_t *map_arena(const struct capture_pool *pool, bool large, size_t bytes)
{
	uint8_t *data = map_aligned(bytes);

	if (data && large && pool->arenas.length)
		/* the machine may still use small pages */
		madvise(data, HUGE_PAGE_BYTES, MADV_HUGEPAGE);
	return data;
}

/* An arena at `data`, all of it free. */
static struct capture_arena *create_arena(struct capture_pool *pool, uint8_t *data, unsigned int count,
	uint32_t number)
{
	struct capture_arena *arena;
	unsigned int i;

	arena = g_malloc0(sizeof(*arena) + count * sizeof(arena->memory[0]));
	arena->link.data = arena;
	arena->data = data;
	arena->count = count;
	arena->number = number;
	for (i = count; i-- > 0;) {
		struct capture_memory *memory = &arena->memory[i];

		memory->arena = arena;
		memory->data = data + (size_t)i * CAPTURE_BLOCK_BYTES;
		memory->next = arena->free;
		arena->free = memory;
	}
	g_queue_push_head_link(&pool->arenas, &arena->link);
	return arena;
}

static bool add_arena(struct capture_pool *pool, uint64_t limit)
{
	const bool large = limit >= HUGE_LIMIT_BYTES;
	/* files have one size, so that the next server knows it */
	const unsigned int count = large || pool->disk ? HUGE_BLOCKS : 1;
	const size_t bytes = (size_t)count * CAPTURE_BLOCK_BYTES;
	uint32_t number = 0;
	uint8_t *data = map_arena(pool, large, bytes);

	if (data && pool->disk && disk_add_arena(pool->disk, bytes, &number)) {
		munmap(data, bytes);
		return false;
	}
	if (data)
		create_arena(pool, data, count, number);
	return data != NULL;
}

static void free_arena(struct capture_pool *pool, struct capture_arena *arena, bool keep_file)
{
	g_queue_unlink(&pool->arenas, &arena->link);
	munmap(arena->data, arena_bytes(arena));
	if (pool->disk)
		disk_drop_arena(pool->disk, arena->number, arena_bytes(arena), keep_file);
	g_free(arena);
}

static void drop_arena(struct capture_pool *pool, struct capture_arena *arena)
{
	unsigned int i;

	for (i = 0; i < arena->count; i++)
		pool->spare -= arena->memory[i].backed;
	free_arena(pool, arena, !pool->settled);
}

/* What is still used is in the files of a session that stays. */
static void leave_files(struct capture_pool *pool)
{
	struct capture_arena *arena;

	while ((arena = g_queue_peek_head(&pool->arenas)))
		free_arena(pool, arena, true);
}

static unsigned int slot_of(const struct capture_memory *memory)
{
	return (unsigned int)(memory - memory->arena->memory);
}

void capture_pool_place(const struct capture_memory *memory, struct disk_place *place)
{
	place->arena = memory->arena->number;
	place->slot = slot_of(memory);
}

bool capture_pool_write(struct capture_pool *pool, struct disk_file *file,
	const struct capture_memory *memory, const uint8_t *data, size_t len)
{
	const size_t at = slot_of(memory) * (size_t)CAPTURE_BLOCK_BYTES + (size_t)(data - memory->data);

	return disk_write_arena(pool->disk, file, memory->arena->number, at, data, len);
}

static void move_to_head(struct capture_pool *pool, struct capture_arena *arena)
{
	g_queue_unlink(&pool->arenas, &arena->link);
	g_queue_push_head_link(&pool->arenas, &arena->link);
}

static void move_to_tail(struct capture_pool *pool, struct capture_arena *arena)
{
	g_queue_unlink(&pool->arenas, &arena->link);
	g_queue_push_tail_link(&pool->arenas, &arena->link);
}

/* That of a file that the last process wrote, without what is in it. Under the lock. */
static struct capture_arena *find_kept_arena(struct capture_pool *pool, uint32_t number)
{
	struct capture_arena *arena;
	uint8_t *data;
	GList *link;

	for (link = pool->arenas.head; link; link = link->next) {
		arena = link->data;
		if (arena->number == number)
			return arena->is_kept ? arena : NULL;
	}
	data = map_arena(pool, true, HUGE_PAGE_BYTES);
	if (!data)
		return NULL;
	if (!disk_take_arena(pool->disk, number, HUGE_PAGE_BYTES)) {
		munmap(data, HUGE_PAGE_BYTES);
		return NULL;
	}
	arena = create_arena(pool, data, HUGE_BLOCKS, number);
	arena->is_kept = true;
	arena->used = arena->count;
	arena->free = NULL;
	move_to_tail(pool, arena);
	return arena;
}

/* Reads what the file has there, if that was not done. */
static bool read_memory(struct capture_pool *pool, struct capture_memory *memory)
{
	if (!memory->backed)
		memory->backed = disk_read_arena(pool->disk, memory->arena->number,
			slot_of(memory) * (size_t)CAPTURE_BLOCK_BYTES, memory->data, CAPTURE_BLOCK_BYTES);
	return memory->backed;
}

struct capture_memory *capture_pool_take(struct capture_pool *pool, const struct disk_place *place)
{
	struct capture_memory *memory = NULL;
	struct capture_arena *arena;

	pthread_mutex_lock(&pool->lock);
	arena = find_kept_arena(pool, place->arena);
	if (arena && place->slot < arena->count && read_memory(pool, &arena->memory[place->slot])) {
		memory = &arena->memory[place->slot];
		memory->blocks++;
	}
	pthread_mutex_unlock(&pool->lock);
	return memory;
}

/* What no capture has of it is free from now on. */
static void free_rest(struct capture_pool *pool, struct capture_arena *arena)
{
	struct capture_memory *memory;

	arena->is_kept = false;
	arena->used = 0;
	for (memory = arena->memory; memory < arena->memory + arena->count; memory++) {
		if (memory->blocks) {
			arena->used++;
			continue;
		}
		pool->spare += memory->backed;
		memory->next = arena->free;
		arena->free = memory;
	}
	if (arena->free)
		move_to_head(pool, arena);
}

/* The file stays, for what was set aside; the memory does not if no capture has any of it. */
static void leave_if_unused(struct capture_pool *pool, struct capture_arena *arena)
{
	unsigned int i;

	for (i = 0; i < arena->count; i++)
		if (arena->memory[i].blocks)
			return;
	free_arena(pool, arena, true);
}

/* keeps_files: of what no capture has. numbers: gets that of an arena that stays. */
static void settle_arena(struct capture_pool *pool, struct capture_arena *arena, bool keeps_files,
	GHashTable *numbers)
{
	if (keeps_files) {
		if (arena->is_kept)
			leave_if_unused(pool, arena);
		return;
	}
	if (arena->is_kept)
		free_rest(pool, arena);
	if (arena->used)
		g_hash_table_add(numbers, GUINT_TO_POINTER(arena->number));
	else
		drop_arena(pool, arena);
}

void capture_pool_settle(struct capture_pool *pool)
{
	GHashTable *numbers = g_hash_table_new(NULL, NULL);
	const bool keeps_files = disk_has_old(pool->disk);
	GList *link, *next;

	pthread_mutex_lock(&pool->lock);
	pool->settled = true;
	for (link = pool->arenas.head; link; link = next) {
		next = link->next;
		settle_arena(pool, link->data, keeps_files, numbers);
	}
	if (!keeps_files)
		disk_remove_arenas(pool->disk, numbers);
	pthread_mutex_unlock(&pool->lock);
	g_hash_table_destroy(numbers);
}

static struct capture_arena *first_arena(const struct capture_pool *pool)
{
	return pool->arenas.head ? pool->arenas.head->data : NULL;
}

/* Under the lock. */
static struct capture_memory *get(struct capture_pool *pool, uint64_t limit)
{
	struct capture_arena *arena = first_arena(pool);
	struct capture_memory *memory;

	if (!arena || !arena->free) {
		if (!add_arena(pool, limit))
			return NULL;
		arena = first_arena(pool);
	}
	memory = arena->free;
	arena->free = memory->next;
	memory->next = NULL;
	memory->blocks = 1;
	arena->used++;
	if (!arena->free)
		move_to_tail(pool, arena);
	pool->spare -= memory->backed;
	return memory;
}

struct capture_memory *capture_pool_get(struct capture_pool *pool, uint64_t limit)
{
	struct capture_memory *memory;

	pthread_mutex_lock(&pool->lock);
	memory = get(pool, limit);
	pthread_mutex_unlock(&pool->lock);
	if (memory && !memory->backed) {
		/* all pages at once: a page fault for each would take as long as the records in it */
		madvise(memory->data, CAPTURE_BLOCK_BYTES, MADV_POPULATE_WRITE);
		memory->backed = true;
	}
	return memory;
}

struct capture_memory *capture_pool_share(struct capture_pool *pool, struct capture_memory *memory)
{
	pthread_mutex_lock(&pool->lock);
	memory->blocks++;
	pthread_mutex_unlock(&pool->lock);
	return memory;
}

/* Under the lock. */
static void put(struct capture_pool *pool, struct capture_memory *memory, bool keep)
{
	struct capture_arena *arena = memory->arena;

	if (--memory->blocks)
		return;
	if (arena->is_kept) {
		if (pool->settled)
			leave_if_unused(pool, arena);
		return;
	}
	memory->next = arena->free;
	arena->free = memory;
	arena->used--;
	pool->spare++;
	if (!arena->used && !keep && pool->spare > SPARE_BLOCKS_MAX) {
		drop_arena(pool, arena);
		return;
	}
	move_to_head(pool, arena);
}

void capture_pool_put(struct capture_pool *pool, struct capture_memory *memory, bool keep)
{
	pthread_mutex_lock(&pool->lock);
	put(pool, memory, keep);
	pthread_mutex_unlock(&pool->lock);
}

/* An arena of which a part is used stays mapped; the pages of its free memory are returned. */
static void trim_arena(struct capture_pool *pool, const struct capture_arena *arena)
{
	struct capture_memory *memory;

	for (memory = arena->free; memory; memory = memory->next) {
		if (!memory->backed)
			continue;
		madvise(memory->data, CAPTURE_BLOCK_BYTES, MADV_DONTNEED);
		memory->backed = false;
		pool->spare--;
	}
}

void capture_pool_trim(struct capture_pool *pool)
{
	GList *link, *next;

	pthread_mutex_lock(&pool->lock);
	for (link = pool->arenas.head; link; link = next) {
		struct capture_arena *arena = link->data;

		next = link->next;
		if (arena->used)
			trim_arena(pool, arena);
		else
			drop_arena(pool, arena);
	}
	pthread_mutex_unlock(&pool->lock);
	if (pool->readers)
		capture_pool_trim(pool->readers);
}

bool capture_pool_has_spare(struct capture_pool *pool)
{
	bool has;

	pthread_mutex_lock(&pool->lock);
	has = pool->spare > 0;
	pthread_mutex_unlock(&pool->lock);
	return has || (pool->readers && capture_pool_has_spare(pool->readers));
}

struct capture_pool *capture_pool_of_readers(struct capture_pool *pool)
{
	return pool->readers ? pool->readers : pool;
}

struct capture_pool *capture_pool_create(struct disk *disk)
{
	struct capture_pool *pool = g_new0(struct capture_pool, 1);

	pool->disk = disk;
	if (disk)
		pool->readers = capture_pool_create(NULL);
	pthread_mutex_init(&pool->lock, NULL);
	pool->captures = 1;
	return pool;
}

struct capture_pool *capture_pool_ref(struct capture_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->captures++;
	pthread_mutex_unlock(&pool->lock);
	return pool;
}

void capture_pool_unref(struct capture_pool *pool)
{
	bool is_last;

	if (!pool)
		return;
	capture_pool_trim(pool);
	pthread_mutex_lock(&pool->lock);
	is_last = !--pool->captures;
	pthread_mutex_unlock(&pool->lock);
	if (!is_last)
		return;
	if (pool->disk)
		leave_files(pool);
	capture_pool_unref(pool->readers);
	pthread_mutex_destroy(&pool->lock);
	g_free(pool);
}
