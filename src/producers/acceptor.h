/* SPDX-License-Identifier: MIT */
/*
 * A process that accepts the connections of producers, so that the server never has the last
 * descriptor of a socket in which descriptors may be queued. The kernel closes the queued
 * descriptors when the last descriptor of the socket is closed. If one of them is a file on a FUSE
 * mount whose dirty pages have to be written, the close waits for the FUSE server, possibly without
 * end, and so does the exit of a process that was killed.
 *
 * The acceptor keeps a descriptor of the listening socket and of each connection until the server
 * has closed its own, or has ended. When the connection to the server closes, the acceptor closes
 * the listening socket, waits for the end of the server's process, and exits. The exit may block
 * without end; the process then holds nothing that the server needs.
 *
 * All functions are called by the thread of the listener, or by the thread that creates it. None
 * waits for a producer.
 */
#ifndef KPROFS_PRODUCERS_ACCEPTOR_H
#define KPROFS_PRODUCERS_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct acceptor;

/* The number that the acceptor gave to a connection: its own descriptor of it. */
struct accepted {
	int32_t number; /* -1 if the acceptor has no descriptor of it */
	uint32_t generation; /* of the acceptor: it may have ended and been replaced */
};

/*
 * Starts the process. `listening` is a listening, non-blocking socket, which acceptor_destroy()
 * closes. Returns 0, or -errno if no process can be started; then the caller still owns
 * `listening`.
 */
int acceptor_create(int listening, struct acceptor **acceptor);
/*
 * Ends the process, which then closes its descriptors of connections. The server must have closed its
 * own before. Does nothing for NULL.
 */
void acceptor_destroy(struct acceptor *acceptor);

/*
 * Returns a descriptor that is readable when there may be a connection; it changes when
 * acceptor_next() has returned -EPIPE.
 */
int acceptor_fd(const struct acceptor *acceptor);

/*
 * Returns the descriptor of the next connection, non-blocking and close-on-exec; -EAGAIN if there
 * is none; -EMFILE if no descriptor is free, and the connection is kept; -EPIPE if the acceptor had
 * ended and was replaced; another -errno if it can't be received from, or had ended and no other can be
 * started.
 */
int acceptor_next(struct acceptor *acceptor, struct accepted *accepted);

/*
 * Makes the acceptor close its descriptors of these connections, FDPASS_MAX at most, and then `after`
 * (-1 for none), a descriptor that this function takes. If the socket to the acceptor is full, this is
 * sent later. Does not block.
 */
void acceptor_release(
	struct acceptor *acceptor, const struct accepted *accepted, unsigned int count, int after);
/* Whether something is still to be sent: acceptor_send() is called when acceptor_fd() is writable. */
bool acceptor_has_unsent(const struct acceptor *acceptor);
/* Sends what is still to be sent, until the socket is full. Does not block. */
void acceptor_send(struct acceptor *acceptor);

#endif
