/* SPDX-License-Identifier: MIT */
/* Readers of the queue behind kpdata, and their positions: see capture.h. */
#include "prof/capture_state.h"

#include "prof/record.h"

/* ---- positions ------------------------------------------------------------------------------- */

bool capture_is_before(const struct capture_pos *pos, const struct capture_block *b)
{
	return pos->block ? pos->block->seq < b->seq : pos->next_seq <= b->seq;
}

void capture_leave_block(struct capture *c, struct capture_pos *pos)
{
	if (pos->block)
		capture_unpin(c, pos->block);
	pos->block = NULL;
	pos->cleared = false;
}

void capture_cut_rest(struct capture *c, struct capture_pos *pos)
{
	struct capture_block *b = pos->block;
	size_t from;

	if (!b || !b->overwritten || b->seq < c->cleared_seq || pos->cleared)
		return;
	from = pos->offset + pos->partial_left;
	if (from < b->used)
		capture_tally_block(b, from, &pos->missed);
	pos->next_seq = b->seq + 1;
	pos->cleared = true;
	if (!pos->partial_left)
		capture_leave_block(c, pos);
}

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
		capture_unpin(c, pos->block);
	capture_drop_unpacked(c, pos, 0, 0);
	if (pos->prev)
		pos->prev->next = pos->next;
	else
		c->positions = pos->next;
	if (pos->next)
		pos->next->prev = pos->prev;
	tally_fini(&pos->missed);
	pthread_mutex_unlock(&c->lock);
}

/* ---- reading --------------------------------------------------------------------------------- */

void capture_mark(struct capture *c, struct capture_mark *mark)
{
	pthread_mutex_lock(&c->lock);
	mark->seq = c->tail ? c->tail->seq : c->next_seq;
	mark->used = c->tail ? c->tail->used : 0;
	pthread_mutex_unlock(&c->lock);
}

/* Moves pos to the newest blocks before the mark that have at most so many bytes. Under the lock. */
static void skip_bytes(const struct capture *c, struct capture_pos *pos,
	const struct capture_mark *mark, uint64_t bytes_max)
{
	const struct capture_block *b;
	uint64_t bytes = 0;

	for (b = c->head; b; b = b->next)
		if (b->seq >= pos->next_seq && b->seq <= mark->seq)
			bytes += b->used;
	for (b = c->head; b && bytes > bytes_max && b->seq < mark->seq; b = b->next) {
		if (b->seq < pos->next_seq)
			continue;
		bytes -= b->used;
		pos->next_seq = b->seq + 1;
	}
}

void capture_seek_part(struct capture *c, struct capture_pos *pos, struct capture_mark *mark,
	const struct capture_part *part)
{
	struct capture_block *b;

	pthread_mutex_lock(&c->lock);
	*mark = (struct capture_mark){ 0 };
	for (b = c->head; b; b = b->next) {
		if (b->stored_ns < part->since_ns)
			pos->next_seq = b->seq + 1;
		/* a block without samples is of the time of the one before */
		if (b->first_ns < part->until_ns || part->until_ns == UINT64_MAX)
			*mark = (struct capture_mark){ .seq = b->seq, .used = b->used };
	}
	skip_bytes(c, pos, mark, part->bytes_max);
	if (part->since_ns)
		tally_clear(&pos->missed);
	pthread_mutex_unlock(&c->lock);
}

uint64_t capture_late_time(struct capture *c)
{
	const struct capture_block *b;
	uint64_t late = 0;

	pthread_mutex_lock(&c->lock);
	for (b = c->head; b; b = b->next)
		if (b->first_ns != UINT64_MAX)
			late = MAX(late, b->first_ns);
	pthread_mutex_unlock(&c->lock);
	return late;
}

/* The block in which pos continues and the offset there; NULL at the end. */
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
	/* Blocks leave in order: those held are newer than those that left. */
	b = c->head;
	while (b && !capture_is_before(pos, b))
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

/* What pos still has to read of a block that left the list is older than all that it missed. */
static bool has_older_rest(const struct capture_pos *pos)
{
	return pos->block && !pos->block->held && pos->offset < pos->block->used;
}

void capture_take_missed(struct capture *c, struct capture_pos *pos, struct tally *missed)
{
	pthread_mutex_lock(&c->lock);
	if (!has_older_rest(pos)) {
		tally_merge(missed, &pos->missed);
		pos->missed_before += tally_total(&pos->missed);
		tally_clear(&pos->missed);
	}
	pthread_mutex_unlock(&c->lock);
}

