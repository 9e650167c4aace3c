/* SPDX-License-Identifier: MIT */
/*
 * The state of the listener; included by listener*.c only. All functions are called by the thread
 * of the listener.
 */
#ifndef KPROFS_PRODUCERS_LISTENER_STATE_H
#define KPROFS_PRODUCERS_LISTENER_STATE_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "producers/listener.h"
#include "producers/acceptor.h"
#include "producers/admission.h"
#include "producers/receivers.h"
#include "producers/connection.h"
#include "producers/user_limits.h"
#include "producers/user_turns.h"

/* The pause before the next accept when descriptors, memory or the acceptor are missing. */
#define LISTENER_PAUSE_MS 1000

struct closing;
struct sync_rounds;

/* One accepted socket: its connection (protocol), limits and turns. */
struct listener_peer {
	int fd;		 /* -1 if it was dropped */
	struct accepted accepted;
	bool wants_room; /* the socket is full: wait for EPOLLOUT */
	uint64_t packets;
	struct connection connection;
	struct admission_entry entry;
	struct user_turn turn;
	GList link;	 /* in all, or in dropped */
	bool receiving;	 /* a receiver takes the next packet; nothing else is read meanwhile */
	GList waits;	 /* in `waiting`, while data is set */
};

/* i: invariant; a: atomic; all others belong to the thread */
struct listener {
	struct producers *producers;	 /* i */
	struct listener_options options; /* i */
	struct acceptor *acceptor;
	bool acceptor_sends;		 /* it is watched for room in the socket to it */
	int epoll;			 /* i */
	int bell;			 /* i: wakes the thread */
	pthread_t thread;		 /* i */
	bool running;			 /* of the thread that creates and stops */
	_Atomic bool stopping;		 /* a */
	_Atomic bool corrupt;		 /* a: there may be newly found corrupt producers */
	_Atomic uint64_t connections;	 /* a */
	_Atomic uint64_t detached;	 /* a */
	_Atomic uint64_t marks_refused;	 /* a */
	_Atomic uint64_t sync_timeouts;	 /* a */
	struct sync_rounds *rounds;	 /* i; has its own lock */
	struct receivers *receivers;	 /* i */
	GQueue all;			 /* of struct listener_peer */
	GQueue dropped; /* dropped, but the current batch of epoll events may point to them */
	struct closing *closing;	 /* i */
	struct user_turns *turns;		 /* i */
	_Atomic uint64_t deferred;	 /* a */
	GQueue waiting; /* of struct listener_peer: those for which no receiver is free */
	struct admission *admission;	 /* of the peers in all */
	bool paused;			 /* no accepts: descriptors, memory or the acceptor are missing */
	uint64_t paused_until_ns;	 /* while paused: when accepting is tried again */
	struct user_limits *reports, *marks; /* i */
	char in[KPROF_PACKET_MAX] __attribute__((aligned(8)));
	char out[KPROF_PACKET_MAX] __attribute__((aligned(8)));
};

/* ---- listener_accept.c: accepting and dropping connections ----------------------------------- */

/* Reports why something of this producer is refused, unless its user has had too many reports. */
void listener_report(
	struct listener *listener, const struct connection *connection, const char *reason);
/* epoll_ctl; -errno */
int listener_watch(struct listener *listener, int operation, int fd, uint32_t events, void *data);
/* Tries again to accept; the pause goes on if that fails. */
void listener_end_pause(struct listener *listener);
void listener_accept(struct listener *listener);
/* Sends to the acceptor what could not be sent yet, and watches for room where that fails. */
void listener_send_to_acceptor(struct listener *listener);
/* Charges the user with the CPU time of the thread since clock_thread_ns() was begin_ns. */
void listener_charge(
	struct listener *listener, const struct connection *connection, uint64_t begin_ns);
struct listener_peer *listener_peer_at(struct admission_entry *entry);
struct receivers_owner listener_owner_of(const struct listener_peer *peer);
/*
 * Sockets are watched with EPOLLONESHOT: watches this one again, unless a receiver is at work on
 * it.
 */
void listener_rearm(struct listener *listener, struct listener_peer *peer);
/* Ends the connection; its memory is freed after the current batch of epoll events. */
void listener_drop(struct listener *listener, struct listener_peer *peer);
/* The same with a reason, which is counted and reported. */
void listener_detach(struct listener *listener, struct listener_peer *peer, const char *reason);

/* ---- listener_packets.c: sending and receiving ----------------------------------------------- */

/* Sends all packets that are due, until the socket is full. */
void listener_send(struct listener *listener, struct listener_peer *peer);
void listener_send_all(struct listener *listener);
/* Ends the rounds that are due, which answers their writes. */
void listener_end_rounds(struct listener *listener);
/* ms until the deadline of a round; -1 if there is none. */
int listener_round_ms(struct listener *listener);
/*
 * Receives one packet. Returns true if there may be more. The connection may have ended; its fd is
 * then -1.
 */
bool listener_receive(struct listener *listener, struct listener_peer *peer);
/* Takes the packets that the receivers have received. */
void listener_take_received(struct listener *listener);

#endif
