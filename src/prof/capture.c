/* SPDX-License-Identifier: MIT */
/*
 * The queue of blocks behind kpdata: see capture.h for which thread may call what. This file has
 * the writer, and how blocks are added and removed; readers are in capture_read.c.
 *
 * Blocks are linked oldest to newest; only the newest grows. A block leaves the list when its
 * space is needed; its memory is freed when the last reader has unpinned it. Bytes below `used`
 * never change, so a reader that has read `used` under the lock reads them without it.
 *
 * When an unread block is removed, its lost samples are counted by decoding its records. So the
 * totals are exact without an index; decoding 128 KiB takes some microseconds.
 */
#include "prof/capture_state.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "prof/record.h"
#include "sys/clock.h"

/* With less room than this no run is written in place: it would end after a few samples. */
#define RESERVE_MIN (16u << 10)
/* Room for one LOST record. */
#define LOST_BYTES 25

int capture_create_in(struct capture_pool *pool, uint64_t limit_bytes, struct capture **out)
{
	struct capture *c = g_new0(struct capture, 1);

	pthread_mutex_init(&c->lock, NULL);
	c->pool = capture_pool_ref(pool);
	c->limit = limit_bytes;
	c->next_seq = 1;
	c->packs = true;
	capture_init_files(c);
	*out = c;
	return 0;
}

