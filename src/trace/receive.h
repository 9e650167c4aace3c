/* SPDX-License-Identifier: MIT */
/*
 * One packet of a stranger's socket, and the descriptors that come with it. Nothing here waits for
 * anybody.
 */
#ifndef KPROFS_TRACE_RECEIVE_H
#define KPROFS_TRACE_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>

/* Of one packet: the kernel's SCM_MAX_FD. */
#define RECEIVE_DESCRIPTORS_MAX 253

struct received {
	size_t bytes;	/* of the packet; more than there was room for: the rest is lost */
	unsigned int count;
	int fds[RECEIVE_DESCRIPTORS_MAX]; /* the caller's now, to be taken or given to discard.c */
	bool cut;	/* there were more of them than we may open */
};

/*
 * 1: a packet; 0: the end; -EAGAIN: nothing now; -EINTR: try again; -EPROTO: a packet with descriptors
 * that are not wanted, which stays where it is.
 *
 * They are wanted with a greeting, if the caller wants them. No packet is received without room for
 * what comes with it: the kernel would drop that here, and wait for it perhaps (hangup.h).
 */
int receive_packet(int socket, bool wants_descriptors, void *data, size_t room,
	struct received *received);

#endif
