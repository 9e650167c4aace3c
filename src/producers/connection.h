/* SPDX-License-Identifier: MIT */
/*
 * The protocol of one connection (attach_abi.h) without its socket: takes received packets, makes
 * packets to send. What a producer sends is not trusted, and is parsed from a copy.
 *
 * All functions are called by the thread of the listener only. None blocks.
 */
#ifndef KPROFS_PRODUCERS_CONNECTION_H
#define KPROFS_PRODUCERS_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <kprof/attach_abi.h>

#include "base/err.h"

struct producer;
struct producers;
struct connection;

/* Called when an event of the producer is refused; the connection continues. */
typedef void (*connection_refused)(
	void *arg, const struct connection *connection, const char *reason);

/* Called for a MARK: adds the message to the trace, or returns -errno. */
typedef int (*connection_mark)(
	void *arg, const struct connection *connection, const char *text, size_t bytes);

struct connection {
	struct producers *producers;
	pid_t pid; /* from SO_PEERCRED */
	uid_t uid; /* from SO_PEERCRED */
	connection_refused refused;
	connection_mark mark; /* NULL if messages are refused */
	/*
	 * NULL, or a flag that is read within a packet; if it is set, the rest of the packet is
	 * skipped
	 */
	const _Atomic bool *stop;
	void *arg;
	char program[KPROF_PROGRAM_MAX + 1]; /* as in HELLO; "?" before */
	struct producer *producer; /* a reference; NULL before HELLO */
	uint8_t *sent;		   /* what was sent of each id below `ids`: see connection.c */
	uint8_t *probed;	   /* the same for PROBE: 0 until 1 was sent */
	uint32_t ids;
	uint32_t scan, scan_probes; /* ids from here on may have a SWITCH, a PROBE to send; ids: none */
	bool welcome;		   /* WELCOME is to be sent */
	bool marked;		   /* MARKED with mark_error is to be sent */
	int mark_error;		   /* 0 or -errno */
	bool hung_up; /* closed by the producer, not by the server; its process may still exist */
	uint64_t clear_ticket;	   /* as sent last */
	/*
	 * Rounds (sync_rounds.h): the newest that is wanted, was sent in SYNC, came back in SYNCED.
	 */
	uint64_t sync_wanted, sync_sent, sync_answered;
	bool unconfirmed; /* a SWITCH or CLEAR was sent after the last SYNC */
};

/* `producers`, `refused` and `arg` must outlive the connection. */
void connection_init(struct connection *connection, struct producers *producers, pid_t pid,
	uid_t uid, connection_refused refused, void *arg);
/*
 * Called when the connection has ended: ends its producer and frees all that connection_init() and
 * packets made.
 */
void connection_fini(struct connection *connection);

/*
 * Handles a packet. *fd is its descriptor, or -1 if it did not have exactly one. If the message
 * needs the descriptor, the connection becomes its owner and sets *fd to -1. Returns 0, or -errno
 * with a sentence; then the caller detaches the producer.
 */
int connection_take(
	struct connection *connection, const char *data, size_t bytes, int *fd, struct err *err);

/*
 * Makes the producer take part only in rounds after this one. Called before the first packet is
 * sent.
 */
void connection_skip_rounds(struct connection *connection, uint64_t newest);
/*
 * Makes the producer take part in this round, the newest. Before its HELLO it has nothing to
 * answer.
 */
void connection_sync(struct connection *connection, uint64_t round);
/* Whether all rounds in which it takes part are answered. */
bool connection_is_synced(const struct connection *connection);

/* Called when a switch may have changed: compares all switches with the values that were sent. */
void connection_rescan(struct connection *connection);

/*
 * Makes the next packet to send in `packet` of KPROF_PACKET_MAX bytes, aligned to 8. Returns its
 * size, or 0 if there is nothing to send. If it was sent, call connection_sent(); if not, the next
 * call makes the same or a newer one.
 */
size_t connection_next(struct connection *connection, char *packet);
void connection_sent(struct connection *connection, const char *packet);

#endif
