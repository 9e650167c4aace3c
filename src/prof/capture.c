/* SPDX-License-Identifier: MIT */
/*
 * The queue of blocks behind kpdata: see capture.h for who may call what.
 *
 * Blocks are linked oldest to newest; only the newest grows. A block leaves the list when its space
 * is needed; its memory goes when the last reader has unpinned it. Bytes below `used` never change,
 * so a reader that learned `used` under the lock reads them without it.
 *
 * Everything that a block loses by leaving unread is found by walking its records, which keeps the
 * books exact without an index: 128 KiB take some microseconds.
 */
#include "prof/capture.h"

#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "prof/record.h"

/*
 * Large enough that a run of CAPTURE_RUN_MAX fits and a 1 MiB read needs few pieces, small enough
 * that the smallest queue (1 MiB) forgets an eighth at a time.
 */
#define BLOCK_BYTES (128u << 10)
/* Blocks kept for the next need instead of going back to the kernel at once; all that a clear frees. */
#define SPARE_BLOCKS_MAX 4
/* Room for one LOST record. */
#define LOST_BYTES 25

struct capture_block {
	struct capture_block *next;
	uint64_t seq;
	size_t used;
	size_t read_upto; /* the furthest that any reader has read */
	int pins;	  /* by positions */
	bool held;	  /* in the list */
	bool overwritten; /* left the list because space was needed, read or not */
	uint8_t *data;
};

struct capture {
	pthread_mutex_t lock; /* a leaf: nothing else is locked under it */
	/* all below under lock */
	struct capture_block *head, *tail; /* oldest, newest */
	struct capture_block *spare; /* free blocks */
	int spare_count;
	int spare_max;
	struct capture_pos *positions;
	uint64_t next_seq;
	uint64_t cleared_seq; /* blocks before it are in no book any more */
	uint64_t limit;
	bool overwrite;
	uint64_t runs;
	struct tally pending;	  /* LOST records to be written */
	struct tally overwritten; /* left unread, by anybody */
	struct tally books;
	struct capture_stats stats;
};

int capture_create(uint64_t limit_bytes, struct capture **out)
{
	struct capture *c = g_new0(struct capture, 1);

	pthread_mutex_init(&c->lock, NULL);
	c->limit = limit_bytes;
	c->next_seq = 1;
	c->spare_max = SPARE_BLOCKS_MAX;
	*out = c;
	return 0;
}

/* ---- blocks ------------------------------------------------------------------------------------- */

static struct capture_block *get_block(struct capture *c)
{
	struct capture_block *b = c->spare;
	void *data;

	if (b) {
		c->spare = b->next;
		c->spare_count--;
	} else {
		/* all its pages at once: a fault for each costs as much as the records in it */
		data = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (data == MAP_FAILED)
			return NULL;
		b = g_new0(struct capture_block, 1);
		b->data = data;
	}
	b->next = NULL;
	b->seq = c->next_seq++;
	b->used = 0;
	b->read_upto = 0;
	b->held = true;
	b->overwritten = false;
	return b;
}

static void free_block(struct capture_block *b)
{
	munmap(b->data, BLOCK_BYTES);
	g_free(b);
}

/* An overwritten block that nobody holds any more: what nobody has read of it nobody ever will. */
static void lose_rest(struct capture *c, const struct capture_block *b)
{
	struct tally lost;
	size_t i;

	if (b->read_upto == b->used || b->seq < c->cleared_seq)
		return;
	tally_init(&lost);
	record_tally(b->data + b->read_upto, b->used - b->read_upto, KPROF_LOST_OVERWRITE, &lost);
	tally_merge(&c->overwritten, &lost);
	for (i = 0; i < lost.count; i++)
		if (lost.rows[i].reason == KPROF_LOST_OVERWRITE)
			tally_add(&c->books, lost.rows[i].cpu, lost.rows[i].event,
				KPROF_LOST_OVERWRITE, lost.rows[i].count);
	tally_fini(&lost);
	c->stats.dropped_bytes += b->used - b->read_upto;
	c->stats.dropped++;
}

