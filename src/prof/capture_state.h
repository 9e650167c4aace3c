/* SPDX-License-Identifier: MIT */
/*
 * Shared by capture.c (the writer, adding and removing blocks), capture_read.c (readers),
 * capture_copy.c (another capture of the same blocks), capture_pack.c (blocks in less memory),
 * capture_disk.c (blocks in files) and capture_blocks.c (memory for the blocks). No other file includes it.
 */
#ifndef KPROFS_PROF_CAPTURE_STATE_H
#define KPROFS_PROF_CAPTURE_STATE_H

#include <glib.h>
#include <pthread.h>

#include "prof/capture.h"
#include "prof/disk_index.h"

/*
 * Large enough that a run of CAPTURE_RUN_MAX fits and a 1 MiB read needs few pieces, small enough
 * that the smallest queue (1 MiB) loses an eighth at a time.
 */
#define CAPTURE_BLOCK_BYTES (128u << 10)

struct capture_arena;
struct capture_packer;
/* The packed records of some blocks. */
struct capture_segment;

/* The memory of a block, which blocks of several captures may have. Members: under the pool's lock. */
struct capture_memory {
	uint8_t *data;		     /* invariant */
	struct capture_arena *arena; /* invariant */
	struct capture_memory *next; /* in the arena's list of free ones */
	unsigned int blocks;	     /* that have it */
	bool backed;		     /* has pages; if free, it counts in the pool's spare */
};

struct capture_block {
	struct capture_block *next; /* newer in the capture's list */
	uint64_t seq;
	size_t used;
	struct record_counts counts; /* of all its records */
	uint64_t first_ns;  /* the lowest time of the first samples of its runs; UINT64_MAX if none */
	uint64_t stored_ns; /* when the last of them was appended: all its samples are older */
	size_t read_upto; /* the furthest position of any reader */
	int pins;	  /* number of positions that hold it */
	bool held;	  /* in the list */
	bool overwritten; /* left the list because space was needed, read or not */
	bool shared;	  /* another capture may write behind `used`: nothing may be appended here */
	/* the records as they are; NULL when they are packed and these not used any more */
	struct capture_memory *memory;
	uint8_t *data;	/* of `memory` */
	int data_users; /* pieces of replies, and the run that is being written behind them */
	/* the records packed; the segment is NULL as long as they are not */
	struct capture_segment *segment;
	const uint8_t *packed;
	size_t packed_bytes;
	bool tried; /* to pack it */
	struct tally lost; /* if they are packed: what a reader that gets none of them loses */
	int record;	     /* in the index; -1 if it is not there */
	size_t written; /* bytes of the records as they are that the file and the index have */
	struct disk_sum sum; /* of these */
	bool packed_written; /* so are the packed ones */
};

/* Of a capture and its copies. */
struct capture_pool {
	pthread_mutex_t lock; /* a leaf */
	/* all below under lock */
	unsigned int captures;
	struct disk *disk; /* invariant: each arena has a file there; NULL: none has */
	struct capture_pool *readers; /* invariant: for what is unpacked; NULL: in this one */
	bool settled; /* all captures that have blocks in files were read: others may be removed */
	GQueue arenas;
	unsigned int spare; /* free memory that has pages, in blocks */
};

