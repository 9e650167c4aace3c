/* SPDX-License-Identifier: MIT */
/*
 * The shared memory of a producer (a traced program), its pool: the only definition of its bytes.
 *
 * A program that attaches to a server makes one memfd, its pool, maps it, seals it (F_SEAL_SHRINK,
 * F_SEAL_GROW, F_SEAL_SEAL, and since Linux 5.1 F_SEAL_FUTURE_WRITE) and sends the descriptor over
 * the socket (attach_abi.h). Only the program writes to it. The server copies from it by pread and
 * trusts nothing that it reads. Without the last seal a server could write to it, so the program
 * also keeps all values on which it depends in private memory (ring/write.h). libkprof(3) describes
 * the functions that write events; this header has none.
 *
 *	0            struct kprof_pool         what this is, and the pool's own counters
 *	slot_offset  struct kprof_slot [n]     one for each thread that writes
 *	head_offset  struct kprof_chunk [m]    one for each chunk: its owner and its valid length
 *	data_offset  chunk_bytes [m]           the chunks: records, one after the other
 *
 * Why chunks. The size of a ring for each thread would have to be fixed before the number of
 * threads is known, and 64 threads would share 1 MiB whether they write or sleep. A ring for each
 * CPU needs either a locked instruction for each event or restartable sequences, and a writer that
 * is stopped between reserve and commit blocks all other writers of its CPU. So a thread takes a
 * chunk from the pool, is its only writer and fills it from front to back. Then it takes the next:
 * an unused one, or the one that has been full for longest (flight recorder), or none (discard).
 * Threads contend once for each chunk, which is some hundred events. The pool holds the newest
 * events of all threads. No record wraps, and a chunk is overwritten as a whole or not at all; a
 * reader detects that by one number, the ticket.
 *
 * Ownership. A slot belongs to a thread from its first event to its end; no other thread stores
 * into it while the thread lives. A chunk with state HELD belongs to the thread of its slot; in
 * every other state its head and data do not change. A chunk that a thread leaves half empty at its
 * end (PARTIAL) is continued by the next thread that starts, so that many short threads share
 * chunks. Every stretch of one thread begins with a RUN record that identifies the thread.
 *
 * An event. The writer reads slot.pos, reads the time, and moves pos with one compare-and-exchange
 * that only has to be atomic against this thread's own signal handlers (on x86 the instruction
 * without the lock prefix). If a handler ran in between, it has moved pos, and the writer tries
 * again with a new time. So room is reserved in the order of timestamps. Then the values are
 * stored, and after them the record's head word, which commits the record. slot.done counts
 * commits.
 *
 * The ordering contract. On the left the thread of the program, on the right any reader, in this or
 * another process. tests/race/commit.pml is a model of it for a model checker, which shows that
 * each letter is needed.
 *
 *	WRITER                                          READER
 *	gives its full chunk back:
 *	  head.word = FULL or PARTIAL, end,             slots, slots again; heads until twice the
 *	    count; release                        (F)     same, so of one moment                (b)
 *	  slot.pos = no chunk; release                  data = copy, up to head.end or, where the
 *	takes the next:                                   slot's pos names the chunk, up to pos
 *	  head.word = HELD, end 0, count 0              records with their head word: committed (d)
 *	  head.ticket = T; both release                 not all there: data = copy again, and take
 *	  release fence                           (A)     the values of the committed from this
 *	  the RUN record                                acquire fence
 *	  slot.pos = T, offset; release           (B)   head.ticket = copy                      (a)
 *	an event:                                       another ticket: the chunk was taken
 *	  slot.pos += size; against signals only  (C)     again; discard the copy
 *	  time and values
 *	  the record's head word; release         (D)
 *	  slot.done += 1; release                 (E)
 *
 * A with a: a reader that saw a byte of the new stretch sees the new ticket. B with b: a reader
 * that saw the position sees the head and the RUN record before it. D with d: a reader that saw the
 * head word in one copy has the values in the next. E with b: if done of the first copy equals what
 * the second copy has reserved, all of it is committed, and one copy of the data is enough. F with
 * b: a reader that saw the state sees end and count. C needs no order: only this thread and its
 * handlers compete for pos, and readers use what is below it only after D. Threads of the program
 * pass a chunk to each other through a word of private memory (release when it is given back,
 * acquire when it is taken; write.c).
 *
 * When a step fails or never happens. Killed after C and before D: the record has no head word; the
 * reader skips it up to the next record (by the tag) and counts it as torn. Killed after D: the
 * event is whole. Killed while changing chunks: the old one is FULL already; the new one is HELD by
 * a slot whose pos does not name it, and is valid up to the end in its head. A handler that leaves
 * an event by longjmp leaves it torn, and its chunk is not taken again while the thread lives. If no
 * chunk can be taken, the event is counted in dropped of its slot; without a slot, in pool.starved.
 * Strings are cut so that a record fits in KPROF_RECORD_MAX.
 *
 * Counts. The numbers of a slot only grow, through all threads that had it; `first` of the slot is
 * where its present thread began. So slot and number identify an event permanently.
 * reserved = base + (count in pos - base, modulo 2^14): it is the same before and after base and
 * pos are updated at a change of chunk. For every slot, and so for every thread:
 *
 *	begun = reserved + dropped = in the chunks (read or torn) + overwritten + dropped
 *
 * overwritten needs no counter: it is the number of events that were reserved and are in no chunk
 * any more.
 *
 * Numbers are in the byte order of the machine. Fields are only appended (in the reserved space); a
 * change of meaning gets a new version. For C and C++; needs libc only.
 */
