/* SPDX-License-Identifier: MIT */
/* The reader of a pool. See read.h; the letters are those of ring_abi.h. */
#include "ring/read.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/atomic.h"
#include "ring/layout.h"
#include "ring/testpoint.h"
#include "sys/memfile.h"

/* Reads all bytes, or fails: a short read means that the file has changed. */
static int read_whole(int fd, void *to, size_t bytes, uint64_t offset)
{
	ssize_t got;

	do {
		got = pread(fd, to, bytes, (off_t)offset);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	return (size_t)got == bytes ? 0 : -EIO;
}

int ring_reader_open(int fd, struct ring_reader *reader, const char **why)
{
	struct kprof_pool pool;
	struct statfs fs;
	struct stat st;
	int error;

	*why = "not a memfd sealed against shrinking and new seals";
	if (!memfile_cannot_shrink(fd))
		return -EINVAL;
	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	*why = "not in ordinary memory";
	if (!S_ISREG(st.st_mode) || fs.f_type != TMPFS_MAGIC)
		return -EINVAL;
	*why = "wrong size";
	if (st.st_size < (off_t)KPROF_POOL_BYTES_MIN || st.st_size > (off_t)KPROF_POOL_BYTES_MAX)
		return -EINVAL;
	*why = "cannot be read";
	error = read_whole(fd, &pool, sizeof(pool), 0);
	if (error)
		return error;
	error = layout_check(&pool, (uint64_t)st.st_size, why);
	if (error)
		return error;
	reader->fd = fd;
	reader->layout = pool;
	return 0;
}

static int read_slots(const struct ring_reader *reader, struct kprof_slot *slots)
{
	return read_whole(reader->fd, slots, reader->layout.slot_count * sizeof(*slots),
		reader->layout.slot_offset);
}

static int read_heads(const struct ring_reader *reader, struct kprof_chunk *heads)
{
	return read_whole(reader->fd, heads, reader->layout.chunk_count * sizeof(*heads),
		reader->layout.head_offset);
}

/*
 * A head may change while it is copied. Two equal copies are of one moment, since a ticket is never
 * used again; a head that still differs after HEAD_TRIES changes faster than it can be read.
 */
#define HEAD_TRIES 4

static int copy_heads(const struct ring_reader *reader, struct ring_index *index)
{
	uint32_t moving = 0;
	int error = read_heads(reader, index->heads);

	for (int i = 0; i < HEAD_TRIES && !error; i++) {
		memcpy(index->heads_before, index->heads, sizeof(index->heads));
		atomic_fence_acquire();
		error = read_heads(reader, index->heads);
		moving = 0;
		for (uint32_t c = 0; c < reader->layout.chunk_count; c++)
			moving += memcmp(&index->heads[c], &index->heads_before[c],
					  sizeof(index->heads[c])) != 0;
		if (moving == 0)
			return error;
	}
	for (uint32_t c = 0; c < reader->layout.chunk_count && !error; c++)
		if (memcmp(&index->heads[c], &index->heads_before[c], sizeof(index->heads[c])))
			memset(&index->heads[c], 0, sizeof(index->heads[c]));
	return error;
}

int ring_index_copy(const struct ring_reader *reader, struct ring_index *index)
{
	int error = read_slots(reader, index->slots_before);

	atomic_fence_acquire();
	if (!error)
		error = read_slots(reader, index->slots);
	/* E: done as of before pos was read */
	for (uint32_t i = 0; i < reader->layout.slot_count && !error; i++)
		index->slots[i].done = index->slots_before[i].done;
	atomic_fence_acquire(); /* b: heads are not older than pos */
	if (!error)
		error = copy_heads(reader, index);
	RING_TEST_POINT(POINT_INDEX_COPIED);
	return error;
}

bool ring_extent_find(const struct ring_reader *reader, const struct ring_index *index,
	uint32_t chunk, struct ring_extent *extent)
{
	const struct kprof_chunk *head = &index->heads[chunk];
	const struct kprof_slot *slot;

	memset(extent, 0, sizeof(*extent));
	if (head->ticket == 0 || KPROF_CHUNK_SLOT(head->word) >= reader->layout.slot_count)
		return false;
	slot = &index->slots[KPROF_CHUNK_SLOT(head->word)];
	extent->head = *head;
	extent->chunk = chunk;
	extent->end = KPROF_CHUNK_END(head->word) * 8;
	extent->count = KPROF_CHUNK_COUNT(head->word);
	/*
	 * E: all reserved events are committed, as seen while the chunk was the slot's or after
	 * that
	 */
	extent->uncommitted = slot->state == KPROF_SLOT_LIVE &&
		(slot->done != KPROF_RESERVED(slot->base, slot->pos) ||
			KPROF_POS_TICKET(slot->pos) < (head->ticket & KPROF_TICKET_MASK) ||
			(KPROF_POS_TICKET(slot->pos) == (head->ticket & KPROF_TICKET_MASK) &&
				KPROF_CHUNK_STATE(head->word) != KPROF_CHUNK_HELD));
	if (KPROF_CHUNK_STATE(head->word) == KPROF_CHUNK_HELD && slot->chunk == chunk &&
		KPROF_POS_TICKET(slot->pos) == (head->ticket & KPROF_TICKET_MASK)) {
		extent->held = true;
		extent->end = KPROF_POS_OFFSET(slot->pos) * 8;
		/* base is the number of the first event of the slot's present stretch */
		extent->count += (uint32_t)(KPROF_RESERVED(slot->base, slot->pos) - slot->base);
	}
	if (extent->count > extent->end / sizeof(struct kprof_record))
		extent->count = extent->end / sizeof(struct kprof_record); /* the head is corrupt */
	return extent->end > 0 && extent->end <= reader->layout.chunk_bytes;
}

/* ---- copying --------------------------------------------------------------------------------- */

/* Whether the chunk still has the ticket of the index: then the copied data are its own. */
static int check_ticket(const struct ring_reader *reader, const struct ring_extent *extent)
{
	uint64_t ticket;
	int error;

	atomic_fence_acquire(); /* a */
	error = read_whole(reader->fd, &ticket, sizeof(ticket),
		reader->layout.head_offset +
			(uint64_t)extent->chunk * sizeof(struct kprof_chunk) +
			offsetof(struct kprof_chunk, ticket));
	if (error)
		return error;
	return ticket == extent->head.ticket ? 0 : -ESTALE;
}

/* The record at `at`: returns its units, 0 if there is none. */
static uint32_t record_at(const char *data, uint64_t ticket, uint32_t at, uint32_t end,
	struct kprof_record *record)
{
	uint32_t units;

	if (end - at < 2)
		return 0;
	memcpy(record, data + (size_t)at * 8, sizeof(*record));
	units = KPROF_HEAD_UNITS(record->head);
	if (units < 2 || units > end - at || KPROF_HEAD_TAG(record->head) != KPROF_TAG(ticket, at))
		return 0;
	if (KPROF_HEAD_ID(record->head) == KPROF_ID_RUN)
		return units >= sizeof(struct kprof_run) / 8 ? units : 0;
	return KPROF_HEAD_ID(record->head) < KPROF_ID_RECORDS ? units : 0;
}

/* The end of the gap that begins at `at`: a record that is not older than `stamp`, or `end`. */
static uint32_t gap_end(
	const char *data, uint64_t ticket, uint32_t at, uint32_t end, uint64_t stamp)
{
	struct kprof_record record;

	for (at++; at < end; at++)
		if (record_at(data, ticket, at, end, &record) && record.stamp >= stamp)
			break;
	return at;
}

/* Zeroes in `to` what is not committed in `seen`. */
static void zero_gaps(const struct ring_extent *extent, uint32_t from, const char *seen, char *to)
{
	uint32_t at = from / 8, end = extent->end / 8;
	uint64_t ticket = extent->head.ticket, stamp = extent->head.begun;

	while (at < end) {
		struct kprof_record record;
		uint32_t units = record_at(seen, ticket, at, end, &record);

		if (!units) {
			units = gap_end(seen, ticket, at, end, stamp) - at;
			memset(to + (size_t)at * 8, 0, (size_t)units * 8);
		} else if (record.stamp > stamp) {
			stamp = record.stamp;
		}
		at += units;
	}
}

int ring_extent_copy(const struct ring_reader *reader, const struct ring_extent *extent,
	uint32_t from, char *buffer)
{
	uint64_t offset = reader->layout.data_offset +
		(uint64_t)extent->chunk * reader->layout.chunk_bytes + from;
	char *seen = extent->uncommitted ? buffer + reader->layout.chunk_bytes : buffer;
	int error;

	if (from > extent->end)
		return -EINVAL;
	error = read_whole(reader->fd, seen + from, extent->end - from, offset);
	RING_TEST_POINT(POINT_DATA_COPIED);
	if (!error && seen != buffer) {
		atomic_fence_acquire(); /* d: values from a copy made after the head words */
		error = read_whole(reader->fd, buffer + from, extent->end - from, offset);
		RING_TEST_POINT(POINT_DATA_COPIED_AGAIN);
	}
	if (!error)
		error = check_ticket(reader, extent);
	if (error)
		return error;
	zero_gaps(extent, from, seen, buffer);
	return 0;
}

/* ---- walking --------------------------------------------------------------------------------- */

void ring_walk_begin(struct ring_walk *walk, const struct ring_extent *extent, const char *data,
	uint32_t from)
{
	memset(walk, 0, sizeof(*walk));
	walk->data = data;
	walk->ticket = extent->head.ticket;
	walk->at = from / 8;
	walk->end = extent->end / 8;
	walk->stamp = extent->head.begun;
}

enum ring_item ring_walk_next(struct ring_walk *walk, struct ring_record *record)
{
	const char *at = walk->data + (size_t)walk->at * 8;
	struct kprof_record head;
	uint32_t units;

	if (walk->at >= walk->end)
		return RING_END;
	units = record_at(walk->data, walk->ticket, walk->at, walk->end, &head);
	if (!units) {
		walk->at = gap_end(walk->data, walk->ticket, walk->at, walk->end, walk->stamp);
		return RING_GAP;
	}
	walk->at += units;
	/*
	 * a clock that went backward between two CPUs, or a corrupt pool: the stream stays sorted
	 */
	if (head.stamp > walk->stamp)
		walk->stamp = head.stamp;
	if (KPROF_HEAD_ID(head.head) == KPROF_ID_RUN) {
		memcpy(&walk->run, at, sizeof(walk->run));
		walk->number = walk->run.base;
		walk->found = 0;
		return RING_RUN;
	}
	record->stamp = walk->stamp;
	record->args = at + sizeof(head);
	record->args_bytes = units * 8 - (uint32_t)sizeof(head);
	record->id = (uint16_t)KPROF_HEAD_ID(head.head);
	record->cpu = (uint16_t)KPROF_HEAD_CPU(head.head);
	record->flags = (uint8_t)KPROF_HEAD_FLAGS(head.head);
	record->number = walk->number++;
	walk->found++;
	return RING_EVENT;
}

/* ---- sums ------------------------------------------------------------------------------------ */

int ring_totals(const struct ring_reader *reader, const struct ring_index *index,
	struct ring_totals *totals)
{
	struct kprof_pool now;
	int error = read_whole(reader->fd, &now, sizeof(now), 0);

	if (error)
		return error;
	memset(totals, 0, sizeof(*totals));
	totals->dropped = now.starved;
	for (uint32_t i = 0; i < reader->layout.slot_count; i++) {
		const struct kprof_slot *slot = &index->slots[i];

		if (slot->state == KPROF_SLOT_FREE)
			continue;
		totals->reserved += KPROF_RESERVED(slot->base, slot->pos);
		totals->dropped += slot->dropped;
		totals->threads += slot->state == KPROF_SLOT_LIVE;
	}
	for (uint32_t i = 0; i < reader->layout.chunk_count; i++) {
		struct ring_extent extent;

		if (!ring_extent_find(reader, index, i, &extent))
			continue;
		totals->held += extent.count;
	}
	if (totals->held >
		totals->reserved) /* the copies are of two moments, or the pool is corrupt */
		totals->held = totals->reserved;
	totals->overwritten = totals->reserved - totals->held;
	return 0;
}
