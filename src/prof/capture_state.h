/* SPDX-License-Identifier: MIT */
/*
 * What capture.c (the writer, and how blocks come and go) and capture_read.c (readers) share. Nobody else
 * includes it.
 */
#ifndef KPROFS_PROF_CAPTURE_STATE_H
#define KPROFS_PROF_CAPTURE_STATE_H

#include <pthread.h>

#include "prof/capture.h"

struct capture_block {
	struct capture_block *next;
	uint64_t seq;
	size_t used;
	size_t read_upto; /* the furthest that any reader has read */
	int pins;	  /* by positions */
	bool held;	  /* in the list */
	bool overwritten; /* left the list because space was needed, read or not */
	uint8_t *data;
};

struct capture {
	pthread_mutex_t lock; /* a leaf: nothing else is locked under it */
	/* all below under lock */
	struct capture_block *head, *tail; /* oldest, newest */
	struct capture_block *spare; /* free blocks */
	int spare_count;
	int spare_max;
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
