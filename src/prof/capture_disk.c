/* SPDX-License-Identifier: MIT */
/*
 * Captures in the files of state=: see capture.h and disk.h. What was appended is written to the file of the
 * memory that it is in, and an index says which of it a capture holds. So when records were appended they are
 * in the kernel's hands, whatever becomes of this process.
 */
#include "prof/capture_state.h"

#include <errno.h>
#include <string.h>

#include "prof/packed.h"
#include "prof/record.h"
#include "prof/varint.h"

/* ---- writing --------------------------------------------------------------------------------- */

void capture_init_files(struct capture *c)
{
	c->files[0].fd = c->files[1].fd = -1;
}

void capture_close_files(struct capture *c)
{
	disk_file_close(&c->files[0]);
	disk_file_close(&c->files[1]);
}

/* Returns false if the file does not have them; then it is tried again with the next ones. */
static bool write_records(struct capture *c, struct capture_block *b, uint64_t *sum)
{
	const size_t from = b->written;

	if (b->used > from &&
		!capture_pool_write(c->pool, &c->files[0], b->memory, b->data + from, b->used - from))
		return false;
	b->written = b->used;
	*sum = disk_sum_update(&b->sum, b->data, b->used);
	return true;
}

void capture_index_block(struct capture *c, struct capture_block *b)
{
	struct disk_commit commit = { .used = b->used, .first_ns = b->first_ns, .stored_ns = b->stored_ns };
	struct disk_place place = { .seq = b->seq };

	if (b->segment)
		capture_packed_place(b, &place);
	else
		capture_pool_place(b->memory, &place);
	if (!(b->segment ? capture_write_packed(c, b, &commit.sum) : write_records(c, b, &commit.sum)))
		return;
	if (b->record < 0)
		b->record = disk_index_add(c->index, &place);
	if (b->record >= 0)
		disk_index_commit(c->index, b->record, &commit);
}

void capture_write_block(struct capture *c, struct capture_block *b)
{
	if (c->index && b && !b->segment && b->written < b->used)
		capture_index_block(c, b);
}

void capture_write_filled(struct capture *c)
{
	/* it is not waited for: what follows it would be there without it */
	if (c->packing && c->packing->held)
		capture_write_block(c, c->packing);
	capture_write_block(c, c->filled);
}

void capture_write_newest(struct capture *c)
{
	capture_write_filled(c);
	capture_write_block(c, c->tail);
}

void capture_write_files(struct capture *c)
{
	pthread_mutex_lock(&c->lock);
	capture_write_newest(c);
	pthread_mutex_unlock(&c->lock);
}

void capture_index_packed(struct capture *c, struct capture_block *b)
{
	const int before = b->record;

	if (!c->index)
		return;
	/* a reader of the files takes one of the two, until the other is gone */
	b->record = -1;
	capture_index_block(c, b);
	if (before >= 0)
		disk_index_remove(c->index, before); /* its memory is another block's from now on */
}

void capture_unindex_block(struct capture *c, struct capture_block *b)
{
	if (c->index && b->record >= 0)
		disk_index_remove(c->index, b->record);
	b->record = -1;
}

bool capture_keep_files(struct capture *c, struct disk *disk, const char *session)
{
	struct capture_block *b;
	bool kept;

	pthread_mutex_lock(&c->lock);
	if (c->pool->disk == disk)
		c->index = disk_index_create(disk, session);
	for (b = c->head; b && c->index; b = b->next)
		capture_index_block(c, b);
	/* now it has all that the old one has, of which these blocks may be */
	if (c->index && !disk_index_publish(c->index)) {
		disk_index_close(c->index);
		c->index = NULL;
	}
	kept = c->index != NULL;
	if (kept)
		c->reserve = capture_pool_get(c->pool, c->limit);
	pthread_mutex_unlock(&c->lock);
	return kept;
}

void capture_forget_files(struct capture *c)
{
	pthread_mutex_lock(&c->lock);
	disk_index_close(c->index);
	c->index = NULL;
	pthread_mutex_unlock(&c->lock);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	struct capture *capture;
	GHashTable *segments; /* by their memory */
	bool is_loaded;	      /* it begins as one that was loaded */
	uint8_t records[CAPTURE_BLOCK_BYTES]; /* of a block that is packed */
};

/* The records of an entry; NULL if they are not those that were there at the commit. */
static const uint8_t *find_records(struct reading *r, const struct capture_memory *memory,
	const struct disk_index_entry *entry)
{
	const struct disk_place *place = &entry->place;
	const size_t used = entry->commit.used, size = place->packed_bytes ? place->packed_bytes : used;
	const uint8_t *data;

	if (used > CAPTURE_BLOCK_BYTES || size > CAPTURE_BLOCK_BYTES ||
		place->offset > CAPTURE_BLOCK_BYTES - size || (place->offset && !place->packed_bytes))
		return NULL;
	data = memory->data + place->offset;
	if (entry->commit.sum != disk_sum_of(data, size))
		return NULL;
	if (place->packed_bytes) {
		if (!packed_unpack(data, size, r->records, used))
			return NULL;
		data = r->records;
	}
	return record_are_whole(data, used) ? data : NULL;
}

