/* SPDX-License-Identifier: MIT */
/*
 * The thread that talks with programs: takes their connections, and what they say, and tells them
 * which events are on. It sleeps until somebody says something or a switch changes; how many events
 * programs write is nothing that it hears of.
 *
 * It believes nothing: a program that does not keep to the protocol is detached, counted, and
 * reported; one that sends too much, or greets too late, too. What it does for one program at a
 * time is bounded, and nothing it does waits for one.
 */
#ifndef KPROFS_PRODUCERS_LISTENER_H
#define KPROFS_PRODUCERS_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/stats.h"

struct listener;
struct producers;
struct sync_waiter;

struct listener_options {
	unsigned int connections, user_connections; /* at once, in all and of one user */
	/*
	 * Of one process. A program has one, and another one for each copy of libkprof.a in a
	 * library of its own; while it executes itself anew, twice as many.
	 */
	unsigned int process_connections;
	unsigned int hello_ms; /* who has not greeted by then is sent away */
	/*
	 * Packets that a program may send at once, and then in each second. Its library sends less
	 * than 1000 for all the events that it can have, and two when a library comes and goes.
	 */
	unsigned int packets, packets_per_s;
	/*
	 * That are passed on at once of a user's programs, and then one a second; of a single
	 * program half of them, so that others can be heard.
	 */
	unsigned int reports;
	/*
	 * CPU time of the listener's thread that is used for a user's programs at once, and then in
	 * each second. Who has used it up is served later, also at new connections.
	 */
	uint64_t user_burst_ns, user_ns_per_s;
	/* In the listener's thread: why a program, or an event, is refused. program: any bytes. */
	void (*report)(void *arg, pid_t pid, uid_t uid, const char *program, const char *reason);
	void *arg;
};

/* All but report and arg. `programs`: how many may be attached (producers_limits). */
void listener_options_init(struct listener_options *options, unsigned int programs,
	unsigned int user_programs);

/* fd: a listening, non-blocking socket, which stays the caller's. Starts the thread "kp-listen". */
int listener_create(struct producers *producers, int fd, const struct listener_options *options,
	struct listener **listener);

/* Ends the connections and the thread; listener_kick may still be called. Twice is once. */
void listener_stop(struct listener *listener);
void listener_destroy(struct listener *listener);

/* A switch has changed, or the trace was cleared. From any thread; never blocks. */
void listener_kick(struct listener *listener);

/*
 * Waits, in the sense of sync_rounds.h, until the programs have taken all changes up to now. false:
 * the listener ends or has ended, nobody is to be waited for, and done will not be called.
 */
bool listener_sync(struct listener *listener, struct sync_waiter *waiter);
/* false: done is or will be called. */
bool listener_sync_cancel(struct listener *listener, struct sync_waiter *waiter);

/* Adds trace.connections, trace.detached, trace.sync_timeouts. From any thread. */
void listener_print_stats(struct listener *listener, struct stats *stats);

#endif
