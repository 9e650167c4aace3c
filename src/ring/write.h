/* SPDX-License-Identifier: MIT */
/*
 * The writer of a pool: threads take slots and chunks, reserve and commit records.
 *
 * This runs inside arbitrary programs: no allocation, no lock, no output; the caller saves errno.
 * ring_reserve and ring_commit may run in a signal handler that interrupted any code, including
 * themselves. The functions that change chunk block signals while they run.
 *
 * With F_SEAL_FUTURE_WRITE (Linux 5.1) no other process can write the shared memory. Before, the
 * server can, and it may be a hostile one. So the shared memory is for readers only: ownership of
 * chunks and slots, how far a chunk is filled, tickets and counts are kept in private memory and
 * stored to both. The exception is slot->pos, which each event reads and moves: its offset is
 * checked against the private size of a chunk, and counted from the writer's private pointer to its
 * chunk. Whatever a server writes there, records are written to the pool or lost.
 *
 * The letters of the ordering contract (ring_abi.h) are cited here and in write.c.
 */
#ifndef KPROFS_RING_WRITE_H
#define KPROFS_RING_WRITE_H

#include <kprof/ring_abi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/shared.h"
#include "ring/testpoint.h"

/*
 * The private part of one thread; events use its first cache line. It is in memory that a forked
 * child finds zeroed (MADV_WIPEONFORK), so that a child that was forked without the fork handlers
 * has a slot of NULL here and never writes to the pool of its parent.
 *
 *	[t] stored by the owning thread with signals blocked, read by it and its handlers
 *	[a] atomic: the same, and read by other threads
 */
struct ring_writer {
	struct kprof_slot *slot; /* [t] shared; NULL if not a writer, or no longer */
	char *chunk;		 /* [t] shared: the chunk of slot->pos; always one of the pool */
	_Atomic uint32_t units;	 /* [t] of a chunk, in 8 bytes; 0 if it may not write (any more) */
	uint32_t index;		 /* [t] of the slot */
	uint32_t clock;		 /* [t] enum kprof_pool_clock */
	uint32_t holds;		 /* [t] it has a chunk */
	int64_t clock_offset_ns; /* [t] added to CLOCK_MONOTONIC: its time namespace */
	uint64_t stretch;	 /* [t] number of the first event of the stretch: slot->base */
	uint32_t chunk_index;	 /* [t] of its chunk */
	_Atomic uint32_t tid;	 /* [a] of its thread; stored before `live` is set */
	_Atomic uint64_t serial; /* [a] the same */
	uint64_t first, dropped; /* [t] as in the slot */
	_Atomic uint32_t live;	 /* [a] its thread may write */
} __attribute__((aligned(64)));

/*
 * A pool in its producer.
 *
 *	[i] invariant after ring_pool_init	[a] atomic
 */
struct ring_pool {
	struct kprof_pool *shared;	/* [i] the header and counters, in shared memory */
	struct kprof_slot *slots;	/* [i] shared */
	struct kprof_chunk *heads;	/* [i] shared */
	char *data;			/* [i] shared */
	struct kprof_pool layout;	/* [i] a private copy of the header */
	struct ring_writer *writers;	/* [i] one for each slot; wiped in a forked child */
	_Atomic uint64_t *chunk_since;	/* [a] one for each chunk; see write.c */
	_Atomic uint64_t *slot_since;	/* [a] one for each slot */
	_Atomic uint64_t *chunk_serial; /* [a] one for each chunk: the thread that had it last */
	/* [a] one for each chunk: as in its head; changed by its owner before it is given back */
	_Atomic uint64_t *chunk_ticket, *chunk_word;
	_Atomic uint64_t tickets;	/* [a] chunks taken so far */
	_Atomic uint64_t since;		/* [a] the last number used in either */
	_Atomic uint64_t given;		/* [a] how often a chunk or slot was given back */
	_Atomic uint64_t serial;	/* [a] of the newest thread */
	_Atomic uint64_t clear_ticket;	/* [a] discard: chunks up to it may be taken again */
	int64_t clock_offset_ns;	/* [i] see struct ring_writer */
	int pid;			/* [i] the process that made it */
};

/* The time by KPROF_CLOCK_COUNTER. */
static inline uint64_t ring_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0; /* not used: no pool has this clock here */
#endif
}

/* The time of a record, by the pool's clock. */
uint64_t ring_clock_ns(int64_t offset_ns);
static inline uint64_t ring_stamp(const struct ring_writer *writer)
{
	if (__builtin_expect(writer->clock == KPROF_CLOCK_COUNTER, 1))
		return ring_counter();
	return ring_clock_ns(writer->clock_offset_ns);
}

/* Bytes of private memory that ring_pool_init needs for this layout. */
size_t ring_pool_private_bytes(const struct kprof_pool *layout);

/*
 * Initializes a pool in `shared` (layout->pool_bytes, zeroed) with `private_memory` beside it
 * (zeroed, page-aligned, wiped on fork). Both stay the caller's and must outlive all writers. Not
 * thread-safe.
 */
void ring_pool_init(struct ring_pool *pool, const struct kprof_pool *layout, void *shared,
	void *private_memory, int64_t clock_offset_ns);

/*
 * Makes the calling thread a writer. NULL when no slot is free (then count the event with
 * ring_pool_starved). The result belongs to the thread until ring_writer_end; it may have no chunk
 * yet.
 */
struct ring_writer *ring_writer_begin(struct ring_pool *pool);

