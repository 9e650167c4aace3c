/* SPDX-License-Identifier: MIT */
/*
 * Closes sockets of producers in which descriptors may be queued. A receiver process does it
 * (receivers.h), since close(2) of such a descriptor can wait for the FUSE server of its file;
 * without a receiver a thread does (sys/socket_drain.h). The acceptor closes its descriptors too.
 *
 * All functions are called by the thread of the listener only.
 */
#ifndef KPROFS_PRODUCERS_CLOSING_H
#define KPROFS_PRODUCERS_CLOSING_H

#include "producers/acceptor.h"
#include "producers/receivers.h"

struct closing;

/* Both must outlive the result. */
struct closing *closing_create(struct acceptor *acceptor, struct receivers *receivers);
/* No socket is queued: closing_run() has been called since the last closing_add(). */
void closing_destroy(struct closing *closing);

/*
 * Takes ownership of a socket: closes it now if it is empty, otherwise queues it for closing_run().
 * `accepted` and `owner` are copied.
 */
void closing_add(struct closing *closing, int socket, const struct accepted *accepted,
	const struct receivers_owner *owner);
/* Closes all that are queued. Does not block. */
void closing_run(struct closing *closing);

#endif
