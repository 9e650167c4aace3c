/* SPDX-License-Identifier: MIT */
/*
 * The reader's side of a pool: copies what threads of a stranger's program wrote.
 *
 * Everything is copied by pread, looked at in the copy, and believed only as far as it is checked:
 * no index, length or offset taken from the pool is used before it is held against the layout, and
 * no loop's length depends on more than the size of a chunk. Reading allocates no page of the pool's
 * file and leaves no trace in it; any number of readers may read at once, each with a struct
 * ring_reader of its own or one that does not change. The ordering contract is in ring_abi.h.
 *
 * How to read all that a pool holds: ring_reader_open once; then ring_index_copy, and for each chunk
 * ring_extent_find, ring_extent_copy and ring_walk. Who follows keeps for each chunk the ticket and
 * the offset that it has come to.
 */
#ifndef KPROFS_RING_READ_H
#define KPROFS_RING_READ_H

#include <kprof/ring_abi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_reader {
	int fd;			  /* not owned */
	struct kprof_pool layout; /* as checked when it was opened; the file's is not read again */
};

/*
 * Checks the descriptor that a program handed over: a memfd (not of huge pages) sealed against
 * shrinking and against new seals, of a size within bounds, whose header makes sense. -EINVAL with a
 * sentence in *why (static text), or the errno of what failed.
 */
int ring_reader_open(int fd, struct ring_reader *reader, const char **why);

/* What the pool says of itself at one moment. Large: not for the stack. */
struct ring_index {
	struct kprof_slot slots[KPROF_SLOTS_MAX];
	struct kprof_chunk heads[KPROF_CHUNKS_MAX];
	struct kprof_slot slots_before[KPROF_SLOTS_MAX];  /* a copy that is older */
	struct kprof_chunk heads_before[KPROF_CHUNKS_MAX]; /* scratch */
};

/*
 * A chunk whose head does not stand still while it is looked at is left out (ticket 0).
 * -EIO when less could be read than the layout says, or the errno of pread.
 */
int ring_index_copy(const struct ring_reader *reader, struct ring_index *index);

/* The valid part of a chunk, according to an index. */
struct ring_extent {
	struct kprof_chunk head; /* as in the index */
	uint32_t chunk;
	uint32_t end;	   /* bytes from the chunk's start */
	bool held;	   /* its thread may still add to it */
	bool in_the_air;   /* there may be an event reserved and not yet committed */
	uint32_t count;	   /* events reserved in it: those not found are in the air, or torn */
};

/* false: nothing in it, or what the index says of it makes no sense. */
bool ring_extent_find(const struct ring_reader *reader, const struct ring_index *index,
	uint32_t chunk, struct ring_extent *extent);

/*
 * Copies the extent's bytes [from, end) to buffer[from, end); `from` is the end of a record or 0.
 * buffer has two chunks' bytes, the second half is scratch. What is not committed is zeroed. -ESTALE:
 * the chunk was taken again meanwhile, the copy is worthless; -EIO or the errno of pread.
 */
int ring_extent_copy(const struct ring_reader *reader, const struct ring_extent *extent,
	uint32_t from, char *buffer);

enum ring_item {
	RING_END,    /* nothing behind this */
	RING_EVENT,  /* a record */
	RING_RUN,    /* another thread from here on */
	RING_GAP,    /* one or more records that are not committed */
};

/* Where a walk through a copied chunk stands; all of it the walk's own. */
struct ring_walk {
	const char *data; /* the chunk's copy, from its start */
	uint64_t ticket;
	uint32_t at, end; /* in units of 8 */
	uint64_t stamp;	  /* of the last record: none behind it is older */
	struct kprof_run run; /* the last one; serial 0: none seen yet */
	uint64_t number;  /* of the next event in its slot, if there was no gap since the RUN */
	uint64_t found;	  /* events since the RUN */
};

struct ring_record {
	uint64_t stamp; /* never below the one before */
	const char *args; /* what follows the head; into the copy */
	uint32_t args_bytes;
	uint16_t id, cpu;
	uint8_t flags;
	uint64_t number; /* see struct ring_walk */
};

/* data: a chunk's copy; [from, end) in bytes, as they were copied. */
void ring_walk_begin(struct ring_walk *walk, const struct ring_extent *extent, const char *data,
	uint32_t from);

/* The next item; *record is filled for RING_EVENT. */
enum ring_item ring_walk_next(struct ring_walk *walk, struct ring_record *record);

/* The sums of a pool: events of all its threads, from an index and the header as it is now. */
struct ring_totals {
	uint64_t reserved;     /* ever */
	uint64_t held;	       /* of them still in a chunk, committed or not */
	uint64_t overwritten;  /* of them in no chunk any more */
	uint64_t dropped;      /* no chunk or no slot */
	uint32_t threads; /* that are writers now */
};

int ring_totals(const struct ring_reader *reader, const struct ring_index *index,
	struct ring_totals *totals);

#endif