uint64_t capture_missed(struct capture *c, const struct capture_pos *pos)
{
	uint64_t missed;

	pthread_mutex_lock(&c->lock);
	missed = pos->missed_before + tally_total(&pos->missed);
	pthread_mutex_unlock(&c->lock);
	return missed;
}

/* The end of the records of b before mark. */
static size_t end_in_block(const struct capture_block *b, const struct capture_mark *mark)
{
	if (b->seq > mark->seq)
		return 0;
	return b->seq < mark->seq || b->used < mark->used ? b->used : mark->used;
}

/*
 * How many bytes at data, which is at `offset` of its block, a reader gets: the rest of a record
 * that was read in part, else whole records, else (split) a part of one; where pos fills the reader's
 * buffer all three. Notes in pos where that ends.
 */
static size_t take_records(struct capture_pos *pos, const uint8_t *data, size_t offset, size_t len,
	size_t want, bool split)
{
	size_t n = 0, length;

	if (split && pos->partial_left) {
		n = MIN(pos->partial_left, want);
		pos->pin_partial = pos->partial_left - n;
		pos->pin_boundary = pos->pin_partial ? 0 : offset + n;
		/* cleared: what follows in the block is not to be read any more */
		if (pos->pin_partial || !pos->fills || pos->cleared)
			return n;
	}
	n += record_fit(data + n, len - n, want - n, &length);
	pos->pin_boundary = offset + n;
	pos->pin_partial = 0;
	if (n < len && n < want && (pos->fills || (split && !n))) {
		record_fit(data + n, len - n, want - n, &length);
		pos->pin_partial = length - (want - n);
		n = want;
	}
	return n;
}

/*
 * Adds the records that begin in n bytes of b at `offset` to what pos will have read. Whole
 * blocks, most of a long read, are not decoded.
 */
static void count_piece(struct capture_pos *pos, const struct capture_block *b, const uint8_t *data,
	size_t offset, size_t n)
{
	const struct record_counts none = { 0 };
	const struct record_counts before = b == pos->block ? pos->counts : none;
	/* the rest of a record that was counted with its first part */
	const size_t begun = b == pos->block ? MIN(pos->partial_left, n) : 0;

	pos->pin_last = before;
	if (offset + n == b->used)
		pos->pin_last = b->counts;
	else
		record_count(data + offset + begun, n - begun, &pos->pin_last);
	pos->pin_counts.samples += pos->pin_last.samples - before.samples;
	pos->pin_counts.lost += pos->pin_last.lost - before.lost;
}

/* The block that pos reads next, and from where; NULL if LOST records come first. */
static struct capture_block *next_block(struct capture *c, const struct capture_pos *pos, size_t *offset)
{
	struct capture_block *b = find_block(c, pos, offset);

	return b != pos->block && !tally_empty(&pos->missed) ? NULL : b;
}

/* The first packed block of the next `want` bytes that pos has not unpacked; NULL if there is none. */
static struct capture_block *find_packed(struct capture *c, const struct capture_pos *pos,
	const struct capture_mark *mark, size_t want)
{
	struct capture_block *b;
	size_t offset, bytes = 0;

	for (b = next_block(c, pos, &offset); b && bytes < want; b = b->next) {
		const size_t end = end_in_block(b, mark);

		if (end <= offset)
			break;
		if (!capture_block_data(pos, b))
			return b;
		bytes += end - offset;
		offset = 0;
	}
	return NULL;
}

/*
 * Unpacks what pos reads next. The lock is released for each block, so the next one is found anew. -ENOMEM if
 * not even one can be.
 */
static int unpack_ahead(struct capture *c, struct capture_pos *pos, const struct capture_mark *mark,
	size_t want)
{
	struct capture_block *b;
	size_t offset;
	int ret = 0;

	b = next_block(c, pos, &offset);
	capture_drop_unpacked(c, pos, b ? b->seq : 0, b ? UINT64_MAX : 0);
	want = MIN(want, CAPTURE_UNPACKED_BYTES);
	while (!ret && pos->unpacked_count < CAPTURE_PIECES_MAX) {
		b = find_packed(c, pos, mark, want);
		if (!b)
			break;
		ret = capture_unpack(c, pos, b);
	}
	b = next_block(c, pos, &offset);
	/* what is unpacked already is read first */
	return ret && b && capture_block_data(pos, b) ? 0 : ret;
}