/* Memory that neither the list nor a reader needs. */
static void recycle_block(struct capture *c, struct capture_block *b)
{
	if (b->held || b->pins)
		return;
	if (b->overwritten)
		lose_rest(c, b);
	if (c->spare_count >= c->spare_max) {
		free_block(b);
		return;
	}
	b->next = c->spare;
	c->spare = b;
	c->spare_count++;
}

static void unpin_block(struct capture *c, struct capture_block *b)
{
	b->pins--;
	recycle_block(c, b);
}

static void leave_block(struct capture *c, struct capture_pos *pos)
{
	if (pos->block)
		unpin_block(c, pos->block);
	pos->block = NULL;
	pos->cleared = false;
}

static void drop_spare(struct capture *c)
{
	struct capture_block *b;

	while ((b = c->spare)) {
		c->spare = b->next;
		free_block(b);
	}
	c->spare_count = 0;
}

static void unlink_head(struct capture *c)
{
	struct capture_block *b = c->head;

	c->head = b->next;
	if (!c->head)
		c->tail = NULL;
	c->stats.held_bytes -= b->used;
	b->next = NULL;
	b->held = false;
	recycle_block(c, b);
}

void capture_destroy(struct capture *c)
{
	if (!c)
		return;
	while (c->head)
		unlink_head(c);
	drop_spare(c);
	tally_fini(&c->pending);
	tally_fini(&c->overwritten);
	tally_fini(&c->books);
	pthread_mutex_destroy(&c->lock);
	g_free(c);
}

/* ---- making room -------------------------------------------------------------------------------- */

static bool is_before(const struct capture_pos *pos, const struct capture_block *b)
{
	return pos->block ? pos->block->seq < b->seq : pos->next_seq <= b->seq;
}

static bool has_passed(const struct capture_pos *pos, const struct capture_block *b)
{
	if (pos->block == b)
		return pos->offset == b->used;
	return !is_before(pos, b);
}

/* The oldest block has been read by somebody and is of no more use to any reader. */
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

/* A reply that has b in it is under way: capture_advance will tell whether it was read. */
static bool is_in_flight(const struct capture_pos *pos, const struct capture_block *b)
{
	int i;

	for (i = 0; i < pos->pin_count; i++)
		if (pos->pins[i] == b)
			return true;
	return false;
}

/*
 * A reader that stands in an overwritten block is told that the rest of it is lost: the tasks that only
 * this block refers to are forgotten with it. Of a record that it has begun it gets the rest.
 */
static void cut_rest(struct capture *c, struct capture_pos *pos)
{
	struct capture_block *b = pos->block;
	size_t from;

	if (!b || !b->overwritten || b->seq < c->cleared_seq || pos->cleared)
		return;
	from = pos->offset + pos->partial_left;
	if (from < b->used)
		record_tally(b->data + from, b->used - from, KPROF_LOST_OVERWRITE, &pos->missed);
	pos->next_seq = b->seq + 1;
	pos->cleared = true;
	if (!pos->partial_left)
		leave_block(c, pos);
}

/* Mode overwrite: the oldest block goes, and everybody who misses it is told. */
static void overwrite_head(struct capture *c)
{
	struct capture_block *b = c->head;
	struct capture_pos *pos;
	struct tally lost;

	tally_init(&lost);
	record_tally(b->data, b->used, KPROF_LOST_OVERWRITE, &lost);
	b->overwritten = true;
	b->pins++; /* a reader that leaves it must not free it before it is unlinked */
	for (pos = c->positions; pos; pos = pos->next) {
		if (is_in_flight(pos, b))
			continue;
		if (is_before(pos, b))
			tally_merge(&pos->missed, &lost);
		else if (pos->block == b && !pos->pin_count)
			cut_rest(c, pos);
	}
	tally_fini(&lost);
	unlink_head(c);
	unpin_block(c, b);
}