/* The thread ends: gives chunk and slot back. The writer must not be used again. */
void ring_writer_end(struct ring_pool *pool, struct ring_writer *writer);

/* Ends the writers of threads that no longer exist; for when no slot is free. Returns how many. */
unsigned ring_pool_reap(struct ring_pool *pool);

/* Counts an event that found no slot. */
void ring_pool_starved(struct ring_pool *pool);

/*
 * Another pool replaces this one: the next ring_reserve of each writer fails, and its thread has to
 * end the writer and begin in the other pool. Any thread, at any time: a thread that is about to
 * begin here either finds the other pool after ring_writer_begin, or its writer is among those that
 * fail.
 */
void ring_pool_leave(struct ring_pool *pool);

/*
 * Gives the writer a chunk with room for `units` more. false if the event is dropped, and counted as
 * dropped.
 */
bool ring_writer_switch(struct ring_pool *pool, struct ring_writer *writer, uint32_t units);

/* A reserved record: from ring_reserve or ring_take to ring_commit. */
struct ring_room {
	uint64_t pos; /* the slot's, before */
	uint64_t stamp;
	uint64_t *words; /* the record; [0] stamp, [1] head, [2..] the caller's */
	uint32_t units;
};

/* C of the ordering contract. Returns false if a signal handler has moved pos since it was read. */
static inline bool ring_move_pos(struct kprof_slot *slot, char *chunk, uint32_t units,
	struct ring_room *room)
{
	RING_TEST_POINT(POINT_POS_SEEN);
	if (__builtin_expect(!local_cas(&slot->pos, room->pos, room->pos + units + KPROF_POS_ONE),
		    0))
		return false;
	RING_TEST_POINT(POINT_RESERVED);
	room->words = (uint64_t *)(void *)(chunk + (size_t)KPROF_POS_OFFSET(room->pos) * 8);
	room->units = units;
	return true;
}

/*
 * Reserves `units` (2 at least, head included, KPROF_RECORD_MAX / 8 at most). false if the writer's
 * chunk has no room; call ring_writer_switch and try again, or the writer is not one (slot NULL).
 */
static inline bool ring_reserve(struct ring_writer *writer, uint32_t units, struct ring_room *room)
{
	struct kprof_slot *slot;
	char *chunk;

	do {
		slot = writer->slot;
		if (__builtin_expect(!slot, 0))
			return false;
		room->pos = atomic_read_relaxed(SHARED_64(&slot->pos)); /* this thread's */
		/* relaxed: a writer that has to leave may do so an event later */
		if (__builtin_expect(KPROF_POS_OFFSET(room->pos) + units >
					    atomic_read_relaxed(&writer->units),
			    0))
			return false;
		atomic_fence_signal(); /* time and chunk belong to this pos, or C fails */
		chunk = writer->chunk;
		room->stamp = ring_stamp(writer);
	} while (!ring_move_pos(slot, chunk, units, room));
	return true;
}

/*
 * The same in two steps and without a call, for pools whose clock is the counter. `slot` was read
 * from writer->slot before. Between the two steps the caller computes the size of the record.
 * ring_take returns false also when the slot is no longer the writer's, or a signal handler ran in
 * between: then, too, the caller continues with ring_reserve.
 *
 * Reason for two steps, and for the caller's copy of the slot: a processor starts to read the
 * counter when all earlier instructions have their results, and this takes long. Work that can wait
 * is placed after it and overlaps with it.
 */
static inline void ring_look(const struct kprof_slot *slot, struct ring_room *room)
{
	room->pos = atomic_read_relaxed(SHARED_64(&slot->pos)); /* this thread's */
	atomic_fence_signal(); /* time and chunk belong to this pos, or C fails */
	room->stamp = ring_counter();
}

static inline bool ring_take(struct ring_writer *writer, struct kprof_slot *slot, uint32_t units,
	struct ring_room *room)
{
	char *chunk = writer->chunk;

	if (__builtin_expect(writer->slot != slot, 0))
		return false;
	/* relaxed: as above */
	if (__builtin_expect(
		    KPROF_POS_OFFSET(room->pos) + units > atomic_read_relaxed(&writer->units), 0))
		return false;
	return ring_move_pos(slot, chunk, units, room);
}

/*
 * Publishes the record, whose words[2..] the caller has stored. what: KPROF_HEAD(0, flags, id, 0,
 * 0).
 */
static inline void ring_commit_as(struct ring_writer *writer, const struct ring_room *room,
	uint64_t what, uint32_t cpu)
{
	uint16_t tag = KPROF_TAG(KPROF_POS_TICKET(room->pos), KPROF_POS_OFFSET(room->pos));

	atomic_write_relaxed(SHARED_64(&room->words[0]), room->stamp); /* ordered by D */
	RING_TEST_POINT(POINT_VALUES_STORED);
	/* D: the commit */
	atomic_write_release(SHARED_64(&room->words[1]),
		KPROF_HEAD(room->units, 0, 0, cpu, tag) | what);
	RING_TEST_POINT(POINT_COMMITTED);
	/* E; the slot belongs to this thread until its end, whatever handlers did in between */
	if (__builtin_expect(writer->slot != NULL, 1))
		local_inc_release(&writer->slot->done);
	RING_TEST_POINT(POINT_DONE);
}

static inline void ring_commit(struct ring_writer *writer, const struct ring_room *room,
	uint32_t flags, uint32_t id, uint32_t cpu)
{
	ring_commit_as(writer, room, KPROF_HEAD(0, flags, id, 0, 0), cpu);
}

#endif
