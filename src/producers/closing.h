/* SPDX-License-Identifier: MIT */
/*
 * Closes programs' sockets in which descriptors may be waiting: by a receiver, so that the server
 * does not wait for those who serve these files; else by a thread (hangup.h). One thread, the
 * listener's.
 */
#ifndef KPROFS_PRODUCERS_CLOSING_H
#define KPROFS_PRODUCERS_CLOSING_H

#include "producers/receivers.h"

struct closing;

/* The receivers stay the caller's. */
struct closing *closing_create(struct receivers *receivers);
/* closing_run() has been called since the last one was added. */
void closing_destroy(struct closing *closing);

/* Ends a connection. Its socket is closed now, or by closing_run(). */
void closing_add(struct closing *closing, int socket, const struct receivers_owner *owner);
void closing_run(struct closing *closing);

#endif
