/* SPDX-License-Identifier: MIT */
/*
 * Blocks in less memory: see capture_state.h.
 *
 * Records are stored as they are until half of the limit is used. From then on the thread that appends packs
 * (prof/packed.h) each block that it has filled, while it is in the cache, and one of the older ones, without
 * the lock. So all but the newest are packed long before the limit is reached, and a short capture costs
 * nothing. The packed records of some blocks are in one segment, which has the memory of a block. Blocks that
 * follow each other share one, since it is freed with the last of them.
 *
 * All positions and sizes are those of the records, packed or not. A reader unpacks whole blocks into memory
 * of its position, without the lock: what it reads of them never changes.
 */
#include "prof/capture_state.h"

#include <errno.h>
#include <string.h>

#include "prof/packed.h"
#include "prof/record.h"

/* Records that need more than this when they are packed, as copied stacks do, stay as they are. */
#define PACKED_MAX (CAPTURE_BLOCK_BYTES / 4 * 3)

G_STATIC_ASSERT(CAPTURE_BLOCK_BYTES <= PACKED_RECORDS_MAX);

/* What a capture packs with. */
struct capture_packer {
	struct packer *packer;
	uint8_t packed[PACKED_MAX];
};

struct capture_segment {
	struct capture_memory *memory;
	bool old; /* for blocks that were not packed when they were filled */
	size_t used;
	unsigned int blocks, held; /* that have records in it; of these in the list */
	uint64_t bytes;		   /* what it adds to the capture's memory_bytes */
};

/* ---- segments: under the lock ------------------------------------------------------------------ */

static void count_segment(struct capture *c, struct capture_segment *segment, uint64_t bytes)
{
	segment->bytes += bytes;
	c->memory_bytes += bytes;
}

static struct capture_segment *create_segment(struct capture *c, struct capture_memory *memory, bool old)
{
	struct capture_segment *segment = g_new0(struct capture_segment, 1);

	segment->memory = memory;
	segment->old = old;
	c->segments[old] = segment;
	return segment;
}

/* Nothing more is put into the segment that may have room. */
static void close_segment(struct capture *c, bool old)
{
	struct capture_segment *segment = c->segments[old];

	if (segment)
		count_segment(c, segment, CAPTURE_BLOCK_BYTES - segment->used);
	c->segments[old] = NULL;
}

static bool has_room(const struct capture_segment *segment, size_t bytes)
{
	return segment && CAPTURE_BLOCK_BYTES - segment->used >= bytes;
}

/* What of a segment remains unused if the next block needs so many bytes. */
static size_t wasted_bytes(const struct capture_segment *segment, size_t bytes)
{
	return segment && !has_room(segment, bytes) ? CAPTURE_BLOCK_BYTES - segment->used : 0;
}

/* A segment that has room for so many bytes; NULL if there is no memory. */
static struct capture_segment *get_segment(struct capture *c, bool old, size_t bytes)
{
	struct capture_memory *memory;

	if (has_room(c->segments[old], bytes))
		return c->segments[old];
	close_segment(c, old);
	memory = capture_pool_get(c->pool, c->limit);
	return memory ? create_segment(c, memory, old) : NULL;
}

/* What a packed block needs beside its records. */
static uint64_t side_bytes(const struct tally *lost)
{
	return sizeof(struct capture_block) + lost->count * sizeof(lost->rows[0]);
}

static void join_segment(struct capture *c, struct capture_block *b, struct capture_segment *segment)
{
	b->segment = segment;
	segment->blocks++;
	segment->held++;
	count_segment(c, segment, side_bytes(&b->lost));
}

void capture_uncount_block(struct capture *c, const struct capture_block *b)
{
	struct capture_segment *segment = b->segment;

	if (!segment) {
		c->memory_bytes -= b->used;
	} else if (!--segment->held) {
		if (c->segments[segment->old] == segment)
			close_segment(c, segment->old);
		c->memory_bytes -= segment->bytes;
	}
}

