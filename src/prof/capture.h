/* SPDX-License-Identifier: MIT */
/*
 * The capture: encoded records in a queue of blocks, and the positions of its readers.
 *
 * The sampler (the holder of its drain lock) appends runs of records: whole records of one CPU that
 * can be decoded without the runs before them. Other threads append single records. Any number of
 * readers hold positions. Reading removes nothing. When space is needed, blocks that at least one
 * position has read and all have passed are removed first; then the mode decides.
 *
 * There is one mutex inside. It is held to copy one run or to collect pointers, never until a
 * reply to a reader is complete: readers pin blocks, and published bytes never change.
 *
 * When half of the limit is used, blocks are packed (prof/packed.h). No caller sees that: positions, sizes
 * and pieces are those of the records, which are unpacked for each reader. Only the limit is one of memory.
 */
#ifndef KPROFS_PROF_CAPTURE_H
#define KPROFS_PROF_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "prof/record.h"
#include "prof/tally.h"

struct capture;
struct capture_block;
struct capture_memory;
/* The memory of captures, which they may share. */
struct capture_pool;
struct disk;

/* The largest run: one record of the kernel's largest size (64 KiB) and the records it needs. */
#define CAPTURE_RUN_MAX (72u << 10)
/*
 * The most pieces that one capture_pieces() returns: 64 blocks are 8 MiB, more than any read(2)
 * of FUSE.
 */
#define CAPTURE_PIECES_MAX 64

/*
 * A reason in the tally of totals: samples that the kernel took, delivered or not. The reasons of
 * LOST follow.
 */
#define CAPTURE_RECEIVED 0

/*
 * Packed blocks that one capture_pieces() unpacks at most: more bytes than one read(2) of FUSE has, and
 * few enough that they are still in the cache when they are copied.
 */
#define CAPTURE_UNPACKED_BYTES (1u << 20)

/* A block that a reader has unpacked. */
struct capture_unpacked {
	uint64_t seq;
	struct capture_memory *memory;
};

/* A reader's position. Members belong to the capture, under its lock. */
struct capture_pos {
	struct capture_pos *prev, *next;
	struct capture_block *block; /* pinned; read up to `offset`; NULL before next_seq */
	size_t offset;
	size_t partial_left; /* bytes left of a record whose first part was read */
	bool fills;	     /* set by the reader: a record is split where that fills the buffer */
	bool peeks;	     /* records that it reads do not count as read */
	bool cleared;	     /* cleared or overwritten in the middle of such a record */
	uint64_t next_seq;
	struct tally missed; /* overwritten before this reader reached it */
	uint64_t missed_before; /* samples that were in `missed` and have been taken out of it */
	/* of `block` up to `offset`, with a record that was read in part */
	struct record_counts counts;
	struct capture_unpacked unpacked[CAPTURE_PIECES_MAX];
	int unpacked_count;
	struct capture_block *pins[CAPTURE_PIECES_MAX];
	uint64_t pin_data; /* a bit for each pin whose piece is not in `unpacked` */
	int pin_count;
	size_t pin_offset;   /* where the pieces end in the last pin */
	size_t pin_boundary; /* the last end of a record before that */
	size_t pin_partial;  /* partial_left after the pieces */
	struct record_counts pin_counts; /* of the pieces, for the caller */
	struct record_counts pin_last;	 /* `counts` after the pieces */
};

/* An end set by a reader: the records published before capture_mark() was called. */
struct capture_mark {
	uint64_t seq;
	size_t used;
};

struct capture_stats {
	uint64_t held_bytes;	/* of records */
	uint64_t memory_bytes;	/* for them */
	uint64_t written_bytes; /* of records, since the start or clear */
	uint64_t dropped_bytes; /* not stored or overwritten unread */
	uint64_t filled;	/* blocks filled */
	uint64_t dropped;	/* runs not stored, and blocks overwritten unread */
	uint64_t readers;	/* positions that exist now */
};

/* Memory for captures, with one reference; disk NULL: in no files. */
struct capture_pool *capture_pool_create(struct disk *disk);
/* One more. */
struct capture_pool *capture_pool_ref(struct capture_pool *pool);
/* NULL is allowed. Files stay, if captures had blocks in them to the end. */
void capture_pool_unref(struct capture_pool *pool);
/*
 * All captures were read that have blocks in its files: the other files go, now and later. If a file was set
 * aside (disk_set_aside()), nothing goes that was there.
 */
void capture_pool_settle(struct capture_pool *pool);

/* In memory of its own, or in that of a pool, to which it takes a reference. -ENOMEM */
int capture_create_in(struct capture_pool *pool, uint64_t limit_bytes, struct capture **capture);
/*
 * The same with what the files of a session have. Blocks that are damaged are left out and counted in the
 * pool's disk. Returns -ENOENT if it has no files, -EPROTO if they are of another version, or another error;
 * then the index is set aside. No capture appends to these blocks. *is_loaded: it begins with a CLOCK, as
 * what was loaded; of that nothing behind a damaged block is read.
 */
int capture_read_files(struct capture_pool *pool, const char *session, struct capture **capture,
	bool *is_loaded);
/*
 * From now on the blocks of the capture are in files of the session, also after the end of this process;
 * the memory of a capture that has none of a disk is not. Returns false if they are not, after an error,
 * which is counted; the index that was there is there still.
 */
bool capture_keep_files(struct capture *capture, struct disk *disk, const char *session);

/*
 * Writes there what was appended since the last time: for the end of each drain, since a write for each run
 * costs several times as much. What is counted is written when the counts are read (capture_get_totals()).
 */
void capture_write_files(struct capture *capture);
/* What is in its files may go. */
void capture_forget_files(struct capture *capture);

