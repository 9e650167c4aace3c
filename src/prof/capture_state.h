/* SPDX-License-Identifier: MIT */
/*
 * Shared by capture.c (the writer, adding and removing blocks), capture_read.c (readers) and
 * capture_blocks.c (memory for the blocks). No other file includes it.
 */
#ifndef KPROFS_PROF_CAPTURE_STATE_H
#define KPROFS_PROF_CAPTURE_STATE_H

#include <glib.h>
#include <pthread.h>

#include "prof/capture.h"

/*
 * Large enough that a run of CAPTURE_RUN_MAX fits and a 1 MiB read needs few pieces, small enough
 * that the smallest queue (1 MiB) loses an eighth at a time.
 */
#define CAPTURE_BLOCK_BYTES (128u << 10)

struct capture_arena;

struct capture_block {
	struct capture_block *next; /* newer in the capture's list, any in a list of free ones */
	uint64_t seq;
	size_t used;
	struct record_counts counts; /* of all its records */
	uint64_t first_ns;  /* the lowest time of the first samples of its runs; UINT64_MAX if none */
	uint64_t stored_ns; /* when the last of them was appended: all its samples are older */
	size_t read_upto; /* the furthest position of any reader */
	int pins;	  /* number of positions that hold it */
	bool held;	  /* in the list */
	bool overwritten; /* left the list because space was needed, read or not */
	uint8_t *data;
	struct capture_arena *arena;
	bool backed; /* has memory; if free, it counts in the pool's spare */
};

struct capture_pool {
	GQueue arenas;
	unsigned int spare; /* free blocks that have memory */
};

struct capture {
	pthread_mutex_t lock; /* no other lock is taken under it */
	/* all below under lock */
	struct capture_block *head, *tail; /* oldest, newest */
	struct capture_pool pool;
	bool keep_spare; /* keep freed memory for the next records */
	/* a run is being written in place behind its `used`; pinned */
	struct capture_block *reserved;
	struct capture_pos *positions;
	uint64_t next_seq;
	uint64_t cleared_seq; /* blocks before it are in no total any more */
	uint64_t limit;
	bool overwrite;
	uint64_t runs;
	struct tally pending;	  /* LOST records to be written */
	struct tally overwritten; /* that no reader had read */
	struct tally totals;
	struct capture_stats stats;
};

/* ---- capture_blocks.c: under lock ------------------------------------------------------------ */

/* A block with uninitialised members, of a large arena if the limit is large. NULL if no memory. */
struct capture_block *capture_pool_get(struct capture_pool *pool, uint64_t limit);
/* Frees a block. Unless `keep`, memory beyond that of a few blocks is returned to the kernel. */
void capture_pool_put(struct capture_pool *pool, struct capture_block *b, bool keep);
/* Returns the memory of all free blocks to the kernel. */
void capture_pool_trim(struct capture_pool *pool);

/* ---- capture.c: under lock ------------------------------------------------------------------- */

/* A position does not hold the block any more. */
void capture_unpin(struct capture *c, struct capture_block *b);

/* ---- capture_read.c: under lock -------------------------------------------------------------- */

/* pos has read nothing of b yet. */
bool capture_is_before(const struct capture_pos *pos, const struct capture_block *b);
/* pos holds no block from now on. */
void capture_leave_block(struct capture *c, struct capture_pos *pos);
/*
 * A reader inside an overwritten block gets LOST for the rest of it, since the tasks that only
 * this block refers to are forgotten with it. Of a record that it has read in part it gets the
 * rest.
 */
void capture_cut_rest(struct capture *c, struct capture_pos *pos);

#endif
