/* SPDX-License-Identifier: MIT */
/*
 * The thread that serves the connections of producers: it takes them from the acceptor
 * (acceptor.h), receives their packets, and sends them the state of their switches. It sleeps until
 * a packet comes or a switch changes; how many events producers write does not wake it.
 *
 * No packet is trusted: a producer that breaks the protocol is detached, counted and reported, and
 * so is one that sends too many packets or no HELLO in time. The work for one producer at a time is
 * bounded, and nothing waits for a producer.
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
	unsigned int connections, user_connections; /* at a time: in all, and of one user */
	/*
	 * Of one process, at a time. A producer has one for each copy of libkprof.a in it, and one
	 * for the shared library; during exec, twice as many.
	 */
	unsigned int process_connections;
	unsigned int hello_ms; /* a connection without HELLO for so long is detached */
	/*
	 * Packets that a producer may send at once, and then in each second. libkprof sends less
	 * than 1000 for the most events that it can have, and two when a library is loaded and
	 * unloaded.
	 */
	unsigned int packets, packets_per_s;
	/*
	 * Reports about the producers of one user that are passed on at once; then one a second. A
	 * single producer gets at most half of them, so that others can be reported too.
	 */
	unsigned int reports;
	/*
	 * Messages (MARK) that a user may send at once; then one a second. Only root and the user
	 * `owner` may send more.
	 */
	unsigned int marks;
	uid_t owner;
	/*
	 * CPU time of the listener's thread that a user's producers may use at once, and then in
	 * each second. When it is used up they are served later, also on new connections.
	 */
	uint64_t user_burst_ns, user_ns_per_s;
	/*
	 * Called in the listener's thread when a producer, or an event, is refused. program: any
	 * bytes.
	 */
	void (*report)(void *arg, pid_t pid, uid_t uid, const char *program, const char *reason);
	/*
	 * Called in the listener's thread to put a message into the trace; it does not block. The
	 * text is one line of at most KPROF_MARK_MAX bytes, without NUL and newline. Returns 0 or
	 * -errno. If the function is NULL, messages are refused.
	 */
	int (*mark)(void *arg, pid_t pid, const char *text, size_t bytes);
	void *arg;
};

/*
 * Sets the defaults of all but owner, report, mark and arg. `programs`: how many may be attached
 * (producers_limits).
 */
void listener_options_init(struct listener_options *options, unsigned int programs,
	unsigned int user_programs);

/*
 * Starts the thread "kp-listen". fd is a listening, non-blocking socket, which the listener closes,
 * also if it cannot be created. `producers` must outlive the listener. Returns 0 or -errno.
 */
int listener_create(struct producers *producers, int fd, const struct listener_options *options,
	struct listener **listener);

/*
 * Closes the connections and joins the thread; listener_kick() may still be called. A second call
 * does nothing.
 */
void listener_stop(struct listener *listener);
/* listener_stop(), if it was not called, and frees. Does nothing for NULL. */
void listener_destroy(struct listener *listener);

/*
 * Called after a switch changed or the trace was cleared. Can be called from any thread; never
 * blocks.
 */
void listener_kick(struct listener *listener);

/*
 * Adds a waiter (sync_rounds.h) whose `done` is called when the producers have applied all changes
 * made so far. Can be called from any thread and does not block. Returns false if the listener is
 * ending or has ended; `done` will then not be called.
 */
bool listener_sync(struct listener *listener, struct sync_waiter *waiter);
/*
 * Ends the wait of a waiter. Can be called from any thread. Returns false if `done` is being called
 * or will be.
 */
bool listener_sync_cancel(struct listener *listener, struct sync_waiter *waiter);

/*
 * Adds trace.connections, trace.deferred, trace.detached, trace.marks_refused, trace.sync_timeouts. From
 * any thread.
 */
void listener_print_stats(struct listener *listener, struct stats *stats);

#endif
