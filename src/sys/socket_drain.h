/* SPDX-License-Identifier: MIT */
/*
 * Closes sockets in which descriptors may be queued.
 *
 * Descriptors that were not received are closed with the socket, and the last close of such a file
 * can block as long as its sender likes: that of a TCP connection with SO_LINGER, for one, blocks
 * the process that closes it. If a receiver process is available, it closes the sockets
 * (closing.h). Otherwise a thread does so by its exit, with a descriptor table that holds nothing
 * else: the exit of a task does not wait for a TCP connection.
 *
 * Any thread. Nothing here blocks for longer than it takes to start a thread.
 */
#ifndef KPROFS_SYS_SOCKET_DRAIN_H
#define KPROFS_SYS_SOCKET_DRAIN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Ends a connection. Returns true if nothing was queued in it; it is then closed. Returns false if
 * descriptors are queued; then no more will be, and the caller must close it in another way.
 */
bool socket_drain_try(int socket);

void socket_drain_all(const int *sockets, size_t count);

#endif
