/* SPDX-License-Identifier: MIT */
/*
 * The reader of a pool: copies the records that threads of a producer wrote. The producer is not
 * trusted.
 *
 * Everything is copied by pread and checked in the copy: no index, length or offset from the pool
 * is used before it is checked against the layout, and no loop runs longer than the size of a chunk
 * allows. Reading allocates no page of the pool's file and does not change it. Any number of
 * readers may read at the same time, each with its own struct ring_reader or with a shared one that
 * does not change. Only pread blocks. The ordering contract is in ring_abi.h.
 *
 * To read all that a pool holds: ring_reader_open once; then ring_index_copy, and for each chunk
 * ring_extent_find, ring_extent_copy and ring_walk. A reader that follows the pool remembers the
 * ticket and the offset that it has reached for each chunk.
 */
#ifndef KPROFS_RING_READ_H
#define KPROFS_RING_READ_H

#include <kprof/ring_abi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_reader {
	int fd;			  /* not owned */
	struct kprof_pool layout; /* as checked when it was opened; the header is not read again */
};

/*
 * Checks the descriptor that a producer sent: a memfd (not of huge pages) sealed against shrinking
 * and against new seals, of a size within the limits, with a valid header. 0; -EINVAL with a
 * sentence in *why (static text), or -errno of a call that failed. The descriptor stays the
 * caller's.
 */
int ring_reader_open(int fd, struct ring_reader *reader, const char **why);

/* A copy of slots and heads at one moment. Too large for the stack. */
struct ring_index {
	struct kprof_slot slots[KPROF_SLOTS_MAX];
	struct kprof_chunk heads[KPROF_CHUNKS_MAX];
	struct kprof_slot slots_before[KPROF_SLOTS_MAX];  /* an older copy */
	struct kprof_chunk heads_before[KPROF_CHUNKS_MAX]; /* scratch */
};

/*
 * Copies slots and heads. A head that keeps changing while it is copied is left out (ticket 0). 0;
 * -EIO when less could be read than the layout has, or -errno of pread.
 */
int ring_index_copy(const struct ring_reader *reader, struct ring_index *index);

/* The valid part of a chunk, according to an index. */
struct ring_extent {
	struct kprof_chunk head; /* as in the index */
	uint32_t chunk;
	uint32_t end;	   /* bytes from the chunk's start */
	bool held;	   /* its thread may still write to it */
	bool uncommitted;   /* it may have reserved events that are not committed */
	uint32_t count; /* events reserved in it: those that are not found are uncommitted, or torn
			 */
};

/* The extent of a chunk. false if it is empty, or its head is invalid. */
bool ring_extent_find(const struct ring_reader *reader, const struct ring_index *index,
	uint32_t chunk, struct ring_extent *extent);

/*
 * Copies the bytes [from, end) of the extent to buffer[from, end); `from` is the end of a record or
 * 0. buffer has room for extent->end bytes; if the extent is `uncommitted`, it has the size of two
 * chunks, and the second half is scratch. Bytes that are not committed are zeroed. Returns 0;
 * -ESTALE if the chunk was taken again meanwhile, and the copy is invalid; -EIO or -errno of pread.
 */
int ring_extent_copy(const struct ring_reader *reader, const struct ring_extent *extent,
	uint32_t from, char *buffer);

enum ring_item {
	RING_END,    /* the end of the extent */
	RING_EVENT,  /* a record */
	RING_RUN,    /* records of another thread follow */
	RING_GAP,    /* one or more records that are not committed */
};

/* The state of a walk through a copied chunk. */
struct ring_walk {
	const char *data; /* the chunk's copy, from its start */
	uint64_t ticket;
	uint32_t at, end; /* in units of 8 */
	uint64_t stamp;	  /* of the last record: later ones are not older */
	struct kprof_run run; /* the last one; serial 0 if none was seen yet */
	uint64_t number;  /* of the next event in its slot, if there was no gap after the RUN */
	uint64_t found;	  /* events since the RUN */
};

struct ring_record {
	uint64_t stamp; /* never less than that of the record before */
	const char *args; /* what follows the head; points into the copy */
	uint32_t args_bytes;
	uint16_t id, cpu;
	uint8_t flags;
	uint64_t number; /* see struct ring_walk */
};

/* Begins a walk. data: the copy of the chunk; [from, end) in bytes, as they were copied. */
void ring_walk_begin(struct ring_walk *walk, const struct ring_extent *extent, const char *data,
	uint32_t from);

/* The next item; *record is filled for RING_EVENT. */
enum ring_item ring_walk_next(struct ring_walk *walk, struct ring_record *record);

/* Sums of a pool: events of all its threads, from an index and the present header. */
struct ring_totals {
	uint64_t reserved;     /* ever */
	uint64_t held;	       /* of `reserved`: still in a chunk, committed or not */
	uint64_t overwritten;  /* of `reserved`: in no chunk any more */
	uint64_t dropped;      /* not reserved: no chunk or no slot was free */
	uint32_t threads; /* threads that may write now */
};

/* 0, or -EIO or -errno of pread. */
int ring_totals(const struct ring_reader *reader, const struct ring_index *index,
	struct ring_totals *totals);

#endif
