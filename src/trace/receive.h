/* SPDX-License-Identifier: MIT */
/*
 * One packet of a program's socket, and the descriptors that come with it. Nothing here waits for
 * anybody.
 */
#ifndef KPROFS_TRACE_RECEIVE_H
#define KPROFS_TRACE_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one packet: the kernel's SCM_MAX_FD. */
#define RECEIVE_DESCRIPTORS_MAX 253

enum receive_result {
	RECEIVE_PACKET,		  /* without descriptors */
	RECEIVE_WITH_DESCRIPTORS, /* it stays where it is; *type and no more of it is known */
	RECEIVE_END,
	RECEIVE_NOTHING, /* now */
	RECEIVE_AGAIN,	 /* try again */
};

/*
 * Takes a packet without descriptors. *bytes: its size; more than `room`: the rest is lost. *type: what
 * its head says, 0 if it has none.
 */
enum receive_result receive_packet(int socket, void *data, size_t room, size_t *bytes,
	uint32_t *type);

struct received {
	size_t bytes; /* of the packet; more than there was room for: the rest is lost */
	unsigned int count;
	int fds[RECEIVE_DESCRIPTORS_MAX]; /* the caller's now */
	bool cut;			  /* there were more of them than the process may open */
};

/*
 * Takes a packet with all its descriptors: whoever calls it may wait for ever in closing them. As
 * above; never RECEIVE_WITH_DESCRIPTORS.
 */
enum receive_result receive_descriptors(int socket, void *data, size_t room,
	struct received *received);

#endif