#ifndef KPROF_RING_ABI_H
#define KPROF_RING_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define KPROF_ABI_ASSERT(c) static_assert(c, #c)
#else
#define KPROF_ABI_ASSERT(c) _Static_assert(c, #c)
#endif

#define KPROF_POOL_MAGIC 0x6c6f6f70666f7270ull /* "profpool" in memory of a little-endian machine */
#define KPROF_POOL_VERSION 1

/* Limits that readers enforce. */
#define KPROF_POOL_BYTES_MIN (64u << 10)
#define KPROF_POOL_BYTES_MAX (64u << 20)
#define KPROF_CHUNK_BYTES_MIN (8u << 10)
#define KPROF_CHUNK_BYTES_MAX (64u << 10)
#define KPROF_CHUNKS_MAX 1024u
#define KPROF_SLOTS_MAX 1024u
#define KPROF_POOL_PAGE 4096u /* the page size of the layout, on every machine */

/* The source of timestamps. */
enum kprof_pool_clock {
	KPROF_CLOCK_COUNTER = 1,   /* the CPU's time counter (rdtsc) */
	KPROF_CLOCK_MONOTONIC = 2, /* CLOCK_MONOTONIC of the first time namespace, in ns */
};

enum kprof_pool_mode {
	KPROF_MODE_OVERWRITE = 0, /* flight recorder: the newest events are kept */
	KPROF_MODE_DISCARD = 1,	  /* the oldest events are kept until the trace is cleared */
};

/* Offset 0. The first cache line does not change after the pool was sent to a server. */
struct kprof_pool {
	uint64_t magic;
	uint32_t version;
	uint32_t pool_bytes; /* of the whole file */
	uint32_t slot_offset, slot_count;
	uint32_t head_offset, chunk_count;
	uint32_t data_offset, chunk_bytes;
	uint32_t clock; /* enum kprof_pool_clock */
	uint32_t mode;	/* enum kprof_pool_mode */
	/* the same moment on both clocks, when the pool was made; counter 0 if not known */
	uint64_t anchor_counter, anchor_ns;

	/* The second cache line: threads add to it when they change chunk, never for an event. */
	uint64_t tickets; /* chunks taken so far */
	uint64_t starved; /* events of threads that found no slot */
	uint64_t reserved[6];
};

/*
 * slot.pos, from the low bits up: offset in units of 8 bytes, ticket (its low bits; 0 if the slot has
 * no chunk), events reserved (its low bits). The last may overflow: nothing is above it.
 */