void capture_free_packed(struct capture *c, struct capture_block *b, bool stays)
{
	tally_fini(&b->lost);
	if (!b->segment || --b->segment->blocks)
		return;
	if (!stays)
		capture_pool_put(c->pool, b->segment->memory, c->keep_spare);
	g_free(b->segment);
}

/* ---- packing --------------------------------------------------------------------------------- */

void capture_release_data(struct capture *c, struct capture_block *b)
{
	if (!b->data || b->data_users || !b->segment)
		return;
	capture_pool_put(c->pool, b->memory, c->keep_spare);
	b->memory = NULL;
	b->data = NULL;
}

/* The oldest block that was not tried to pack; NULL if there is none but the newest. */
static struct capture_block *find_unpacked(struct capture *c)
{
	while (c->unpacked && c->unpacked != c->tail && c->unpacked->tried)
		c->unpacked = c->unpacked->next;
	return c->unpacked != c->tail ? c->unpacked : NULL;
}

/* Whether so many quarters of the limit are used. */
static bool is_used(const struct capture *c, unsigned int quarters)
{
	return c->memory_bytes + c->beside > c->limit / 4 * quarters;
}

bool capture_can_pack(struct capture *c)
{
	if (!c->packs || c->packing || !is_used(c, 2))
		return false;
	return c->filled || (is_used(c, 3) && find_unpacked(c));
}

/* The last block that was filled, or the oldest one. NULL if there is none, or another thread packs. */
static struct capture_block *begin_packing(struct capture *c, bool old)
{
	struct capture_block *b = old ? find_unpacked(c) : c->filled;

	if (!b || c->packing)
		return NULL;
	if (!c->packer) {
		c->packer = g_new(struct capture_packer, 1);
		c->packer->packer = packer_create();
	}
	if (b == c->filled)
		c->filled = NULL;
	b->tried = true;
	c->packing = b;
	b->pins++;
	return b;
}

static void end_packing(struct capture *c, struct capture_block *b, bool old, size_t size,
	const struct tally *lost)
{
	struct capture_segment *segment = NULL;

	c->packing = NULL;
	/* never more memory than before, so that the limit holds */
	if (b->held && size && size + side_bytes(lost) + wasted_bytes(c->segments[old], size) <= b->used)
		segment = get_segment(c, old, size);
	if (segment) {
		c->memory_bytes -= b->used;
		b->packed = segment->memory->data + segment->used;
		b->packed_bytes = size;
		memcpy(segment->memory->data + segment->used, c->packer->packed, size);
		segment->used += size;
		count_segment(c, segment, size);
		tally_merge(&b->lost, lost);
		join_segment(c, b, segment);
		capture_index_packed(c, b);
		capture_release_data(c, b);
	} else if (b->held) {
		capture_write_block(c, b);
	}
	capture_unpin(c, b);
}

static void pack_block(struct capture *c, bool old)
{
	struct capture_block *b;
	struct tally lost;
	size_t size;

	pthread_mutex_lock(&c->lock);
	b = begin_packing(c, old);
	pthread_mutex_unlock(&c->lock);
	if (!b)
		return;
	tally_init(&lost);
	size = packer_pack(c->packer->packer, b->data, b->used, c->packer->packed, PACKED_MAX);
	if (size)
		record_tally(b->data, b->used, KPROF_LOST_OVERWRITE, &lost);
	pthread_mutex_lock(&c->lock);
	end_packing(c, b, old, size, &lost);
	pthread_mutex_unlock(&c->lock);
	tally_fini(&lost);
}

void capture_pack(struct capture *c)
{
	pack_block(c, false);
	pack_block(c, true);
}

void capture_free_packer(struct capture *c)
{
	if (!c->packer || c->packing)
		return;
	packer_destroy(c->packer->packer);
	g_free(c->packer);
	c->packer = NULL;
}

/* One to which others may write, or have written: nothing is put into it here. */
static struct capture_segment *create_full_segment(struct capture *c, struct capture_memory *memory, bool old)
{
	struct capture_segment *segment = create_segment(c, memory, old);

	segment->used = CAPTURE_BLOCK_BYTES;
	count_segment(c, segment, CAPTURE_BLOCK_BYTES);
	return segment;
}

