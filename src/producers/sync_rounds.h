/* SPDX-License-Identifier: MIT */
/*
 * Writes that wait until the programs have taken a change of the switches, in rounds.
 *
 * A round holds the writes that came since the round before it began. Its number goes to the
 * programs as that of a SYNC packet (attach_abi.h), behind what changed; the round ends when each
 * program that was asked has answered or has gone, or SYNC_ROUNDS_WAIT_MS after its oldest write
 * came. A program that has been told nothing since its last answer is not asked.
 *
 * A write adds and cancels itself from any thread. All else is the listener's.
 */
#ifndef KPROFS_PRODUCERS_SYNC_ROUNDS_H
#define KPROFS_PRODUCERS_SYNC_ROUNDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A program answers within a fraction of a millisecond when it is given a CPU. */
#define SYNC_ROUNDS_WAIT_MS 100

struct sync_rounds;

/* Lies in what waits, which has zeroed it. All but done: private to sync_rounds.c. */
struct sync_waiter {
	/*
	 * The round has ended. In the listener's thread, without a lock; the waiter is the
	 * callee's. late: NULL, or the programs that did not answer in time, as a sentence.
	 */
	void (*done)(struct sync_waiter *waiter, const char *late);
	uint64_t since_ns; /* when it was added; CLOCK_MONOTONIC */
	uint64_t round;	   /* 0: not yet in one */
	GList link;
};

struct sync_rounds *sync_rounds_create(void);
/* Nobody waits any more. */
void sync_rounds_destroy(struct sync_rounds *rounds);

/* From any thread; the listener is to be woken then. false: closed, done will not be called. */
bool sync_rounds_add(struct sync_rounds *rounds, struct sync_waiter *waiter);
/*
 * The waiter waits no more. From any thread. false: its round is ending, and done is or will be
 * called.
 */
bool sync_rounds_cancel(struct sync_rounds *rounds, struct sync_waiter *waiter);

/* Begins a round of those that were added; its number, or 0: there is none. */
uint64_t sync_rounds_begin(struct sync_rounds *rounds);
/* The newest round that began: a program that attaches now takes part from the next one on. */
uint64_t sync_rounds_newest(const struct sync_rounds *rounds);
/* One more program is to answer the newest round. */
void sync_rounds_ask(struct sync_rounds *rounds);
/* A program that had answered up to round `from` now has up to `to`, or never will. */
void sync_rounds_answered(struct sync_rounds *rounds, uint64_t from, uint64_t to);

/* The oldest round that can end: all have answered, or (*late) its time is over. 0: none. */
uint64_t sync_rounds_due(struct sync_rounds *rounds, uint64_t now_ns, bool *late);
/* When the next round's time is over, CLOCK_MONOTONIC; 0: nobody waits. */
uint64_t sync_rounds_deadline_ns(const struct sync_rounds *rounds);
/* Ends it: calls done of its writes. */
void sync_rounds_end(struct sync_rounds *rounds, uint64_t number, const char *late);
/* Ends all; whoever comes later does not wait. */
void sync_rounds_close(struct sync_rounds *rounds);

#endif