#define KPROF_POS_OFFSET_BITS 14
#define KPROF_POS_TICKET_BITS 36
#define KPROF_POS_COUNT_BITS 14
#define KPROF_POS_COUNT_SHIFT (KPROF_POS_OFFSET_BITS + KPROF_POS_TICKET_BITS)
#define KPROF_TICKET_MASK ((1ull << KPROF_POS_TICKET_BITS) - 1)
#define KPROF_COUNT_MASK ((1ull << KPROF_POS_COUNT_BITS) - 1)
#define KPROF_POS_OFFSET(pos) ((uint32_t)((pos) & ((1u << KPROF_POS_OFFSET_BITS) - 1)))
#define KPROF_POS_TICKET(pos) ((pos) >> KPROF_POS_OFFSET_BITS & KPROF_TICKET_MASK)
#define KPROF_POS_COUNT(pos) ((pos) >> KPROF_POS_COUNT_SHIFT)
#define KPROF_POS_ONE (1ull << KPROF_POS_COUNT_SHIFT)
#define KPROF_POS(offset, ticket, count) \
	((uint64_t)(offset) | ((ticket) & KPROF_TICKET_MASK) << KPROF_POS_OFFSET_BITS | \
		(uint64_t)(count) << KPROF_POS_COUNT_SHIFT)
/* events reserved in a slot so far */
#define KPROF_RESERVED(base, pos) ((base) + ((KPROF_POS_COUNT(pos) - (base)) & KPROF_COUNT_MASK))

enum kprof_slot_state {
	KPROF_SLOT_FREE = 0, /* never used */
	KPROF_SLOT_LIVE = 1, /* its thread may write */
	KPROF_SLOT_ENDED =
		2, /* its thread has ended; the numbers stay until the slot is used again */
};

/* Two cache lines each, since processors fetch lines in pairs. Every event writes to the first. */
struct kprof_slot {
	uint64_t pos;	       /* see above */
	uint64_t done; /* number of reserved events that are committed or given up as torn */
	uint64_t base;	       /* events reserved before the present stretch, or up to pos */
	uint64_t dropped;      /* events dropped: no chunk was free */
	uint64_t serial;       /* of the thread in this pool: 1, 2, ...; never used twice */
	uint32_t tid;	       /* as gettid(2) returns it in the program */
	uint32_t state;	       /* enum kprof_slot_state */
	uint32_t chunk;	       /* index of the chunk of pos */
	uint32_t reserved32;
	uint64_t reserved64;
	uint64_t first, first_dropped; /* what base and dropped were when this thread began */
	uint64_t reserved[6];
};

enum kprof_chunk_state {
	KPROF_CHUNK_FREE = 0, /* never used: ticket 0 */
	KPROF_CHUNK_HELD = 1,
	KPROF_CHUNK_FULL = 2,	 /* given back; the first one given back is taken first */
	KPROF_CHUNK_PARTIAL = 3, /* given back with room for the next thread */
};

/*
 * The head of a chunk. `word` is stored as a whole: state:8; slot:16 of the thread that holds it,
 * or held it last; end:16, how far it was filled when it was given back last, in units of 8 bytes;
 * count:24, the events reserved in it by stretches that have ended.
 */
struct kprof_chunk {
	uint64_t ticket; /* unique for each time the chunk is taken from the front */
	uint64_t begun;  /* time when it was taken, by the clock of the pool: no timestamp in it is
			    older */
	uint64_t word;
	uint64_t reserved[5];
};
#define KPROF_CHUNK_WORD(state, slot, end, count)                                                  \
	((uint64_t)(state) | (uint64_t)(slot) << 8 | (uint64_t)(end) << 24 |                       \
		(uint64_t)(count) << 40)
#define KPROF_CHUNK_STATE(word) ((uint32_t)((word) & 0xff))
#define KPROF_CHUNK_SLOT(word) ((uint32_t)((word) >> 8 & 0xffff))
#define KPROF_CHUNK_END(word) ((uint32_t)((word) >> 24 & 0xffff))
#define KPROF_CHUNK_COUNT(word) ((uint32_t)((word) >> 40))

/*
 * A record: at a multiple of 8 bytes from the start of the chunk; `head` is stored last. The
 * arguments follow, in order: integers, pointers and doubles 8 bytes each (integers sign- or zero-
 * extended as C converts them); strings as a u16 length, the bytes without a NUL, and zeroes up to
 * a multiple of 8. The format of the event has the kind of each argument.
 */
