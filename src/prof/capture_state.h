/* SPDX-License-Identifier: MIT */
/*
 * What capture.c (the writer, and how blocks come and go), capture_read.c (readers) and capture_blocks.c
 * (memory for the blocks) share. Nobody else includes it.
 */
#ifndef KPROFS_PROF_CAPTURE_STATE_H
#define KPROFS_PROF_CAPTURE_STATE_H

#include <glib.h>
#include <pthread.h>

#include "prof/capture.h"

/*
 * Large enough that a run of CAPTURE_RUN_MAX fits and a 1 MiB read needs few pieces, small enough
 * that the smallest queue (1 MiB) forgets an eighth at a time.
 */
#define CAPTURE_BLOCK_BYTES (128u << 10)

struct capture_arena;

struct capture_block {
	struct capture_block *next; /* newer in the capture's list, any in a list of free ones */
	uint64_t seq;
	size_t used;
	struct record_counts counts; /* of what is used */
	size_t read_upto; /* the furthest that any reader has read */
	int pins;	  /* by positions */
	bool held;	  /* in the list */
	bool overwritten; /* left the list because space was needed, read or not */
	uint8_t *data;
	struct capture_arena *arena;
	bool backed; /* has memory; free: counts in the pool's spare */
};

struct capture_pool {
	GQueue arenas;
	unsigned int spare; /* free blocks that have memory */
};

struct capture {
	pthread_mutex_t lock; /* a leaf: nothing else is locked under it */
	/* all below under lock */
	struct capture_block *head, *tail; /* oldest, newest */
	struct capture_pool pool;
	bool keep_spare; /* what goes now serves what comes next */
	struct capture_block *reserved; /* a run is being written behind its `used`; pinned */
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

/* ---- capture_blocks.c: under lock --------------------------------------------------------------- */

/* A block of which only the memory is set, of a large arena where the limit is large. NULL: no memory. */
struct capture_block *capture_pool_get(struct capture_pool *pool, uint64_t limit);
/* A block that nobody needs; unless kept, memory beyond a few blocks goes back to the kernel. */
void capture_pool_put(struct capture_pool *pool, struct capture_block *b, bool keep);
/* All memory of free blocks goes back to the kernel. */
void capture_pool_trim(struct capture_pool *pool);

/* ---- capture.c: under lock ---------------------------------------------------------------------- */

/* A position holds the block no more. */
void capture_unpin(struct capture *c, struct capture_block *b);

/* ---- capture_read.c: under lock ----------------------------------------------------------------- */

/* pos has read nothing of b yet. */
bool capture_is_before(const struct capture_pos *pos, const struct capture_block *b);
/* pos holds no block from now on. */
void capture_leave_block(struct capture *c, struct capture_pos *pos);
/*
 * A reader that stands in an overwritten block is told that the rest of it is lost: the tasks that only
 * this block refers to are forgotten with it. Of a record that it has begun it gets the rest.
 */
void capture_cut_rest(struct capture *c, struct capture_pos *pos);

#endif
