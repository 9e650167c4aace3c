/* SPDX-License-Identifier: MIT */
/*
 * Processes that receive descriptors from producers, so that the server never has a descriptor that
 * is not a memfd. close(2) of a file on a FUSE mount waits for the FUSE server of that file,
 * possibly without end. The exit of a process closes all its files, and a process that waits there
 * cannot be killed. A receiver that is blocked in this way holds nothing that the server needs.
 *
 * The spawner (receiver_start_spawner) is forked from the server while that is small. It keeps its
 * one connection and forks a receiver for each connection that it is sent: so a blocked receiver
 * holds no memory of the server. A receiver serves the requests of its connection:
 *
 *	RECEIVER_TAKE	with the socket of a producer: receives the next packet with its descriptors. If
 *			there is one and it is a memfd, the answer has it; if there are several or none,
 *			the answer is -EINVAL; if one is another file, the answer is -EBADMSG, and the
 *			receiver exits, which may block.
 *	RECEIVER_HOLD	with sockets: the receiver keeps them until it exits, so that descriptors queued
 *			in them are closed then, and not when the server closes its own. No answer.
 *	RECEIVER_END	with one end of a pipe: the receiver exits when the other end is closed. No
 *			answer.
 *
 * Spawner and receiver end when their connection does. The side of the server is receivers.h.
 */
#ifndef KPROFS_PRODUCERS_RECEIVER_H
#define KPROFS_PRODUCERS_RECEIVER_H

#include <stdint.h>
#include <sys/types.h>

#include <kprof/attach_abi.h>

enum receiver_request {
	RECEIVER_TAKE = 1,
	RECEIVER_HOLD = 2,
	RECEIVER_END = 3,
};

struct receiver_answer {
	int32_t result; /* 0 for a packet with one memfd; -EAGAIN for no packet; otherwise as above */
	uint32_t bytes; /* of the packet; may be more than sizeof(data) */
	char data[sizeof(struct kprof_packet_hello)];
};

/*
 * Forks the spawner. Sets *fd to the connection to it, close-on-exec, which the caller closes, and
 * *pid to the child. Returns 0, or -errno of socketpair or fork.
 */
int receiver_start_spawner(int *fd, pid_t *pid);

/*
 * Sends a request with descriptors to a receiver, or any word to the spawner. Returns 0 or -errno;
 * never blocks.
 */
int receiver_send(int fd, uint32_t request, const int *fds, unsigned int count);
/*
 * Takes an answer without waiting. Sets *memory to the memfd, which the caller closes, or to -1.
 * Returns 0, -EAGAIN if there is none yet, or -EPIPE if the receiver has ended.
 */
int receiver_take_answer(int fd, struct receiver_answer *answer, int *memory);

#endif
