/* SPDX-License-Identifier: MIT */
/*
 * Closing sockets in which strangers' descriptors may be waiting.
 *
 * What nobody received goes with the socket, and the last close of such a file can wait for as long as
 * its sender likes: that of a TCP connection with SO_LINGER, for one, does so in whoever closes. A task
 * that ends waits for no such thing: so these sockets are closed by the end of a thread of its own,
 * which has a copy of the descriptors while the others let go of theirs.
 *
 * Any thread. Nothing here blocks for longer than it takes to start a thread.
 */
#ifndef KPROFS_TRACE_HANGUP_H
#define KPROFS_TRACE_HANGUP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Ends a connection. true: nothing was waiting in it, and it is closed. false: it is to be given to
 * hangup_all, with others perhaps; nothing more comes.
 */
bool hangup_try(int socket);

void hangup_all(const int *sockets, size_t count);

#endif
