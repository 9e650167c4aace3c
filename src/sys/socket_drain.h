/* SPDX-License-Identifier: MIT */
/*
 * Closing sockets in which descriptors may be waiting.
 *
 * What nobody received goes with the socket, and the last close of such a file can wait for as long
 * as its sender likes: that of a TCP connection with SO_LINGER, for one, does so in whoever closes.
 * Where a receiver is to be had, it does this (closing.h). Else a thread does it by its end, with a
 * table of descriptors in which nothing else is: the end of a task does not wait for a TCP
 * connection.
 *
 * Any thread. Nothing here blocks for longer than it takes to start a thread.
 */
#ifndef KPROFS_SYS_SOCKET_DRAIN_H
#define KPROFS_SYS_SOCKET_DRAIN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Ends a connection. true: nothing was waiting in it, and it is closed. false: another is to close
 * it; nothing more comes.
 */
bool socket_drain_try(int socket);

void socket_drain_all(const int *sockets, size_t count);

#endif
