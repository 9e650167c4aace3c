/* SPDX-License-Identifier: MIT */
/* The index of a capture: see disk_index.h. */
#include "prof/disk_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x315844494650524bu /* "KRPFIDX1" */
/* A power of two; the first ones are those of a capture of 64 MiB. */
#define RECORDS_FIRST 512u
/* The seq of a record that is free again; one that was never used has 0. */
#define SEQ_REMOVED UINT64_MAX

struct header {
	uint64_t magic;
	uint32_t version, record_bytes;
	uint8_t zero[112];
};

struct record {
	struct disk_place place;
	uint64_t zero[3];
	struct disk_commit commits[2];
};

G_STATIC_ASSERT(sizeof(struct record) == 128);
G_STATIC_ASSERT(sizeof(struct header) == sizeof(struct record));

struct disk_index {
	struct disk *disk;
	char *file, *new_file; /* its name; that until it is published, then NULL */
	int fd;
	struct record *records; /* as they are in the file */
	unsigned int room;
	GArray *free; /* of int, the lowest last */
};

static size_t bytes_of(unsigned int records)
{
	return sizeof(struct header) + records * sizeof(struct record);
}

/* Makes room for more records. Returns -errno; then it has as many as before. */
static int grow(struct disk_index *index, unsigned int room)
{
	int i;

	if (bytes_of(room) > DISK_INDEX_BYTES_MAX)
		return -ENOSPC;
	if (fallocate(index->fd, 0, 0, (off_t)bytes_of(room)))
		return -errno;
	index->records = g_renew(struct record, index->records, room);
	memset(index->records + index->room, 0, (room - index->room) * sizeof(struct record));
	for (i = (int)room - 1; i >= (int)index->room; i--)
		g_array_append_val(index->free, i);
	index->room = room;
	return 0;
}

static int write_bytes(const struct disk_index *index, const void *data, size_t len, size_t at)
{
	errno = EIO; /* of a part that is written, no error is set */
	return pwrite(index->fd, data, len, (off_t)at) == (ssize_t)len ? 0 : -errno;
}

static int write_header(const struct disk_index *index)
{
	const struct header header = {
		.magic = MAGIC, .version = DISK_VERSION, .record_bytes = sizeof(struct record)
	};

	return write_bytes(index, &header, sizeof(header), 0);
}

struct disk_index *disk_index_create(struct disk *disk, const char *session)
{
	struct disk_index *index = g_new0(struct disk_index, 1);
	int ret = 0;

	index->disk = disk;
	index->file = disk_file_name("index", session);
	index->new_file = g_strconcat(DISK_NEW_PREFIX, index->file, NULL);
	index->free = g_array_new(FALSE, FALSE, sizeof(int));
	unlinkat(disk_directory(disk), index->new_file, 0);
	index->fd = openat(disk_directory(disk), index->new_file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
		0600);
	if (index->fd < 0)
		ret = -errno;
	if (!ret)
		ret = grow(index, RECORDS_FIRST);
	if (!ret)
		ret = write_header(index);
	if (ret) {
		disk_count_error(disk, -ret);
		disk_index_close(index);
		return NULL;
	}
	return index;
}

bool disk_index_publish(struct disk_index *index)
{
	const int dir = disk_directory(index->disk);

	if (renameat(dir, index->new_file, dir, index->file)) {
		disk_count_error(index->disk, errno);
		return false;
	}
	g_clear_pointer(&index->new_file, g_free);
	return true;
}

void disk_index_close(struct disk_index *index)
{
	if (!index)
		return;
	if (index->fd >= 0)
		close(index->fd);
	if (index->new_file)
		unlinkat(disk_directory(index->disk), index->new_file, 0);
	g_free(index->new_file);
	g_free(index->file);
	g_free(index->records);
	g_array_free(index->free, TRUE);
	g_free(index);
}

/* ---- writing --------------------------------------------------------------------------------- */

static uint64_t check_of(const struct disk_place *place, const struct disk_commit *commit)
{
	uint8_t bytes[sizeof(*place) + offsetof(struct disk_commit, check)];

	memcpy(bytes, place, sizeof(*place));
	memcpy(bytes + sizeof(*place), commit, offsetof(struct disk_commit, check));
	return disk_sum_of(bytes, sizeof(bytes));
}