/* -ENOMEM */
int capture_create(uint64_t limit_bytes, struct capture **capture);
/*
 * Another capture with the records that this one holds now, of which nothing counts as read. It shares the
 * memory of the blocks and has the same limit and totals; both go on independently. What both hold stays
 * until both have removed it.
 */
struct capture *capture_copy(struct capture *capture);
/* Every position must have been detached. */
void capture_destroy(struct capture *capture);

void capture_set_limit(struct capture *capture, uint64_t bytes);
void capture_set_overwrite(struct capture *capture, bool overwrite);
/* Whether blocks are packed from now on; at first they are. */
void capture_set_packing(struct capture *capture, bool packs);

/* ---- the writer ------------------------------------------------------------------------------ */

/*
 * Appends a run of at most CAPTURE_RUN_MAX bytes. `samples`: its number of samples, with the reason
 * CAPTURE_RECEIVED, and those that its LOST records report; NULL if they are counted in the run.
 * `beside`: bytes of other state that the held records need; they count against the limit. Returns
 * false if there is no room; then all its samples are counted as lost, and a LOST record takes
 * their place.
 */
bool capture_append(struct capture *capture, const uint8_t *run, size_t len,
	const struct tally *samples, uint64_t beside);
/*
 * Returns memory into which the next run may be written in place, with room for *size bytes, or
 * NULL if there is none. capture_append() does not copy such a run. Records that other threads
 * append meanwhile are placed before it. The caller owns the memory until the run is appended or
 * until capture_release().
 */
uint8_t *capture_reserve(struct capture *capture, size_t *size);
/* Gives back reserved memory, if there is any, without appending it. */
void capture_release(struct capture *capture);
/*
 * Counts samples that were not encoded. Their LOST record is written now if there is room,
 * otherwise later.
 */
void capture_lost(struct capture *capture, uint32_t cpu, uint32_t event, uint32_t reason,
	uint64_t count);
/* Writes outstanding LOST records: if there is room, or (force) beyond the limit. */
void capture_settle(struct capture *capture, bool force);
/*
 * Removes all records and sets all totals to 0. Positions move to the new beginning. The memory
 * is kept for the next records until capture_trim(), since new pages would take as long as the
 * records.
 */
void capture_clear(struct capture *capture);
/* Returns free memory to the kernel. */
void capture_trim(struct capture *capture);
/* Whether there is free memory to return. */
bool capture_has_spare(struct capture *capture);

/* The number of the oldest block held, of the next one if there is none. Numbers increase. */
uint64_t capture_oldest_seq(struct capture *capture);
/* The lowest number of the block into which the next run can go. */
uint64_t capture_newest_seq(struct capture *capture);
/* The number of runs stored since creation. */
uint64_t capture_runs(struct capture *capture);

/* ---- readers --------------------------------------------------------------------------------- */

/* At the oldest record held; pos->missed starts with what was overwritten and never read. */
void capture_attach(struct capture *capture, struct capture_pos *pos);
void capture_detach(struct capture *capture, struct capture_pos *pos);

void capture_mark(struct capture *capture, struct capture_mark *mark);
/* A part of the capture: its samples, and others of the same blocks. */
struct capture_part {
	uint64_t since_ns;  /* 0: from the oldest on */
	uint64_t until_ns;  /* UINT64_MAX: up to the newest */
	uint64_t bytes_max; /* of these the newest, and at least one block; UINT64_MAX: all */
};

/*
 * Moves a new position behind the blocks of which all samples are older than a part, and the mark
 * before those of which all runs begin behind it. Samples that pos missed before since_ns are
 * forgotten: they are older, too.
 */
void capture_seek_part(struct capture *capture, struct capture_pos *pos, struct capture_mark *mark,
	const struct capture_part *part);
/* The time of a sample among the newest; 0 if none is held. At most the newest one's. */
uint64_t capture_late_time(struct capture *capture);
/* true if there is a record behind pos, or missed is not empty */
bool capture_pending(struct capture *capture, struct capture_pos *pos);
/*
 * Moves pos->missed into *missed (added to): what is missing before the next record that pos
 * reads. Does nothing while pos is inside a record that is older than what it missed.
 */
void capture_take_missed(struct capture *capture, struct capture_pos *pos, struct tally *missed);

/* Samples that pos missed since it was attached, also those not yet taken. */
uint64_t capture_missed(struct capture *capture, const struct capture_pos *pos);

/*
 * Pieces of pinned memory with whole records before `mark`, as many as fit in `want` bytes and
 * *count pieces; split: a single record larger than `want` is returned in parts. Returns the
 * bytes; if not 0, capture_advance() must follow. Also 0 if capture_take_missed() has something
 * that comes first. -ENOMEM if there is no memory to unpack even one block; nothing has changed then.
 */
ssize_t capture_pieces(struct capture *capture, struct capture_pos *pos,
	const struct capture_mark *mark, size_t want, bool split, struct iovec *iov, int *count);
/* Ends capture_pieces(): taken moves pos behind the pieces. */
void capture_advance(struct capture *capture, struct capture_pos *pos, bool taken);

/* ---- queries --------------------------------------------------------------------------------- */

/* Bytes of records. */
uint64_t capture_held_bytes(struct capture *capture);
/* The memory for them, to which the limit applies. */
uint64_t capture_memory_bytes(struct capture *capture);
void capture_get_stats(struct capture *capture, struct capture_stats *stats);
/* Adds the totals to *totals: reason CAPTURE_RECEIVED or of LOST. */
void capture_get_totals(struct capture *capture, struct tally *totals);
/* Whether any total is not 0. */
bool capture_has_totals(struct capture *capture);

#endif