struct capture {
	pthread_mutex_t lock; /* only the pool's is taken under it */
	/* all below under lock */
	struct capture_block *head, *tail; /* oldest, newest */
	struct capture_pool *pool;
	bool keep_spare; /* keep freed memory for the next records */
	bool packs; /* blocks are packed */
	struct capture_block *packing; /* a thread packs it now, without the lock, and has pinned it */
	struct capture_block *unpacked; /* those before it were packed, or could not be */
	struct capture_block *filled;	/* the last that was filled, if it was not tried to pack it */
	uint64_t beside;		/* as of the last run */
	struct capture_packer *packer;	/* of the thread that packs; NULL at first */
	/* those that may have room: for blocks just filled, and for older ones */
	struct capture_segment *segments[2];
	uint64_t memory_bytes;		/* what the blocks in the list need */
	/* a run is being written in place behind its `used`; pinned, and its data is used */
	struct capture_block *reserved;
	struct capture_pos *positions;
	struct capture_memory *reserve; /* of a capture in files: for LOST records on a full disk */
	struct disk_index *index; /* the blocks held are there too; NULL: they are not */
	struct disk_file files[2]; /* open for records as they are, and for packed ones */
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

/* ---- capture_blocks.c ------------------------------------------------------------------------- */

/* The number of the arena and of the place in it. */
void capture_pool_place(const struct capture_memory *memory, struct disk_place *place);
/* Writes to the file what is in this memory. Returns false after an error, which is counted. */
bool capture_pool_write(struct capture_pool *pool, struct disk_file *file,
	const struct capture_memory *memory, const uint8_t *data, size_t len);
/* Reads what the last process wrote at a place; NULL if nothing is there. */
struct capture_memory *capture_pool_take(struct capture_pool *pool, const struct disk_place *place);
/* That for what readers unpack, which is in no files. */
struct capture_pool *capture_pool_of_readers(struct capture_pool *pool);

/* Memory for a block, of a large arena if the limit is large. NULL if there is none. */
struct capture_memory *capture_pool_get(struct capture_pool *pool, uint64_t limit);
/* Another block has it, too. */
struct capture_memory *capture_pool_share(struct capture_pool *pool, struct capture_memory *memory);
/* A block has it no more. Unless `keep`, free memory beyond that of a few blocks goes to the kernel. */
void capture_pool_put(struct capture_pool *pool, struct capture_memory *memory, bool keep);
/* Returns all free memory to the kernel. */
void capture_pool_trim(struct capture_pool *pool);
bool capture_pool_has_spare(struct capture_pool *pool);

/* ---- capture.c: under lock ------------------------------------------------------------------- */

/* A new block of this memory, in no list. */
struct capture_block *capture_create_block(struct capture_memory *memory, uint64_t seq);
/* A position does not hold the block any more. */
void capture_unpin(struct capture *c, struct capture_block *b);

/* ---- capture_pack.c: under lock if not said otherwise ------------------------------------------- */

/* Whether memory is scarce and there is a block to pack. */
bool capture_can_pack(struct capture *c);
/* Packs the last block that was filled, and an older one. Takes the lock, and works without it. */
void capture_pack(struct capture *c);
/* Frees the memory that is needed to pack. */
void capture_free_packer(struct capture *c);
/* b leaves the list: its memory does not count any more. */
void capture_uncount_block(struct capture *c, const struct capture_block *b);
/* b is freed; `stays`: its records are in a file, whose memory is not given back. */
void capture_free_packed(struct capture *c, struct capture_block *b, bool stays);
/*
 * b, which has no records yet, gets those that are packed at a place of this memory, which is given up.
 * segments: those of the capture so far, by their memory.
 */
void capture_read_packed(struct capture *c, struct capture_block *b, struct capture_memory *memory,
	const struct disk_place *place, GHashTable *segments);
/* Writes the packed records of b to the file. Returns false after an error, which is counted. */
bool capture_write_packed(struct capture *c, struct capture_block *b, uint64_t *sum);
/* Where they are. */
void capture_packed_place(const struct capture_block *b, struct disk_place *place);
/* Frees the records as they are if they are packed and these not used. */
void capture_release_data(struct capture *c, struct capture_block *b);
/* b of another capture is packed: so is `own`, a block that will be the newest of the copy. */
void capture_copy_packed(struct capture *copy, struct capture_block *own, const struct capture_block *b);
/* Adds what a reader loses that does not get the records of b from `from` on. */
void capture_tally_block(const struct capture_block *b, size_t from, struct tally *lost);
/* The records of b; NULL if they are packed and pos has not unpacked them. */
const uint8_t *capture_block_data(const struct capture_pos *pos, const struct capture_block *b);
/* pos unpacks b; it has room. Releases the lock meanwhile. -ENOMEM */
int capture_unpack(struct capture *c, struct capture_pos *pos, struct capture_block *b);
/* pos frees what it has unpacked, except blocks with these numbers. */
void capture_drop_unpacked(struct capture *c, struct capture_pos *pos, uint64_t from, uint64_t to);
/* ---- capture_disk.c: under lock -------------------------------------------------------------- */

/* None is open. */
void capture_init_files(struct capture *c);
void capture_close_files(struct capture *c);
/* The file and the index have what b has now. */
void capture_index_block(struct capture *c, struct capture_block *b);
/* Likewise, if they do not have all of its records, and it is not packed. NULL is allowed. */
void capture_write_block(struct capture *c, struct capture_block *b);
/* Of the blocks that were filled and may not be there yet; and of the newest one. */
void capture_write_filled(struct capture *c);
void capture_write_newest(struct capture *c);
/* The records of b are packed from now on. */
void capture_index_packed(struct capture *c, struct capture_block *b);
/* b leaves the list. */
void capture_unindex_block(struct capture *c, struct capture_block *b);

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