static bool make_room(struct capture *c, size_t bytes, uint64_t beside)
{
	while (c->stats.held_bytes + beside + bytes > c->limit) {
		if (!c->head)
			return bytes <= c->limit; /* what is kept beside goes with the blocks */
		if (head_is_spent(c))
			unlink_head(c);
		else if (c->overwrite)
			overwrite_head(c);
		else
			return false;
	}
	return true;
}

/* Copies records to the end; the caller has made room as far as the limit goes. */
static bool store(struct capture *c, const uint8_t *data, size_t len)
{
	struct capture_block *b = c->tail;

	if (!b || BLOCK_BYTES - b->used < len) {
		b = get_block(c);
		if (!b)
			return false;
		if (c->tail) {
			c->tail->next = b;
			c->stats.filled++;
		} else {
			c->head = b;
		}
		c->tail = b;
	}
	memcpy(b->data + b->used, data, len);
	b->used += len;
	c->stats.held_bytes += len;
	c->stats.written_bytes += len;
	return true;
}

/* ---- the writer --------------------------------------------------------------------------------- */

static void settle_locked(struct capture *c, bool force)
{
	uint8_t memory[64 * LOST_BYTES];
	struct record_buf buf;
	size_t i = 0;

	while (i < c->pending.count) {
		const struct tally_row *row = &c->pending.rows[i];

		record_buf_fixed(&buf, memory, sizeof(memory));
		for (; i < c->pending.count; i++) {
			row = &c->pending.rows[i];
			if (record_lost(&buf, row->cpu, row->event,
				    (enum kprof_lost_reason)row->reason, row->count))
				break;
		}
		if ((!make_room(c, buf.used, 0) && !force) || !store(c, buf.data, buf.used))
			return; /* all rows stay: a later try writes them anew */
		memmove(c->pending.rows, c->pending.rows + i,
			(c->pending.count - i) * sizeof(c->pending.rows[0]));
		c->pending.count -= i;
		i = 0;
	}
}

bool capture_append(struct capture *c, const uint8_t *run, size_t len, uint64_t beside)
{
	bool stored = false;

	pthread_mutex_lock(&c->lock);
	record_tally(run, len, CAPTURE_BOOK_RECEIVED, &c->books);
	if (make_room(c, len + c->pending.count * LOST_BYTES, beside)) {
		settle_locked(c, false);
		stored = tally_empty(&c->pending) && store(c, run, len);
	}
	if (stored) {
		c->runs++;
	} else {
		struct tally lost;

		tally_init(&lost);
		record_tally(run, len, KPROF_LOST_QUEUE, &lost);
		tally_merge(&c->pending, &lost);
		tally_merge(&c->books, &lost);
		tally_fini(&lost);
		c->stats.dropped_bytes += len;
		c->stats.dropped++;
	}
	pthread_mutex_unlock(&c->lock);
	return stored;
}

void capture_lost(struct capture *c, uint32_t cpu, uint32_t event, uint32_t reason, uint64_t count)
{
	pthread_mutex_lock(&c->lock);
	tally_add(&c->books, cpu, event, CAPTURE_BOOK_RECEIVED, count);
	tally_add(&c->books, cpu, event, reason, count);
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
	c->spare_max = INT_MAX;
	while (c->head)
		unlink_head(c);
	c->spare_max = SPARE_BLOCKS_MAX;
	c->cleared_seq = c->next_seq;
	for (pos = c->positions; pos; pos = pos->next) {
		/* pieces that are being replied stay pinned; the place moves on all the same */
		pos->next_seq = c->next_seq;
		pos->cleared = true;
		if (!pos->partial_left)
			leave_block(c, pos);
		tally_clear(&pos->missed);
	}
	tally_clear(&c->pending);
	tally_clear(&c->overwritten);
	tally_clear(&c->books);
	c->stats = (struct capture_stats){ 0 };
	pthread_mutex_unlock(&c->lock);
}

void capture_trim(struct capture *c)
{
	pthread_mutex_lock(&c->lock);
	drop_spare(c);
	pthread_mutex_unlock(&c->lock);
}

