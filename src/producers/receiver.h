/* SPDX-License-Identifier: MIT */
/*
 * The processes that receive descriptors from programs, so that the server never has one that is no
 * memory: close(2) of a file on a FUSE mount waits for whoever serves it, if need be for ever, the
 * end of a process closes all its files, and what waits there can't be killed. A process that waits
 * so holds nothing that anybody needs.
 *
 * The spawner (receiver_start_spawner) is forked from the server while that is small, keeps its one
 * connection and forks a receiver for each connection that it is sent: so a receiver that is lost
 * holds no memory of the server's. A receiver serves its connection:
 *
 *	RECEIVER_TAKE	with a program's socket: takes the packet in front with its descriptors. One
 *			memfd: the answer has it. Several, or none: -EINVAL. Something else among them:
 *			-EBADMSG, and the receiver ends, however long that takes.
 *	RECEIVER_HOLD	with sockets: the receiver has them until it ends, so that what is in them goes
 *			then, and not when the server closes its own. No answer.
 *	RECEIVER_END	without a descriptor: the receiver ends. No answer.
 *
 * Both end when their connection does. The part of the server is receivers.h.
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
	int32_t result; /* 0: a packet with a memfd; -EAGAIN: there was no packet; as above */
	uint32_t bytes; /* of the packet, which may be more than `data` has */
	char data[sizeof(struct kprof_packet_hello)];
};

/*
 * *fd: the caller's connection to it, closed at exec; *pid: its child. -errno of fork and its like.
 */
int receiver_start_spawner(int *fd, pid_t *pid);

/* Sends a request, or (to the spawner) any word, with descriptors. -errno; never blocks. */
int receiver_send(int fd, uint32_t request, const int *fds, unsigned int count);
/*
 * Takes an answer without waiting; *memory: the memfd, or -1. -EAGAIN: none yet; -EPIPE: the
 * receiver has ended.
 */
int receiver_take_answer(int fd, struct receiver_answer *answer, int *memory);

#endif