static void pin_piece(struct capture_pos *pos, struct capture_block *b, int i)
{
	b->pins++;
	pos->pins[i] = b;
	pos->pin_data &= ~(1ull << i);
	if (!b->data)
		return;
	b->data_users++;
	pos->pin_data |= 1ull << i;
}

/* Sets *packed if the first block must be unpacked: another one than when that was done. */
static size_t take_pieces(struct capture *c, struct capture_pos *pos, const struct capture_mark *mark,
	size_t want, bool split, struct iovec *iov, int *count, bool *packed)
{
	const int room = *count;
	struct capture_block *b;
	size_t offset, total = 0;

	*count = 0;
	*packed = false;
	b = next_block(c, pos, &offset);
	while (b && *count < room && total < want) {
		const uint8_t *data = capture_block_data(pos, b);
		const size_t end = end_in_block(b, mark);
		size_t n;

		if (end <= offset)
			break;
		*packed = !data && !total;
		if (!data)
			break;
		n = take_records(pos, data + offset, offset, end - offset, want - total, split && !total);
		if (!n)
			break;
		iov[*count] = (struct iovec){ .iov_base = (uint8_t *)data + offset, .iov_len = n };
		pin_piece(pos, b, (*count)++);
		pos->pin_offset = offset + n;
		count_piece(pos, b, data, offset, n);
		total += n;
		if (offset + n < end || pos->cleared)
			break;
		b = b->next;
		offset = 0;
	}
	pos->pin_count = *count;
	return total;
}

ssize_t capture_pieces(struct capture *c, struct capture_pos *pos, const struct capture_mark *mark,
	size_t want, bool split, struct iovec *iov, int *count)
{
	const int room = MIN(*count, CAPTURE_PIECES_MAX);
	size_t total = 0;
	bool packed;
	int ret;

	pos->pin_counts = (struct record_counts){ 0 };
	pthread_mutex_lock(&c->lock);
	do {
		*count = 0;
		ret = unpack_ahead(c, pos, mark, want);
		if (ret)
			break;
		*count = room;
		total = take_pieces(c, pos, mark, want, split, iov, count, &packed);
	} while (packed);
	pthread_mutex_unlock(&c->lock);
	return ret ? ret : (ssize_t)total;
}

/* Pieces that the reader did not get, whose blocks have left the list since. */
static void miss_pieces(const struct capture *c, struct capture_pos *pos)
{
	int i;

	for (i = 0; i < pos->pin_count; i++) {
		const struct capture_block *b = pos->pins[i];

		if (b->overwritten && b->seq >= c->cleared_seq && capture_is_before(pos, b))
			capture_tally_block(b, 0, &pos->missed);
	}
}

static void unpin_pieces(struct capture *c, struct capture_pos *pos)
{
	int i;

	for (i = 0; i < pos->pin_count; i++) {
		if (pos->pin_data & 1ull << i) {
			pos->pins[i]->data_users--;
			capture_release_data(c, pos->pins[i]);
		}
		capture_unpin(c, pos->pins[i]);
	}
	pos->pin_count = 0;
}

/* A block that pos has not read up to its end stays unpacked. */
static void keep_unpacked(struct capture *c, struct capture_pos *pos)
{
	const struct capture_block *b = pos->block;

	if (b && pos->offset < b->used)
		capture_drop_unpacked(c, pos, b->seq, b->seq + 1);
	else
		capture_drop_unpacked(c, pos, 0, 0);
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
			capture_unpin(c, pos->block);
		pos->block = last;
		pos->offset = pos->pin_offset;
		pos->counts = pos->pin_last;
		pos->partial_left = pos->pin_partial;
		/*
		 * cleared meanwhile: the position is behind these blocks, after a record that was
		 * read in part
		 */
		pos->cleared = pos->next_seq > last->seq;
		if (pos->cleared && !pos->partial_left)
			capture_leave_block(c, pos);
	} else {
		miss_pieces(c, pos);
	}
	capture_cut_rest(c, pos); /* overwritten meanwhile */
	unpin_pieces(c, pos);
	keep_unpacked(c, pos);
	pthread_mutex_unlock(&c->lock);
}