bool capture_has_spare(struct capture *c)
{
	bool has;

	pthread_mutex_lock(&c->lock);
	has = c->spare != NULL;
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

/* ---- readers ------------------------------------------------------------------------------------ */

void capture_attach(struct capture *c, struct capture_pos *pos)
{
	*pos = (struct capture_pos){ 0 };
	tally_init(&pos->missed);
	pthread_mutex_lock(&c->lock);
	pos->next_seq = c->head ? c->head->seq : c->next_seq;
	tally_merge(&pos->missed, &c->overwritten);
	pos->next = c->positions;
	if (pos->next)
		pos->next->prev = pos;
	c->positions = pos;
	pthread_mutex_unlock(&c->lock);
}

void capture_detach(struct capture *c, struct capture_pos *pos)
{
	pthread_mutex_lock(&c->lock);
	if (pos->block)
		unpin_block(c, pos->block);
	if (pos->prev)
		pos->prev->next = pos->next;
	else
		c->positions = pos->next;
	if (pos->next)
		pos->next->prev = pos->prev;
	tally_fini(&pos->missed);
	pthread_mutex_unlock(&c->lock);
}

void capture_mark(struct capture *c, struct capture_mark *mark)
{
	pthread_mutex_lock(&c->lock);
	mark->seq = c->tail ? c->tail->seq : c->next_seq;
	mark->used = c->tail ? c->tail->used : 0;
	pthread_mutex_unlock(&c->lock);
}

/* The block in which pos goes on and the offset there; NULL at the end. */
static struct capture_block *find_block(struct capture *c, const struct capture_pos *pos,
	size_t *offset)
{
	struct capture_block *b = pos->block;

	*offset = pos->offset;
	if (b && pos->offset < b->used)
		return b;
	*offset = 0;
	if (b && b->held)
		return b->next;
	/* Blocks leave from the old end only: what is held is newer than one that is not. */
	b = c->head;
	while (b && !is_before(pos, b))
		b = b->next;
	return b;
}

bool capture_pending(struct capture *c, struct capture_pos *pos)
{
	size_t offset;
	bool pending;

	pthread_mutex_lock(&c->lock);
	pending = !tally_empty(&pos->missed) || find_block(c, pos, &offset);
	pthread_mutex_unlock(&c->lock);
	return pending;
}

/* What pos has still to read of a block that left the list is older than all that it missed. */
static bool has_older_rest(const struct capture_pos *pos)
{
	return pos->block && !pos->block->held && pos->offset < pos->block->used;
}

void capture_take_missed(struct capture *c, struct capture_pos *pos, struct tally *missed)
{
	pthread_mutex_lock(&c->lock);
	if (!has_older_rest(pos)) {
		tally_merge(missed, &pos->missed);
		tally_clear(&pos->missed);
	}
	pthread_mutex_unlock(&c->lock);
}

/* Where the records of b end that stand before mark. */
static size_t end_in_block(const struct capture_block *b, const struct capture_mark *mark)
{
	if (b->seq > mark->seq)
		return 0;
	return b->seq < mark->seq || b->used < mark->used ? b->used : mark->used;
}

/*
 * How many bytes at data, which stands at `offset` of its block, a reader gets: the rest of a record
 * that it has begun, else whole records, else (split) a part of one. Notes in pos where that ends.
 */
static size_t take_records(struct capture_pos *pos, const uint8_t *data, size_t offset, size_t len,
	size_t want, bool split)
{
	size_t n, length;

	if (split && pos->partial_left) {
		n = pos->partial_left < want ? pos->partial_left : want;
		pos->pin_partial = pos->partial_left - n;
		pos->pin_boundary = pos->pin_partial ? 0 : offset + n;
		return n;
	}
	n = record_fit(data, len, want, &length);
	pos->pin_boundary = offset + n;
	pos->pin_partial = 0;
	if (!n && split) {
		n = want;
		pos->pin_partial = length - want;
	}
	return n;
}

size_t capture_pieces(struct capture *c, struct capture_pos *pos, const struct capture_mark *mark,
	size_t want, bool split, struct iovec *iov, int *count)
{
	const int room = *count < CAPTURE_PIECES_MAX ? *count : CAPTURE_PIECES_MAX;
	struct capture_block *b;
	size_t offset, total = 0;

	*count = 0;
	pthread_mutex_lock(&c->lock);
	b = find_block(c, pos, &offset);
	if (b != pos->block && !tally_empty(&pos->missed))
		b = NULL; /* that comes first */
	while (b && *count < room && total < want) {
		size_t end = end_in_block(b, mark);
		size_t n;

		if (end <= offset)
			break;
		n = take_records(pos, b->data + offset, offset, end - offset, want - total,
			split && !total);
		if (!n)
			break;
		iov[*count] = (struct iovec){ .iov_base = b->data + offset, .iov_len = n };
		b->pins++;
		pos->pins[(*count)++] = b;
		pos->pin_offset = offset + n;
		total += n;
		if (offset + n < end || pos->cleared)
			break;
		b = b->next;
		offset = 0;
	}
	pos->pin_count = *count;
	pthread_mutex_unlock(&c->lock);
	return total;
}

/* Pieces that the reader did not get, whose blocks went meanwhile. */
static void miss_pieces(const struct capture *c, struct capture_pos *pos)
{
	int i;

	for (i = 0; i < pos->pin_count; i++) {
		const struct capture_block *b = pos->pins[i];

		if (b->overwritten && b->seq >= c->cleared_seq && is_before(pos, b))
			record_tally(b->data, b->used, KPROF_LOST_OVERWRITE, &pos->missed);
	}
}

void capture_advance(struct capture *c, struct capture_pos *pos, bool taken)
{
	struct capture_block *last;
	int i;

	pthread_mutex_lock(&c->lock);
	last = pos->pins[pos->pin_count - 1];
	if (taken) {
		for (i = 0; i < pos->pin_count - 1 && !pos->peeks; i++)
			pos->pins[i]->read_upto = pos->pins[i]->used;
		if (last->read_upto < pos->pin_boundary && !pos->peeks)
			last->read_upto = pos->pin_boundary;
		last->pins++;
		if (pos->block)
			unpin_block(c, pos->block);
		pos->block = last;
		pos->offset = pos->pin_offset;
		pos->partial_left = pos->pin_partial;
		/* cleared in between: the place is behind these blocks, after what is begun */
		pos->cleared = pos->next_seq > last->seq;
		if (pos->cleared && !pos->partial_left)
			leave_block(c, pos);
	} else {
		miss_pieces(c, pos);
	}
	cut_rest(c, pos); /* overwritten in between */
	for (i = 0; i < pos->pin_count; i++)
		unpin_block(c, pos->pins[i]);
	pos->pin_count = 0;
	pthread_mutex_unlock(&c->lock);
}

/* ---- questions ---------------------------------------------------------------------------------- */

uint64_t capture_held_bytes(struct capture *c)
{
	uint64_t bytes;

	pthread_mutex_lock(&c->lock);
	bytes = c->stats.held_bytes;
	pthread_mutex_unlock(&c->lock);
	return bytes;
}

void capture_get_stats(struct capture *c, struct capture_stats *stats)
{
	const struct capture_pos *pos;

	pthread_mutex_lock(&c->lock);
	*stats = c->stats;
	stats->readers = 0;
	for (pos = c->positions; pos; pos = pos->next)
		stats->readers++;
	pthread_mutex_unlock(&c->lock);
}

void capture_get_books(struct capture *c, struct tally *books)
{
	pthread_mutex_lock(&c->lock);
	tally_merge(books, &c->books);
	pthread_mutex_unlock(&c->lock);
}

bool capture_has_books(struct capture *c)
{
	bool has;

	pthread_mutex_lock(&c->lock);
	has = !tally_empty(&c->books);
	pthread_mutex_unlock(&c->lock);
	return has;
}
