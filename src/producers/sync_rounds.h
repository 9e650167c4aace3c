/* SPDX-License-Identifier: MIT */
/*
 * Writes that wait until the producers have applied a change of the switches, in rounds.
 *
 * A round has the writes that arrived after the previous round had begun. Its number is sent to the
 * producers in a SYNC packet (attach_abi.h), after the changes. The round ends when each producer
 * that was sent the SYNC has answered or has been detached, or SYNC_ROUNDS_WAIT_MS after its oldest
 * write. A producer to which nothing was sent since its last answer gets no SYNC.
 *
 * Writes are added and cancelled from any thread. All other functions are called by the thread of
 * the listener only. None blocks.
 */
#ifndef KPROFS_PRODUCERS_SYNC_ROUNDS_H
#define KPROFS_PRODUCERS_SYNC_ROUNDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A producer that runs on a CPU answers within a fraction of a millisecond. */
#define SYNC_ROUNDS_WAIT_MS 100

struct sync_rounds;

/* Embedded in what waits, which has zeroed it. All but done: private to sync_rounds.c. */
struct sync_waiter {
	/*
	 * The round has ended. Called in the listener's thread, without a lock; the waiter is the
	 * callee's. late: NULL, or a sentence that names the producers that did not answer in time.
	 */
	void (*done)(struct sync_waiter *waiter, const char *late);
	uint64_t since_ns; /* when it was added; CLOCK_MONOTONIC */
	uint64_t round;	   /* 0 if it is not yet in one */
	GList link;
};

struct sync_rounds *sync_rounds_create(void);
/* No write waits any more: sync_rounds_close() was called. Does nothing for NULL. */
void sync_rounds_destroy(struct sync_rounds *rounds);

/*
 * Adds a write, from any thread; then wake the listener. Returns false if the rounds are closed; then
 * done is not called.
 */
bool sync_rounds_add(struct sync_rounds *rounds, struct sync_waiter *waiter);
/*
 * Ends the wait of a write. Can be called from any thread. Returns false if its round is ending;
 * then `done` is being called or will be.
 */
bool sync_rounds_cancel(struct sync_rounds *rounds, struct sync_waiter *waiter);

/* Begins a round with the writes that were added. Returns its number, or 0 if there are none. */
uint64_t sync_rounds_begin(struct sync_rounds *rounds);
/* The newest round that began; a producer that attaches now takes part from the next one on. */
uint64_t sync_rounds_newest(const struct sync_rounds *rounds);
/* One more producer has to answer the newest round. */
void sync_rounds_ask(struct sync_rounds *rounds);
/* A producer that had answered up to round `from` has now answered up to `to`, or never will. */
void sync_rounds_answered(struct sync_rounds *rounds, uint64_t from, uint64_t to);

/* The oldest round that can end: all have answered, or (*late) its deadline has passed. 0 if none. */
uint64_t sync_rounds_due(struct sync_rounds *rounds, uint64_t now_ns, bool *late);
/* The next deadline, CLOCK_MONOTONIC ns; 0 if no round is open. */
uint64_t sync_rounds_deadline_ns(const struct sync_rounds *rounds);
/* Ends a round: calls done of its writes. */
void sync_rounds_end(struct sync_rounds *rounds, uint64_t number, const char *late);
/* Ends all rounds; sync_rounds_add() returns false from now on. */
void sync_rounds_close(struct sync_rounds *rounds);

#endif
