/* SPDX-License-Identifier: MIT */
/*
 * The programs whose events the trace holds: those that are attached, and those that have ended and
 * whose memory is still kept.
 *
 * Who changes it: the listener's thread adds programs, gives them events and ends them. Who reads
 * it: any thread takes references and reads the pools with them. What a reader may look at without
 * a lock is said at each member. A pool's memory is never mapped, only copied out of (ring/read.h).
 *
 * What a program may occupy is bounded, for itself, for its user and for the server (struct
 * producers_limits). What the dead leave is kept until that is reached: then the oldest goes, of
 * the user who has most.
 */
#ifndef KPROFS_PRODUCERS_PRODUCERS_H
#define KPROFS_PRODUCERS_PRODUCERS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <kprof/attach_abi.h>

#include "base/atomic.h"
#include "base/err.h"
#include "base/stats.h"
#include "ring/read.h"

struct catalog;
struct catalog_event;
struct producers;

/* ---- for who reads --------------------------------------------------------------------------- */

/* What an id of a program means. Made once; freed with the program. i: invariant */
struct producer_event {
	uint32_t number;	/* i: of the event (events/info); 0: a text of kprof_printf */
	uint8_t kind;		/* i: enum kprof_event_kind */
	bool show_provisional;	/* i: it was switched on when the program said that it has it */
	bool held;		/* the listener's: the program has it now */
	const char *label;	/* i: "provider:event"; "" for texts */
	const char *format;	/* i: NUL-terminated, checked by args_plan(); "": in the record */
	const struct catalog_event *event; /* i; NULL: none of its own */
};

#define PRODUCER_BLOCK 256u /* ids */

/*
 * i: invariant once it is in the list; a: atomic, written by the listener; c: a count of references
 */
struct producer {
	_Atomic unsigned int references;	/* c */
	struct producers *producers;		/* i */
	uint64_t serial;			/* i: of the programs of this server, never used twice */
	pid_t pid;				/* i: the kernel's word */
	uid_t uid;				/* i: the kernel's word */
	char program[KPROF_PROGRAM_MAX];	/* i: the program's word, made printable */
	struct ring_reader reader;		/* i: with a descriptor of its own */
	_Atomic bool ended;			/* a: nothing will be written any more */
	struct producer_event texts[KPROF_ID_FIRST]; /* i: ids 0 and 1 */
	/* a: NULL, or PRODUCER_BLOCK pointers for good; each a: NULL or for good */
	struct producer_event *_Atomic *_Atomic blocks[KPROF_ID_LIMIT / PRODUCER_BLOCK];
};

struct producer *producer_get(struct producer *producer);
/* The last reference closes the memory. */
void producer_put(struct producer *producer);
/* NULL: the program never said what this id means, or it was refused. */
const struct producer_event *producer_event(const struct producer *producer, uint16_t id);

/* All programs, by serial; each with a reference, which the array's free function puts. */
GPtrArray *producers_all(struct producers *producers);

/*
 * When the trace was cleared last, CLOCK_MONOTONIC: events stamped before belong to no reading
 * any more. 0: never.
 */
uint64_t producers_cleared_ns(struct producers *producers);

/* ---- for who wires and clears ---------------------------------------------------------------- */

struct producers_limits {
	unsigned int programs, user_programs; /* attached, in all and of one user */
	uint64_t bytes, user_bytes;	      /* of their pools */
	uint64_t ids, user_ids;		      /* of their events */
	unsigned int kept_programs;	      /* that have ended: how many, */
	uint64_t kept_bytes;		      /* the memory that they use, a fourth of its size at least */
};

/* The defaults: `descriptors` is how many the process may open, `memory` what the machine has. */
void producers_limits_init(struct producers_limits *limits, uint64_t descriptors, uint64_t memory);

struct producers *producers_create(struct catalog *catalog, const struct producers_limits *limits);
/* Nobody has a reference any more. */
void producers_destroy(struct producers *producers);

/*
 * Forgets all events: those stamped before now, and all of programs that have ended. What programs
 * that discard have written may be overwritten; the listener tells them (producer_clear_ticket).
 */
void producers_clear(struct producers *producers);

/*
 * Sums over all programs that ever attached; events. Reads all pools: some 10 us a program. A
 * program may close its descriptor and go on writing: what it writes until its memory is let go
 * counts, too.
 */
struct producers_totals {
	uint64_t written;     /* begun and given a place */
	uint64_t overwritten; /* of them in no pool any more, without a clear in between */
	uint64_t dropped;     /* given no place: no chunk, no slot */
	uint64_t torn;	      /* begun and not finished when their program ended */
	uint64_t cleared;     /* forgotten by a clear before they were overwritten */
	uint64_t attached, kept; /* programs now */
	uint64_t slow_clocks; /* of both, those whose stamps are not made by the CPU's counter */
	uint64_t pool_bytes;  /* the pools of both */
	uint64_t kept_bytes;  /* the memory that the dead use */
	uint64_t ever;	      /* programs that attached since the mount */
	uint64_t liars;	      /* programs whose memory counted what can't be */
	uint64_t refused;     /* programs and events that a bound, a format or a name kept out */
};
void producers_total(struct producers *producers, struct producers_totals *totals);

/*
 * ---- for the listener: one thread -------------------------------------------------------------
 */

struct producer_identity {
	pid_t pid;
	uid_t uid;
	const char *program; /* as it says, KPROF_PROGRAM_MAX bytes with or without NUL */
};

/*
 * A program said HELLO. Takes the descriptor, unless it fails. Its owner is the list; the caller
 * gets a reference of its own. The memory of an earlier attachment of this process, or of a dead
 * one, goes on under the new name; what it has counted is not counted twice.
 *
 * -EINVAL: no pool; -EBUSY: another program's pool; -EDQUOT, -ENOSPC: more than the user, the
 * server may have; each with a sentence, and counted in refused.
 */
int producers_attach(struct producers *producers, const struct producer_identity *identity,
	int pool_fd, struct producer **producer, struct err *err);

/*
 * The program says what an id means. -EPROTO: another thing than it said before, or no event kind:
 * it does not speak the protocol. -EINVAL, -EEXIST, -EDQUOT, -ENOSPC: this event is refused, stays
 * off and is counted; with a sentence. `label`: "" for kinds without a name.
 */
int producer_define(struct producer *producer, uint16_t id, uint8_t kind, const char *label,
	const char *format, struct err *err);
/* Its last place of use is gone. An unknown id: nothing. */
void producer_undefine(struct producer *producer, uint16_t id);
/* What the program is to test for this id. */
bool producer_is_on(const struct producer *producer, uint16_t id);

/*
 * The program, or its connection, has ended. Twice is once. lives_on: the program has not, and may
 * write still to the memory that it has mapped, as one that closed all its descriptors: then this
 * is kept also if there is nothing in it yet.
 */
void producer_end(struct producer *producer, bool lives_on);

/* The newest ticket of the pool at the last clear since it attached, 0: there was none. */
uint64_t producer_clear_ticket(struct producer *producer);

/*
 * The memory counted what can't be. Its numbers stand as they were before that, and it is to be
 * detached: the reason, once; NULL: nothing was found, or it was taken before.
 */
const char *producer_take_lie(struct producer *producer);
/* Is called when one is found: from any thread, under a lock of producers. NULL: no more. */
void producers_on_liar(struct producers *producers, void (*on_liar)(void *arg), void *arg);

/* An event that its own program refuses. */
void producers_count_refused(struct producers *producers);

#endif