struct kprof_record {
	uint64_t stamp;
	uint64_t head; /* units:12 flags:4 id:16 cpu:16 tag:16, from the low bits up */
};

#define KPROF_HEAD_UNITS(head) ((uint32_t)((head) & 0xfff)) /* size of the record, in 8 bytes */
#define KPROF_HEAD_FLAGS(head) ((uint32_t)((head) >> 12 & 0xf))
#define KPROF_HEAD_ID(head) ((uint32_t)((head) >> 16 & 0xffff))
#define KPROF_HEAD_CPU(head) ((uint32_t)((head) >> 32 & 0xffff))
#define KPROF_HEAD_TAG(head) ((uint32_t)((head) >> 48))
#define KPROF_HEAD(units, flags, id, cpu, tag) \
	((uint64_t)(units) | (uint64_t)(flags) << 12 | (uint64_t)(id) << 16 | \
		(uint64_t)(cpu) << 32 | (uint64_t)(tag) << 48)
/*
 * Distinguishes a record from older contents of the chunk, and marks where one begins. offset in
 * units of 8.
 */
#define KPROF_TAG(ticket, offset) ((uint16_t)((ticket) + (offset)))

#define KPROF_RECORD_PROVISIONAL 1u /* written before the first SWITCH of the event */
#define KPROF_RECORD_STACK                                                                         \
	2u /* after the arguments: u64 n, then n return addresses, innermost first */
#define KPROF_RECORD_CUT 4u	    /* a string was cut */
#define KPROF_RECORD_GOES_ON 8u	    /* the text is no whole line: of programs of probes/ only */

#define KPROF_CPU_UNKNOWN 0xffffu

#define KPROF_RECORD_MAX 4096u /* bytes, with its head */
#define KPROF_STRING_NULL 0xffffu /* length of a string argument that is a null pointer */

/*
 * Ids: 0 is a text whose format is in the record (u16 length, bytes, padding, then the arguments).
 */
#define KPROF_ID_TEXT 0u
#define KPROF_ID_TEXTX 1u /* the same, for the switch of kprof_printx */
#define KPROF_ID_FIRST 2u
#define KPROF_ID_LIMIT 16384u /* ids of events are below this */
/*
 * The end of a span: the id of the span plus this. Its one argument is the timestamp of the record
 * with which the span began, by the clock of the pool.
 */
#define KPROF_ID_SPAN_END KPROF_ID_LIMIT
#define KPROF_ID_RECORDS (KPROF_ID_SPAN_END + KPROF_ID_LIMIT) /* ids of all these are below this */
#define KPROF_ID_RUN 0xffffu

/* The first record of each stretch of one thread. It is not an event, and no count includes it. */
struct kprof_run {
	struct kprof_record record;
	uint64_t serial;  /* slot.serial */
	uint64_t base;	  /* slot.base: the number of the first event after this record */
	uint64_t first;	  /* slot.first */
	uint64_t dropped; /* slot.dropped */
	uint32_t tid;
	uint32_t slot;
};

KPROF_ABI_ASSERT(sizeof(struct kprof_pool) == 128);
KPROF_ABI_ASSERT(offsetof(struct kprof_pool, anchor_counter) == 48);
KPROF_ABI_ASSERT(offsetof(struct kprof_pool, tickets) == 64);
KPROF_ABI_ASSERT(sizeof(struct kprof_slot) == 128);
KPROF_ABI_ASSERT(offsetof(struct kprof_slot, tid) == 40);
KPROF_ABI_ASSERT(offsetof(struct kprof_slot, first) == 64);
KPROF_ABI_ASSERT(sizeof(struct kprof_chunk) == 64);
KPROF_ABI_ASSERT(offsetof(struct kprof_chunk, word) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_record) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_run) == 56);
KPROF_ABI_ASSERT(KPROF_CHUNK_BYTES_MAX / 8 < 1u << KPROF_POS_OFFSET_BITS);
KPROF_ABI_ASSERT(KPROF_RECORD_MAX / 8 < 1u << 12);

#ifdef __cplusplus
}
#endif

#endif