static void append_block(struct capture *c, struct capture_block *b)
{
	c->stats.held_bytes += b->used;
	c->stats.written_bytes += b->used;
	c->next_seq = b->seq + 1;
	c->runs++;
	if (c->tail)
		c->tail->next = b;
	else
		c->head = c->unpacked = b;
	c->tail = b;
}

static void add_block(struct reading *r, struct capture_memory *memory, const struct disk_index_entry *entry,
	const uint8_t *records)
{
	const bool is_packed = entry->place.packed_bytes != 0;
	struct capture *c = r->capture;
	struct capture_block *b = capture_create_block(is_packed ? NULL : memory, entry->place.seq);

	b->used = entry->commit.used;
	b->first_ns = entry->commit.first_ns;
	b->stored_ns = entry->commit.stored_ns;
	b->shared = true;
	record_count(records, b->used, &b->counts);
	/* samples that were delivered, and those that are known to be missing */
	if (r->is_loaded)
		record_tally_loaded(records, b->used, CAPTURE_RECEIVED, &c->totals);
	else
		record_tally(records, b->used, CAPTURE_RECEIVED, &c->totals);
	if (is_packed) {
		b->packed_written = true;
		record_tally(records, b->used, KPROF_LOST_OVERWRITE, &b->lost);
		capture_read_packed(c, b, memory, &entry->place, r->segments);
	} else {
		disk_sum_update(&b->sum, b->data, b->used);
		b->written = b->used;
		c->memory_bytes += b->used;
	}
	append_block(c, b);
}

static bool begins_with_clock(const uint8_t *records)
{
	uint64_t type;

	varint_get(records, &type);
	return type == KPROF_REC_CLOCK;
}

/* Returns false if it is damaged. */
static bool read_entry(struct reading *r, const struct disk_index_entry *entry)
{
	struct capture_pool *pool = r->capture->pool;
	struct capture_memory *memory = capture_pool_take(pool, &entry->place);
	const uint8_t *records = memory ? find_records(r, memory, entry) : NULL;

	if (records && !r->capture->head)
		r->is_loaded = begins_with_clock(records);
	if (records)
		add_block(r, memory, entry, records);
	else if (memory)
		capture_pool_put(pool, memory, true);
	return records != NULL;
}

/* The entries are sorted. A block is there twice if it was being packed. Returns how many are damaged. */
static uint64_t add_blocks(struct reading *r, const GArray *entries)
{
	struct capture *c = r->capture;
	uint64_t damaged = 0, last_damaged = 0;
	guint i;

	for (i = 0; i < entries->len; i++) {
		const struct disk_index_entry *entry = &g_array_index(entries, struct disk_index_entry, i);
		const uint64_t seq = entry->place.seq;

		if (seq < c->next_seq)
			continue;
		/* what was loaded describes at its beginning what follows */
		if ((!r->is_loaded || seq == c->next_seq) && read_entry(r, entry)) {
			damaged -= last_damaged == seq;
			continue;
		}
		damaged += last_damaged != seq;
		last_damaged = seq;
	}
	return damaged;
}

/* What LOST records report was received, too. */
static void count_lost(struct capture *c)
{
	struct tally received;
	size_t i;

	tally_init(&received);
	for (i = 0; i < c->totals.count; i++)
		if (c->totals.rows[i].reason != CAPTURE_RECEIVED)
			tally_add(&received, c->totals.rows[i].cpu, c->totals.rows[i].event,
				CAPTURE_RECEIVED, c->totals.rows[i].count);
	tally_merge(&c->totals, &received);
	tally_fini(&received);
}

static void read_entries(struct capture *c, const GArray *entries, bool *is_loaded)
{
	struct reading *r = g_new(struct reading, 1);

	r->capture = c;
	r->segments = g_hash_table_new(NULL, NULL);
	r->is_loaded = false;
	disk_count_damaged(c->pool->disk, add_blocks(r, entries));
	if (!r->is_loaded) /* else as it was loaded */
		count_lost(c);
	*is_loaded = r->is_loaded;
	g_hash_table_destroy(r->segments);
	g_free(r);
}

int capture_read_files(struct capture_pool *pool, const char *session, struct capture **out, bool *is_loaded)
{
	g_autofree char *file = disk_file_name("index", session);
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(struct disk_index_entry));
	GByteArray *content;
	uint64_t damaged;
	int ret = disk_read(pool->disk, file, DISK_INDEX_BYTES_MAX, &content);

	if (!ret) {
		ret = disk_index_parse(content->data, content->len, entries, &damaged);
		g_byte_array_unref(content);
	}
	if (!ret)
		ret = capture_create_in(pool, UINT64_MAX, out);
	if (!ret) {
		disk_count_damaged(pool->disk, damaged);
		read_entries(*out, entries, is_loaded);
	}
	g_array_free(entries, TRUE);
	if (ret && ret != -ENOENT)
		disk_set_aside(pool->disk, "index", session);
	return ret;
}