int capture_create(uint64_t limit_bytes, struct capture **out)
{
	struct capture_pool *pool = capture_pool_create(NULL);
	int ret = capture_create_in(pool, limit_bytes, out);

	capture_pool_unref(pool);
	return ret;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

struct capture_block *capture_create_block(struct capture_memory *memory, uint64_t seq)
{
	struct capture_block *b = g_new0(struct capture_block, 1);

	b->memory = memory;
	b->data = memory ? memory->data : NULL;
	b->seq = seq;
	b->first_ns = UINT64_MAX;
	b->record = -1;
	b->held = true;
	return b;
}

/* `last`: what is kept in reserve may be used. */
static struct capture_block *get_block(struct capture *c, bool last)
{
	struct capture_memory *memory = capture_pool_get(c->pool, c->limit);

	if (!memory && last)
		memory = g_steal_pointer(&c->reserve);
	return memory ? capture_create_block(memory, c->next_seq++) : NULL;
}

/* An overwritten block that no reader holds any more: what was not read until now is lost. */
static void lose_rest(struct capture *c, const struct capture_block *b)
{
	struct tally lost;
	size_t i;

	if (b->read_upto == b->used || b->seq < c->cleared_seq)
		return;
	tally_init(&lost);
	capture_tally_block(b, b->read_upto, &lost);
	tally_merge(&c->overwritten, &lost);
	for (i = 0; i < lost.count; i++)
		if (lost.rows[i].reason == KPROF_LOST_OVERWRITE)
			tally_add(&c->totals, lost.rows[i].cpu, lost.rows[i].event,
				KPROF_LOST_OVERWRITE, lost.rows[i].count);
	tally_fini(&lost);
	c->stats.dropped_bytes += b->used - b->read_upto;
	c->stats.dropped++;
}

/* Frees memory that neither the list nor a reader needs. */
static void recycle_block(struct capture *c, struct capture_block *b)
{
	if (b->held || b->pins)
		return;
	if (b->overwritten)
		lose_rest(c, b);
	if (b->memory)
		capture_pool_put(c->pool, b->memory, c->keep_spare);
	capture_free_packed(c, b, false);
	g_free(b);
}

void capture_unpin(struct capture *c, struct capture_block *b)
{
	b->pins--;
	recycle_block(c, b);
}

static void unlink_head(struct capture *c)
{
	struct capture_block *b = c->head;

	c->head = b->next;
	if (!c->head)
		c->tail = NULL;
	c->stats.held_bytes -= b->used;
	capture_uncount_block(c, b);
	if (c->unpacked == b)
		c->unpacked = b->next;
	if (c->filled == b)
		c->filled = NULL;
	capture_unindex_block(c, b);
	b->next = NULL;
	b->held = false;
	recycle_block(c, b);
}

/* The memory of the oldest block is in a file that stays: it is not given back. */
static void leave_head(struct capture *c)
{
	struct capture_block *b = c->head;

	c->head = b->next;
	capture_free_packed(c, b, true);
	g_free(b);
}

void capture_destroy(struct capture *c)
{
	if (!c)
		return;
	if (c->reserve)
		capture_pool_put(c->pool, c->reserve, false);
	capture_write_newest(c);
	while (c->head && c->index)
		leave_head(c);
	disk_index_close(c->index);
	capture_close_files(c);
	while (c->head)
		unlink_head(c);
	capture_free_packer(c);
	capture_pool_unref(c->pool);
	tally_fini(&c->pending);
	tally_fini(&c->overwritten);
	tally_fini(&c->totals);
	pthread_mutex_destroy(&c->lock);
	g_free(c);
}

/* ---- making room ----------------------------------------------------------------------------- */

static bool has_passed(const struct capture_pos *pos, const struct capture_block *b)
{
	if (pos->block == b)
		return pos->offset == b->used;
	return !capture_is_before(pos, b);
}

/* The oldest block has been read by a reader, and all readers are behind it. */
static bool head_is_spent(const struct capture *c)
{
	const struct capture_block *b = c->head;
	const struct capture_pos *pos;

	if (b == c->tail || b->read_upto != b->used)
		return false;
	for (pos = c->positions; pos; pos = pos->next)
		if (!has_passed(pos, b))
			return false;
	return true;
}

/* A reply with bytes of b is not complete: capture_advance() will say whether they were read. */
static bool is_in_flight(const struct capture_pos *pos, const struct capture_block *b)
{
	int i;

	for (i = 0; i < pos->pin_count; i++)
		if (pos->pins[i] == b)
			return true;
	return false;
}

/* Mode overwrite: removes the oldest block. Each reader that has not read it gets LOST records. */
static void overwrite_head(struct capture *c)
{
	struct capture_block *b = c->head;
	struct capture_pos *pos;
	struct tally lost;

	tally_init(&lost);
	capture_tally_block(b, 0, &lost);
	b->overwritten = true;
	b->pins++; /* a reader that leaves it must not free it before it is unlinked */
	for (pos = c->positions; pos; pos = pos->next) {
		if (is_in_flight(pos, b))
			continue;
		if (capture_is_before(pos, b))
			tally_merge(&pos->missed, &lost);
		else if (pos->block == b && !pos->pin_count)
			capture_cut_rest(c, pos);
	}
	tally_fini(&lost);
	unlink_head(c);
	capture_unpin(c, b);
}

/* Frees the oldest block, which there must be, if its records were read or may be overwritten. */
static bool free_head(struct capture *c)
{
	if (head_is_spent(c))
		unlink_head(c);
	else if (c->overwrite)
		overwrite_head(c);
	else
		return false;
	return true;
}

static bool make_room(struct capture *c, size_t bytes, uint64_t beside)
{
	while (c->memory_bytes + beside + bytes > c->limit) {
		if (!c->head)
			/* the other state (`beside`) is freed with the blocks */
			return bytes <= c->limit;
		if (!free_head(c))
			return false;
	}
	return true;
}

/* There is no memory for another block, but that of the oldest ones may do. */
static bool make_block_free(struct capture *c)
{
	return c->head && c->head != c->tail && free_head(c);
}

/* Whether data is the run that is being written in place behind the records of b. */
static bool is_in_place(const struct capture_block *b, const uint8_t *data)
{
	return b->data && data == b->data + b->used;
}

/* Appends records; the caller has made room as far as the limit allows. */
static bool store(struct capture *c, const uint8_t *data, size_t len,
	const struct record_counts *counts, bool last)
{
	struct capture_block *b = c->tail;
	uint64_t first_ns;

	/* behind a run that is being written in place nothing may be appended */
	if (!b || b->shared || CAPTURE_BLOCK_BYTES - b->used < len ||
		(b == c->reserved && !is_in_place(b, data))) {
		while (!(b = get_block(c, false)) && make_block_free(c))
			;
		if (!b && last)
			b = get_block(c, true);
		if (!b)
			return false;
		if (c->tail) {
			capture_write_filled(c);
			c->tail->next = b;
			c->filled = c->tail;
			if (!capture_can_pack(c)) /* else it is written when it is packed */
				capture_write_filled(c);
			c->stats.filled++;
		} else {
			c->head = b;
		}
		c->tail = b;
		if (!c->unpacked)
			c->unpacked = b;
	}
	if (!is_in_place(b, data))
		memcpy(b->data + b->used, data, len);
	b->used += len;
	b->counts.samples += counts->samples;
	b->counts.lost += counts->lost;
	if (counts->samples && record_first_time(b->data + b->used - len, len, &first_ns))
		b->first_ns = MIN(b->first_ns, first_ns);
	b->stored_ns = clock_monotonic_ns();
	c->stats.held_bytes += len;
	c->memory_bytes += len;
	c->stats.written_bytes += len;
	return true;
}

/* ---- the writer ------------------------------------------------------------------------------ */

static void settle_locked(struct capture *c, bool force)
{
	uint8_t memory[64 * LOST_BYTES];
	struct record_buf buf;
	size_t i = 0;

	while (i < c->pending.count) {
		const struct tally_row *row = &c->pending.rows[i];
		struct record_counts counts = { 0 };

		record_buf_fixed(&buf, memory, sizeof(memory));
		for (; i < c->pending.count; i++) {
			row = &c->pending.rows[i];
			if (record_lost(&buf, row->cpu, row->event,
				    (enum kprof_lost_reason)row->reason, row->count))
				break;
		}
		record_count(buf.data, buf.used, &counts);
		if ((!make_room(c, buf.used, 0) && !force) || !store(c, buf.data, buf.used, &counts, force))
			return; /* all rows stay: a later call encodes them again */
		memmove(c->pending.rows, c->pending.rows + i,
			(c->pending.count - i) * sizeof(c->pending.rows[0]));
		c->pending.count -= i;
		i = 0;
	}
}

uint8_t *capture_reserve(struct capture *c, size_t *size)
{
	struct capture_block *b;
	uint8_t *place = NULL;

	pthread_mutex_lock(&c->lock);
	b = c->tail;
	if (b && !b->shared && !c->reserved && CAPTURE_BLOCK_BYTES - b->used >= RESERVE_MIN) {
		c->reserved = b;
		b->data_users++;
		b->pins++;
		place = b->data + b->used;
		*size = CAPTURE_BLOCK_BYTES - b->used;
	}
	pthread_mutex_unlock(&c->lock);
	return place;
}

static void release_locked(struct capture *c)
{
	struct capture_block *b = c->reserved;

	if (!b)
		return;
	c->reserved = NULL;
	b->data_users--;
	capture_release_data(c, b);
	capture_unpin(c, b);
}

void capture_release(struct capture *c)
{
	pthread_mutex_lock(&c->lock);
	release_locked(c);
	pthread_mutex_unlock(&c->lock);
}

bool capture_append(struct capture *c, const uint8_t *run, size_t len, const struct tally *samples,
	uint64_t beside)
{
	struct record_counts counts = { 0 };
	bool stored = false, in_place, can_pack;

	if (samples) {
		counts.samples = tally_sum(samples, CAPTURE_RECEIVED);
		counts.lost = tally_total(samples) - counts.samples;
	} else {
		record_count(run, len, &counts);
	}
	pthread_mutex_lock(&c->lock);
	in_place = c->reserved && is_in_place(c->reserved, run);
	if (samples)
		tally_merge(&c->totals, samples);
	else
		record_tally(run, len, CAPTURE_RECEIVED, &c->totals);
	c->beside = beside;
	if (make_room(c, len + c->pending.count * LOST_BYTES, beside)) {
		settle_locked(c, false);
		stored = tally_empty(&c->pending) && store(c, run, len, &counts, false);
	}
	if (stored) {
		c->runs++;
	} else {
		struct tally lost;

		tally_init(&lost);
		record_tally(run, len, KPROF_LOST_QUEUE, &lost);
		tally_merge(&c->pending, &lost);
		tally_merge(&c->totals, &lost);
		tally_fini(&lost);
		c->stats.dropped_bytes += len;
		c->stats.dropped++;
	}
	if (in_place)
		release_locked(c);
	can_pack = capture_can_pack(c);
	pthread_mutex_unlock(&c->lock);
	if (can_pack)
		capture_pack(c);
	return stored;
}

void capture_lost(struct capture *c, uint32_t cpu, uint32_t event, uint32_t reason, uint64_t count)
{
	pthread_mutex_lock(&c->lock);
	tally_add(&c->totals, cpu, event, CAPTURE_RECEIVED, count);
	tally_add(&c->totals, cpu, event, reason, count);
	tally_add(&c->pending, cpu, event, reason, count);
	settle_locked(c, false);
	pthread_mutex_unlock(&c->lock);
}

void capture_settle(struct capture *c, bool force)
{
	pthread_mutex_lock(&c->lock);
	settle_locked(c, force);
	pthread_mutex_unlock(&c->lock);
}

void capture_clear(struct capture *c)
{
	struct capture_pos *pos;

	pthread_mutex_lock(&c->lock);
	c->keep_spare = true;
	while (c->head)
		unlink_head(c);
	capture_close_files(c); /* which may be removed */
	if (c->index && !c->reserve)
		c->reserve = capture_pool_get(c->pool, c->limit);
	c->keep_spare = false;
	c->cleared_seq = c->next_seq;
	for (pos = c->positions; pos; pos = pos->next) {
		/* pieces of an incomplete reply stay pinned; the position moves all the same */
		pos->next_seq = c->next_seq;
		pos->cleared = true;
		if (!pos->partial_left)
			capture_leave_block(c, pos);
		pos->missed_before += tally_total(&pos->missed);
		tally_clear(&pos->missed);
	}
	tally_clear(&c->pending);
	tally_clear(&c->overwritten);
	tally_clear(&c->totals);
	c->stats = (struct capture_stats){ 0 };
	pthread_mutex_unlock(&c->lock);
}

void capture_trim(struct capture *c)
{
	pthread_mutex_lock(&c->lock);
	if (!c->head)
		capture_free_packer(c);
	capture_pool_trim(c->pool);
	pthread_mutex_unlock(&c->lock);
}

bool capture_has_spare(struct capture *c)
{
	bool has;

	pthread_mutex_lock(&c->lock);
	has = capture_pool_has_spare(c->pool);
	pthread_mutex_unlock(&c->lock);
	return has;
}

void capture_set_limit(struct capture *c, uint64_t bytes)
{
	pthread_mutex_lock(&c->lock);
	c->limit = bytes;
	make_room(c, 0, 0);
	pthread_mutex_unlock(&c->lock);
}

void capture_set_overwrite(struct capture *c, bool overwrite)
{
	pthread_mutex_lock(&c->lock);
	c->overwrite = overwrite;
	pthread_mutex_unlock(&c->lock);
}

void capture_set_packing(struct capture *c, bool packs)
{
	pthread_mutex_lock(&c->lock);
	c->packs = packs;
	pthread_mutex_unlock(&c->lock);
}

uint64_t capture_oldest_seq(struct capture *c)
{
	uint64_t seq;

	pthread_mutex_lock(&c->lock);
	seq = c->head ? c->head->seq : c->next_seq;
	pthread_mutex_unlock(&c->lock);
	return seq;
}

uint64_t capture_newest_seq(struct capture *c)
{
	uint64_t seq;

	pthread_mutex_lock(&c->lock);
	seq = c->tail ? c->tail->seq : c->next_seq;
	pthread_mutex_unlock(&c->lock);
	return seq;
}

uint64_t capture_runs(struct capture *c)
{
	uint64_t runs;

	pthread_mutex_lock(&c->lock);
	runs = c->runs;
	pthread_mutex_unlock(&c->lock);
	return runs;
}

/* ---- queries --------------------------------------------------------------------------------- */

uint64_t capture_held_bytes(struct capture *c)
{
	uint64_t bytes;

	pthread_mutex_lock(&c->lock);
	bytes = c->stats.held_bytes;
	pthread_mutex_unlock(&c->lock);
	return bytes;
}

uint64_t capture_memory_bytes(struct capture *c)
{
	uint64_t bytes;

	pthread_mutex_lock(&c->lock);
	bytes = c->memory_bytes;
	pthread_mutex_unlock(&c->lock);
	return bytes;
}

void capture_get_stats(struct capture *c, struct capture_stats *stats)
{
	const struct capture_pos *pos;

	pthread_mutex_lock(&c->lock);
	*stats = c->stats;
	stats->memory_bytes = c->memory_bytes;
	stats->readers = 0;
	for (pos = c->positions; pos; pos = pos->next)
		stats->readers++;
	pthread_mutex_unlock(&c->lock);
}

void capture_get_totals(struct capture *c, struct tally *totals)
{
	pthread_mutex_lock(&c->lock);
	capture_write_newest(c);
	tally_merge(totals, &c->totals);
	pthread_mutex_unlock(&c->lock);
}

bool capture_has_totals(struct capture *c)
{
	bool has;

	pthread_mutex_lock(&c->lock);
	has = !tally_empty(&c->totals);
	pthread_mutex_unlock(&c->lock);
	return has;
}