void capture_copy_packed(struct capture *copy, struct capture_block *own, const struct capture_block *b)
{
	struct capture_segment *from = b->segment, *segment = copy->segments[from->old];

	own->packed = b->packed;
	own->packed_bytes = b->packed_bytes;
	tally_merge(&own->lost, &b->lost);
	if (!segment || segment->memory != from->memory)
		segment = create_full_segment(copy, capture_pool_share(copy->pool, from->memory), from->old);
	join_segment(copy, own, segment);
}

void capture_read_packed(struct capture *c, struct capture_block *b, struct capture_memory *memory,
	const struct disk_place *place, GHashTable *segments)
{
	struct capture_segment *segment = g_hash_table_lookup(segments, memory);

	b->packed = memory->data + place->offset;
	b->packed_bytes = place->packed_bytes;
	b->tried = true;
	if (segment) {
		capture_pool_put(c->pool, memory, true);
	} else {
		segment = create_full_segment(c, memory, false);
		c->segments[segment->old] = NULL;
		g_hash_table_insert(segments, memory, segment);
	}
	join_segment(c, b, segment);
}

bool capture_write_packed(struct capture *c, struct capture_block *b, uint64_t *sum)
{
	if (!b->packed_written)
		b->packed_written = capture_pool_write(c->pool, &c->files[1], b->segment->memory, b->packed,
			b->packed_bytes);
	*sum = disk_sum_of(b->packed, b->packed_bytes);
	return b->packed_written;
}

void capture_packed_place(const struct capture_block *b, struct disk_place *place)
{
	capture_pool_place(b->segment->memory, place);
	place->offset = (uint32_t)(b->packed - b->segment->memory->data);
	place->packed_bytes = (uint32_t)b->packed_bytes;
}

/* ---- readers --------------------------------------------------------------------------------- */

/* The records of a block from `from` on as what a reader that does not get them loses. */
void capture_tally_block(const struct capture_block *b, size_t from, struct tally *lost)
{
	uint8_t *records;

	if (b->data) {
		record_tally(b->data + from, b->used - from, KPROF_LOST_OVERWRITE, lost);
	} else if (!from) {
		tally_merge(lost, &b->lost);
	} else {
		records = g_malloc(b->used);
		if (packed_unpack(b->packed, b->packed_bytes, records, b->used))
			record_tally(records + from, b->used - from, KPROF_LOST_OVERWRITE, lost);
		g_free(records);
	}
}

const uint8_t *capture_block_data(const struct capture_pos *pos, const struct capture_block *b)
{
	int i;

	if (b->data)
		return b->data;
	for (i = 0; i < pos->unpacked_count; i++)
		if (pos->unpacked[i].seq == b->seq)
			return pos->unpacked[i].memory->data;
	return NULL;
}

void capture_drop_unpacked(struct capture *c, struct capture_pos *pos, uint64_t from, uint64_t to)
{
	int i, kept = 0;

	for (i = 0; i < pos->unpacked_count; i++) {
		if (pos->unpacked[i].seq >= from && pos->unpacked[i].seq < to)
			pos->unpacked[kept++] = pos->unpacked[i];
		else
			capture_pool_put(capture_pool_of_readers(c->pool), pos->unpacked[i].memory, false);
	}
	pos->unpacked_count = kept;
}

int capture_unpack(struct capture *c, struct capture_pos *pos, struct capture_block *b)
{
	struct capture_pool *pool = capture_pool_of_readers(c->pool);
	struct capture_memory *memory;
	int ret = 0;

	b->pins++;
	pthread_mutex_unlock(&c->lock);
	memory = capture_pool_get(pool, CAPTURE_BLOCK_BYTES);
	if (!memory)
		ret = -ENOMEM;
	else if (!packed_unpack(b->packed, b->packed_bytes, memory->data, b->used))
		ret = -EIO;
	pthread_mutex_lock(&c->lock);
	if (!ret)
		pos->unpacked[pos->unpacked_count++] = (struct capture_unpacked){ b->seq, memory };
	else if (memory)
		capture_pool_put(pool, memory, false);
	capture_unpin(c, b);
	return ret;
}
