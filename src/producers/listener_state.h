/* SPDX-License-Identifier: MIT */
/* What the listener is made of; for the listener*.c only. All functions: its thread. */
#ifndef KPROFS_PRODUCERS_LISTENER_STATE_H
#define KPROFS_PRODUCERS_LISTENER_STATE_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "producers/listener.h"
#include "producers/admission.h"
#include "producers/receivers.h"
#include "producers/session.h"
#include "producers/user_turns.h"

struct closing;
struct sync_rounds;

struct connection {
	int fd;		 /* -1: dropped */
	bool wants_room; /* EPOLLOUT is waited for */
	uint64_t packets;
	struct session session;
	struct admission_entry place;
	struct user_turn turn;
	GList link;	 /* in all, or in dropped */
	bool asked;	 /* a receiver has the packet in front; nothing else is read meanwhile */
	GList waits;	 /* in waiting, while data is set */
};

/* i: invariant; a: atomic; all others are the thread's */
struct listener {
	struct producers *producers;	 /* i */
	struct listener_options options; /* i */
	int fd;				 /* i: where programs connect */
	int epoll;			 /* i */
	int bell;			 /* i: of the thread */
	pthread_t thread;		 /* i */
	bool running;			 /* who creates and stops */
	_Atomic bool stopping;		 /* a */
	_Atomic bool liars;		 /* a: there may be new ones */
	_Atomic uint64_t connections;	 /* a */
	_Atomic uint64_t detached;	 /* a */
	_Atomic uint64_t sync_timeouts;	 /* a */
	struct sync_rounds *rounds;	 /* i; has a lock of its own */
	struct receivers *receivers;	 /* i */
	GQueue all;			 /* of struct connection */
	GQueue dropped;			 /* no more of all; the events at hand may still name them */
	struct closing *closing;	 /* i */
	struct user_turns *turns;		 /* i */
	_Atomic uint64_t deferred;	 /* a */
	GQueue waiting;			 /* of struct connection: for a receiver */
	struct admission *places;        /* that these have */
	bool paused;			 /* no accepts for want of descriptors */
	struct reports *reports;
	char in[KPROF_PACKET_MAX] __attribute__((aligned(8)));
	char out[KPROF_PACKET_MAX] __attribute__((aligned(8)));
};

/*
 * ---- listener_accept.c: connections that come and go ------------------------------------------
 */

/* Passes on why something of this program is refused, if it may be said again already. */
void listener_report(struct listener *listener, const struct session *session, const char *reason);
/* epoll_ctl; -errno */
int listener_watch(struct listener *listener, int operation, int fd, uint32_t events, void *data);
/* Without descriptors no program is accepted for a while. */
void listener_pause(struct listener *listener, bool paused);
void listener_accept(struct listener *listener);
/* The thread has used CPU time since clock_thread_ns() was begin_ns for this program. */
void listener_charge(struct listener *listener, const struct session *session, uint64_t begin_ns);
struct connection *listener_connection_at(struct admission_entry *place);
struct receivers_owner listener_owner_of(const struct connection *connection);
/*
 * Each event is told once: who is to be heard again is armed again, but not while a receiver is at
 * it.
 */
void listener_arm(struct listener *listener, struct connection *connection);
/* The connection has ended; its memory stays until the events at hand are done with. */
void listener_drop(struct listener *listener, struct connection *connection);
/* The same with a reason, which is counted and reported. */
void listener_detach(struct listener *listener, struct connection *connection, const char *reason);

/*
 * ---- listener_talk.c: what is said and heard --------------------------------------------------
 */

/* All that the program does not know yet, until its socket is full. */
void listener_tell(struct listener *listener, struct connection *connection);
void listener_tell_all(struct listener *listener);
/* Answers the writes whose rounds have ended. */
void listener_end_rounds(struct listener *listener);
/* How long until a round's time is over; -1: nobody waits. */
int listener_round_ms(struct listener *listener);
/* One packet. true: there may be more; the connection may be gone (fd -1). */
bool listener_hear(struct listener *listener, struct connection *connection);
/* What the receivers have received. */
void listener_take_answers(struct listener *listener);

#endif
