/* SPDX-License-Identifier: MIT */
/*
 * The index of a capture in the directory of state=: a file with a record for each block that the capture
 * holds, which says where its bytes are, how many, and their sum. Each record has two commits. The one that
 * is older is replaced, so at each moment one of them is whole, and it is of bytes that were written before
 * it; after a crash of the machine perhaps not, which the sum shows.
 *
 * The owner serializes all calls.
 */
#ifndef KPROFS_PROF_DISK_INDEX_H
#define KPROFS_PROF_DISK_INDEX_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "kprof/records.h"
#include "prof/disk.h"

struct disk_index;

/* Where the bytes of a block are. */
struct disk_place {
	uint64_t seq;	/* of the block, not 0 */
	uint32_t arena; /* number */
	uint32_t slot;	/* in it */
	uint32_t offset, packed_bytes; /* in the slot, if the records are packed (packed.h); else 0 */
};

/* What of it is whole. */
struct disk_commit {
	uint64_t used; /* bytes of records */
	uint64_t first_ns, stored_ns;
	uint64_t sum;	/* of the bytes, or of the packed ones */
	uint64_t check; /* of this and of the place */
};

/*
 * Makes another file, which replaces the one that is there by disk_index_publish(), when it has the blocks of
 * that: a kill before leaves the old one. NULL: there is no room, which is counted.
 */
struct disk_index *disk_index_create(struct disk *disk, const char *session);
/* Returns false after an error, which is counted. */
bool disk_index_publish(struct disk_index *index);
/* The file stays. NULL is allowed. */
void disk_index_close(struct disk_index *index);

/* Adds a block. Returns the number of its record, or -1 if there is no room, which is counted. */
int disk_index_add(struct disk_index *index, const struct disk_place *place);
/* What the block has now; `check` is made here. */
void disk_index_commit(struct disk_index *index, int record, const struct disk_commit *commit);
void disk_index_remove(struct disk_index *index, int record);

/* ---- reading --------------------------------------------------------------------------------- */

struct disk_index_entry {
	struct disk_place place;
	struct disk_commit commit;
};

/*
 * Appends the entries (struct disk_index_entry) that a file has, sorted by seq; a block whose records were
 * just packed may have two. *damaged: how many records are not whole. Returns -EPROTO if it is no index, or
 * of another version; then nothing is appended. One without a header was never written to the disk, which is
 * damage.
 */
int disk_index_parse(const uint8_t *file, size_t len, GArray *entries, uint64_t *damaged);

/* The most bytes that an index may have. */
#define DISK_INDEX_BYTES_MAX (64u << 20)

#endif
