/* SPDX-License-Identifier: MIT */
/* The journal of a session: see disk_journal.h. */
#include "prof/disk_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/clock.h"

#define PART_MAGIC (0x4a50524bu + DISK_VERSION) /* "KRPJ", so that a part of another version is none */
/* Written anew when it is twice as long as it was then, and this. */
#define GROWN_BYTES (1u << 20)
/* After an error it is not tried again at once. */
#define RETRY_NS NSEC_PER_SEC

struct part_header {
	uint32_t magic, kind, len;
	uint32_t check; /* of the other fields */
	uint64_t sum; /* of the bytes that follow */
};

struct disk_journal {
	struct disk *disk;
	char *file;
	int fd; /* to append; -1: none */
	size_t bytes, written; /* now; when it was written anew */
	bool is_behind;	       /* something could not be appended */
	uint64_t failed_ns;
};

struct disk_journal *disk_journal_create(struct disk *disk, const char *session)
{
	struct disk_journal *journal = g_new0(struct disk_journal, 1);

	journal->disk = disk;
	journal->file = disk_file_name("journal", session);
	journal->fd = -1;
	journal->is_behind = true;
	return journal;
}

void disk_journal_close(struct disk_journal *journal)
{
	if (!journal)
		return;
	if (journal->fd >= 0)
		close(journal->fd);
	g_free(journal->file);
	g_free(journal);
}

static uint32_t check_of(const struct part_header *header)
{
	struct part_header other = *header;

	other.check = 0;
	return (uint32_t)disk_sum_of(&other, sizeof(other));
}

static void add_part(GByteArray *bytes, const struct disk_journal_part *part)
{
	struct part_header header = { .magic = PART_MAGIC, .kind = part->kind, .len = part->len,
		.sum = disk_sum_of(part->data, part->len) };

	header.check = check_of(&header);
	g_byte_array_append(bytes, (const guint8 *)&header, sizeof(header));
	if (part->len)
		g_byte_array_append(bytes, part->data, part->len);
}

static void fail(struct disk_journal *journal)
{
	journal->is_behind = true;
	journal->failed_ns = clock_monotonic_ns();
}

void disk_journal_write(struct disk_journal *journal, const struct disk_journal_part *parts, guint count)
{
	GByteArray *bytes = g_byte_array_new();
	guint i;
	int ret;

	for (i = 0; i < count; i++)
		add_part(bytes, &parts[i]);
	ret = disk_write(journal->disk, journal->file, bytes->data, bytes->len);
	if (journal->fd >= 0)
		close(journal->fd);
	journal->fd = -1;
	if (!ret) {
		journal->fd = openat(disk_directory(journal->disk), journal->file,
			O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
		journal->bytes = journal->written = bytes->len;
		journal->is_behind = false;
	}
	if (ret || journal->fd < 0)
		fail(journal);
	g_byte_array_unref(bytes);
}

void disk_journal_append(struct disk_journal *journal, const struct disk_journal_part *part)
{
	GByteArray *bytes;

	if (journal->fd < 0) {
		journal->is_behind = true;
		return;
	}
	bytes = g_byte_array_new();
	add_part(bytes, part);
	errno = ENOSPC;
	if (write(journal->fd, bytes->data, bytes->len) == (ssize_t)bytes->len) {
		journal->bytes += bytes->len;
	} else {
		disk_count_error(journal->disk, errno);
		(void)!ftruncate(journal->fd, (off_t)journal->bytes); /* else a reader leaves it out */
		fail(journal);
	}
	g_byte_array_unref(bytes);
}

bool disk_journal_is_due(const struct disk_journal *journal)
{
	if (journal->is_behind)
		return !journal->failed_ns || clock_monotonic_ns() - journal->failed_ns >= RETRY_NS;
	return journal->bytes > 2 * journal->written + GROWN_BYTES;
}

enum disk_journal_end disk_journal_parse(const uint8_t *file, size_t len, GArray *parts)
{
	size_t at = 0;

	while (at < len) {
		struct disk_journal_part part;
		struct part_header header;

		if (len - at < sizeof(header))
			return DISK_JOURNAL_UNFINISHED;
		memcpy(&header, file + at, sizeof(header));
		at += sizeof(header);
		if (header.magic != PART_MAGIC || header.check != check_of(&header))
			return DISK_JOURNAL_DAMAGED;
		if (header.len > len - at)
			return DISK_JOURNAL_UNFINISHED;
		if (header.sum != disk_sum_of(file + at, header.len))
			return DISK_JOURNAL_DAMAGED;
		part = (struct disk_journal_part){
			.kind = header.kind, .len = header.len, .data = file + at
		};
		g_array_append_val(parts, part);
		at += header.len;
	}
	return DISK_JOURNAL_WHOLE;
}