static void write_record(const struct disk_index *index, int i)
{
	int ret = write_bytes(index, &index->records[i], sizeof(struct record), bytes_of((unsigned int)i));

	if (ret)
		disk_count_error(index->disk, -ret);
}

int disk_index_add(struct disk_index *index, const struct disk_place *place)
{
	int i, ret = 0;

	if (!index->free->len)
		ret = grow(index, index->room * 2);
	if (ret) {
		disk_count_error(index->disk, -ret);
		return -1;
	}
	i = g_array_index(index->free, int, index->free->len - 1);
	g_array_set_size(index->free, index->free->len - 1);
	index->records[i] = (struct record){ .place = *place };
	return i; /* the file has it with the first commit */
}

void disk_index_commit(struct disk_index *index, int i, const struct disk_commit *commit)
{
	struct record *record = &index->records[i];
	struct disk_commit *older = &record->commits[record->commits[0].used > record->commits[1].used];

	*older = *commit;
	older->check = check_of(&record->place, older);
	write_record(index, i);
}

void disk_index_remove(struct disk_index *index, int i)
{
	index->records[i].place.seq = SEQ_REMOVED;
	write_record(index, i); /* before the memory of the block is another one's */
	g_array_append_val(index->free, i);
}

/* ---- reading --------------------------------------------------------------------------------- */

static gint compare_seq(gconstpointer a, gconstpointer b)
{
	const struct disk_index_entry *one = a, *other = b;

	if (one->place.seq != other->place.seq)
		return one->place.seq < other->place.seq ? -1 : 1;
	/* of one that is there twice the one that has more, since the first that is whole counts */
	return one->commit.used > other->commit.used ? -1 : one->commit.used < other->commit.used;
}

/* The commit of a record with the most bytes that is whole. */
static bool find_commit(const struct record *record, struct disk_commit *commit)
{
	bool found = false;
	int i;

	for (i = 0; i < 2; i++) {
		const struct disk_commit *c = &record->commits[i];

		if (!c->used || c->check != check_of(&record->place, c))
			continue;
		if (!found || c->used > commit->used)
			*commit = *c;
		found = true;
	}
	return found;
}

static bool is_begun(const struct record *record)
{
	static const struct disk_commit none;

	return !memcmp(&record->commits[0], &none, sizeof(none)) &&
		!memcmp(&record->commits[1], &none, sizeof(none));
}

/* Not so high that those that follow have no numbers. */
static bool is_seq(uint64_t seq)
{
	return seq && seq < SEQ_REMOVED / 2;
}

/* Whether an index may have so many bytes, or was cut off. */
static bool is_length(size_t len)
{
	unsigned int records = RECORDS_FIRST;

	while (bytes_of(records) < len)
		records *= 2;
	return bytes_of(records) == len;
}

int disk_index_parse(const uint8_t *file, size_t len, GArray *entries, uint64_t *damaged)
{
	static const struct header none;
	const guint before = entries->len;
	struct header header;
	size_t at;

	*damaged = 1;
	if (len < sizeof(header))
		return 0;
	memcpy(&header, file, sizeof(header));
	if (!memcmp(&header, &none, sizeof(header)))
		return 0;
	*damaged = 0;
	if (header.magic != MAGIC || header.version != DISK_VERSION ||
		header.record_bytes != sizeof(struct record))
		return -EPROTO;
	for (at = sizeof(header); len - at >= sizeof(struct record); at += sizeof(struct record)) {
		struct disk_index_entry entry;
		struct record record;

		memcpy(&record, file + at, sizeof(record));
		if (record.place.seq == SEQ_REMOVED)
			continue;
		entry.place = record.place;
		if (is_seq(record.place.seq) && find_commit(&record, &entry.commit))
			g_array_append_val(entries, entry);
		else if (!is_begun(&record)) /* else nothing was written to the block yet */
			(*damaged)++;
	}
	*damaged += !is_length(len);
	if (entries->len > before)
		g_array_sort(entries, compare_seq);
	return 0;
}
