/* SPDX-License-Identifier: MIT */
/*
 * The writer's side of a pool: threads take slots and chunks, reserve and commit records.
 *
 * Runs inside programs that we know nothing about: no allocation, no lock, no output, errno is the
 * caller's to save. ring_reserve and ring_commit may run in a signal handler that interrupted
 * anything, also themselves; the functions that change chunk block signals for their duration.
 *
 * Who else may write the shared memory: nobody, where the kernel knows F_SEAL_FUTURE_WRITE (Linux 5.1);
 * before, the server, which may be one that its user was tricked into. So the shared memory is for
 * readers only: which chunk and slot is whose, how far a chunk is filled, tickets and sums are kept in
 * private memory and stored to both. The exception is slot->pos, which each event reads and moves: its
 * offset is checked against the private size of a chunk, and the chunk it is counted from is the
 * writer's private pointer. Whatever a server writes there, records go into the pool, or are lost.
 *
 * The ordering contract is in ring_abi.h; its letters are cited here and in write.c.
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
 * One thread's private part; events use its first line. Lies in memory that a forked child finds
 * zeroed (MADV_WIPEONFORK), so that a child made behind our back has a slot of NULL here and never
 * writes its parent's pool.
 *	[t] stored by the owning thread with signals blocked, read by it and its handlers
 *	[a] atomic: the same, and read by other threads
 */
struct ring_writer {
	struct kprof_slot *slot; /* [t] shared; NULL: not a writer (any more) */
	char *chunk;		 /* [t] shared: the chunk that slot->pos is about; always one of the pool */
	_Atomic uint32_t units;	 /* [t] of a chunk, in 8 bytes; 0: not a writer, or told to leave */
	uint32_t index;		 /* [t] of the slot */
	uint32_t clock;		 /* [t] enum kprof_pool_clock */
	uint32_t holds;		 /* [t] it has a chunk */
	int64_t clock_offset_ns; /* [t] from our CLOCK_MONOTONIC to the first time namespace's */
	uint64_t stretch;	 /* [t] the number of the stretch's first event: what slot->base says */
	uint32_t chunk_index;	 /* [t] of the chunk that it has */
	_Atomic uint32_t tid;	 /* [a] of its thread; stored before `live` is set */
	_Atomic uint64_t serial; /* [a] the same */
	uint64_t first, dropped; /* [t] what the slot says */
	_Atomic uint32_t live;	 /* [a] its thread may write */
} __attribute__((aligned(64)));

/*
 * A pool as its program knows it.
 *	[i] invariant after ring_pool_init	[a] atomic
 */
struct ring_pool {
	struct kprof_pool *shared;	/* [i] the header and counters, in shared memory */
	struct kprof_slot *slots;	/* [i] shared */
	struct kprof_chunk *heads;	/* [i] shared */
	char *data;			/* [i] shared */
	struct kprof_pool layout;	/* [i] a private copy of the header */
	struct ring_writer *writers;	/* [i] one a slot; wiped in a forked child */
	_Atomic uint64_t *chunk_since;	/* [a] one a chunk; see write.c */
	_Atomic uint64_t *slot_since;	/* [a] one a slot */
	_Atomic uint64_t *chunk_serial; /* [a] one a chunk: the thread that had it last */
	/* [a] one a chunk: what its head says; changed by who has the chunk, before it is given back */
	_Atomic uint64_t *chunk_ticket, *chunk_word;
	_Atomic uint64_t tickets;	/* [a] chunks taken so far */
	_Atomic uint64_t since;		/* [a] the last number given in either */
	_Atomic uint64_t given;		/* [a] how often a chunk or slot was given back */
	_Atomic uint64_t serial;	/* [a] of the last thread */
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
	return 0; /* no pool has this clock */
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

/* Bytes of private memory that a pool of this layout needs for ring_pool_init. */
size_t ring_pool_private_bytes(const struct kprof_pool *layout);

/*
 * Lays a pool out in `shared` (layout->pool_bytes, zeroed) with `private_memory` beside it (zeroed, page
 * aligned, wiped on fork). Both stay the caller's and must outlive all writers. Not thread-safe.
 */
void ring_pool_init(struct ring_pool *pool, const struct kprof_pool *layout, void *shared,
	void *private_memory, int64_t clock_offset_ns);

/*
 * Makes the calling thread a writer. NULL when no slot is free (count the event with
 * ring_pool_starved). The result is the thread's until ring_writer_end; it may have no chunk yet.
 */
struct ring_writer *ring_writer_begin(struct ring_pool *pool);

/* The thread ends: gives chunk and slot back. The writer must not be used again. */
void ring_writer_end(struct ring_pool *pool, struct ring_writer *writer);

/* Ends the writers whose threads no longer exist. Returns how many. For when no slot is free. */
unsigned ring_pool_reap(struct ring_pool *pool);

/* An event that found no slot. */
void ring_pool_starved(struct ring_pool *pool);

/*
 * Another pool has taken this one's place: each writer's next ring_reserve fails, and its thread is
 * to end it and begin in the other. May run beside anything: a thread that is about to begin here finds
 * the other pool when it looks for it after ring_writer_begin, or its writer is among those that fail.
 */
void ring_pool_leave(struct ring_pool *pool);

/* Gives the writer a chunk with room for `units` more. false: the event is dropped and counted. */
bool ring_writer_switch(struct ring_pool *pool, struct ring_writer *writer, uint32_t units);

/* A reserved stretch: from ring_reserve or ring_take to ring_commit. */
struct ring_room {
	uint64_t pos; /* the slot's, before */
	uint64_t stamp;
	uint64_t *words; /* the record; [0] stamp, [1] head, [2..] the caller's */
	uint32_t units;
};

/* C of the ordering contract. false: a handler that came since pos was read has moved it. */
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
 * Reserves `units` (2 at least, head included, KPROF_RECORD_MAX / 8 at most). false: the writer's
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
		room->pos = atomic_read_relaxed(SHARED_64(&slot->pos)); /* ours alone */
		/* relaxed: who is told to leave may as well do it an event later */
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
 * The same in two steps and without a call, for pools whose clock is the counter. `slot` has been
 * writer->slot once. Between the two the caller finds out how large the record is. ring_take
 * returns false also when the slot is the writer's no longer, or a handler came between: then, too,
 * ring_reserve knows more.
 *
 * Why in two, and why the caller keeps the slot: a processor begins to read the counter when all
 * earlier instructions have their results, and takes long. What can wait is done behind it, meanwhile.
 */
static inline void ring_look(const struct kprof_slot *slot, struct ring_room *room)
{
	room->pos = atomic_read_relaxed(SHARED_64(&slot->pos)); /* ours alone */
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

/* Publishes the record. The caller has stored words[2..]. what: KPROF_HEAD(0, flags, id, 0, 0). */
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
	/* E; the slot stays this thread's until it ends, whatever handlers did in between */
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
