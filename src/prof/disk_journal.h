/* SPDX-License-Identifier: MIT */
/*
 * The journal of a session in the directory of state=: what comes before the records of its blocks. It is a
 * file of parts, each with its length and sum. It grows by what changes, and is written anew when that is
 * more than the whole. A part that is not whole, and what follows it, is left out: it was being appended when
 * the process was killed, if the file ends in it, otherwise it is damaged.
 *
 * The owner serializes all calls.
 */
#ifndef KPROFS_PROF_DISK_JOURNAL_H
#define KPROFS_PROF_DISK_JOURNAL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "prof/disk.h"

struct disk_journal;

enum disk_part {
	DISK_PART_BOOT = 1,    /* the boot's id: times of another boot are others */
	DISK_PART_EVENTS = 2,  /* the events that have numbers; the last such part counts */
	DISK_PART_RECORDS = 3, /* records of kpdata; all parts, in this order */
	DISK_PART_LOADED = 4,  /* the capture was loaded, and has all these itself */
};

/* One part, as it is written or was read. */
struct disk_journal_part {
	uint32_t kind;
	uint32_t len;
	const uint8_t *data;
};

/* No file yet. */
struct disk_journal *disk_journal_create(struct disk *disk, const char *session);
/* The file stays. NULL is allowed. */
void disk_journal_close(struct disk_journal *journal);

/* Writes it anew. Without room it stays as it was, which is counted; then disk_journal_is_due(). */
void disk_journal_write(struct disk_journal *journal, const struct disk_journal_part *parts, guint count);
/* Appends a part. Likewise. */
void disk_journal_append(struct disk_journal *journal, const struct disk_journal_part *part);
/* It is to be written anew: it has grown, or something is missing in it. */
bool disk_journal_is_due(const struct disk_journal *journal);

enum disk_journal_end { DISK_JOURNAL_WHOLE, DISK_JOURNAL_UNFINISHED, DISK_JOURNAL_DAMAGED };

/* Appends the parts (struct disk_journal_part, into `file`). Returns how the first ends that is left out. */
enum disk_journal_end disk_journal_parse(const uint8_t *file, size_t len, GArray *parts);

/* The most bytes of a journal. */
#define DISK_JOURNAL_BYTES_MAX (256u << 20)

#endif
