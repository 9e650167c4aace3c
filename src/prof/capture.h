/* SPDX-License-Identifier: MIT */
/*
 * The capture: encoded records in a queue of blocks, and the positions of those who read them.
 *
 * The sampler (whoever holds its drain lock) appends runs: whole records of one CPU, each run readable
 * without the ones before it; others append a record of their own now and then. Any number of readers
 * hold positions. Reading takes nothing away; blocks go when space is needed: first those that every
 * position has passed and one has read, then what the mode says.
 *
 * One mutex inside, held for a copy of one run or for picking up pointers, never while a reply to a
 * reader is under way: readers pin blocks, and bytes once published never change.
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

/* A run is at most this long: one record of the kernel's largest (64 KiB) and what it needs. */
#define CAPTURE_RUN_MAX (72u << 10)
/* What one call of capture_pieces gives at most: 64 blocks are 8 MiB, more than any read(2) of FUSE. */
#define CAPTURE_PIECES_MAX 64

/* In the tally of books: samples that the kernel took, delivered or not. Reasons of LOST follow. */
#define CAPTURE_BOOK_RECEIVED 0

/* A reader's place. Members are the capture's, under its lock. */
struct capture_pos {
	struct capture_pos *prev, *next;
	struct capture_block *block; /* read up to `offset` of it, pinned; NULL: before next_seq */
	size_t offset;
	size_t partial_left; /* bytes of a record of which the reader has the first part */
	bool peeks;	     /* what it reads does not count as read */
	bool cleared;	     /* cleared or overwritten in the middle of such a record */
	uint64_t next_seq;
	struct tally missed; /* overwritten before this reader came to its end */
	uint64_t missed_before; /* samples that were in `missed` and were taken out of it */
	struct record_counts counts; /* of `block` up to `offset`, a record that is begun included */
	struct capture_block *pins[CAPTURE_PIECES_MAX];
	int pin_count;
	size_t pin_offset;   /* where in the last pin the pieces end */
	size_t pin_boundary; /* the last end of a record before that */
	size_t pin_partial;  /* partial_left after the pieces */
	struct record_counts pin_counts; /* of the pieces, for whoever asked for them */
	struct record_counts pin_last;	 /* `counts` after the pieces */
};

/* An end that a reader fixes: the records published before capture_mark() was called. */
struct capture_mark {
	uint64_t seq;
	size_t used;
};

struct capture_stats {
	uint64_t held_bytes;
	uint64_t written_bytes; /* of records, since the start or clear */
	uint64_t dropped_bytes; /* not stored or overwritten unread */
	uint64_t filled;	/* blocks filled */
	uint64_t dropped;	/* runs not stored, and blocks overwritten unread */
	uint64_t readers;	/* positions now */
};

/* -ENOMEM */
int capture_create(uint64_t limit_bytes, struct capture **capture);
/* Every position must have been detached. */
void capture_destroy(struct capture *capture);

void capture_set_limit(struct capture *capture, uint64_t bytes);
void capture_set_overwrite(struct capture *capture, bool overwrite);

/* ---- the writer --------------------------------------------------------------------------------- */

/*
 * Appends a run of at most CAPTURE_RUN_MAX bytes. `samples`: how many it holds, with the reason
 * CAPTURE_BOOK_RECEIVED; NULL: they are counted in the run. `beside`: bytes that other state keeps for the
 * sake of records held; they count against the limit. False: no room, all its samples are counted
 * as lost, and a LOST record will stand at this place.
 */
bool capture_append(struct capture *capture, const uint8_t *run, size_t len,
	const struct tally *samples, uint64_t beside);
/*
 * Where the next run may be written in place, with room for *size bytes; NULL: nowhere. Given to
 * capture_append() it is not copied. What others append meanwhile stands before it. It is the
 * caller's until it is appended or capture_release().
 */
uint8_t *capture_reserve(struct capture *capture, size_t *size);
/* What was reserved, if anything, will not be appended. */
void capture_release(struct capture *capture);
/* Samples that never came to a run. Their LOST record is written here if there is room, else when. */
void capture_lost(struct capture *capture, uint32_t cpu, uint32_t event, uint32_t reason,
	uint64_t count);
/* Writes outstanding LOST records: where there is room, or (force) whatever the limit says. */
void capture_settle(struct capture *capture, bool force);
/*
 * Forgets all records and begins new books. Positions stand at the new beginning. The memory is kept
 * for the next records, whose pages would cost as much as the records, until capture_trim().
 */
void capture_clear(struct capture *capture);
/* Gives free memory back to the kernel. */
void capture_trim(struct capture *capture);
/* Whether there is any to give back. */
bool capture_has_spare(struct capture *capture);

/* Number of the oldest block held, of the next one where none is. Blocks are numbered upwards. */
uint64_t capture_oldest_seq(struct capture *capture);
/* Number of the block that the next run goes into at the earliest. */
uint64_t capture_newest_seq(struct capture *capture);
/* How many runs were stored since creation. */
uint64_t capture_runs(struct capture *capture);

/* ---- readers ------------------------------------------------------------------------------------ */

/* The oldest record held; pos->missed starts with what was overwritten and never read by anyone. */
void capture_attach(struct capture *capture, struct capture_pos *pos);
void capture_detach(struct capture *capture, struct capture_pos *pos);

void capture_mark(struct capture *capture, struct capture_mark *mark);
/* true where a record stands between pos and now, or missed is not empty */
bool capture_pending(struct capture *capture, struct capture_pos *pos);
/*
 * Moves pos->missed into *missed (added to): what stands missing before the next record that pos
 * reads. Nothing while pos has begun a record that is older than what it missed.
 */
void capture_take_missed(struct capture *capture, struct capture_pos *pos, struct tally *missed);

/* Samples that pos missed since it was attached, also those that nobody has taken yet. */
uint64_t capture_missed(struct capture *capture, const struct capture_pos *pos);

/*
 * Pieces of pinned memory that hold whole records before `mark`, as many as fit in `want` bytes and
 * *count pieces; split: a single record larger than `want` comes in part. Returns the bytes; when
 * not 0, capture_advance must follow. 0 also where capture_take_missed has something that comes first.
 */
size_t capture_pieces(struct capture *capture, struct capture_pos *pos,
	const struct capture_mark *mark, size_t want, bool split, struct iovec *iov, int *count);
/* Ends capture_pieces: taken moves pos behind the pieces. */
void capture_advance(struct capture *capture, struct capture_pos *pos, bool taken);

/* ---- questions ---------------------------------------------------------------------------------- */

uint64_t capture_held_bytes(struct capture *capture);
void capture_get_stats(struct capture *capture, struct capture_stats *stats);
/* Adds the books to *books: reason CAPTURE_BOOK_RECEIVED or of LOST. */
void capture_get_books(struct capture *capture, struct tally *books);
/* Whether the books have any entry. */
bool capture_has_books(struct capture *capture);

#endif
