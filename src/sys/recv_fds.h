/* SPDX-License-Identifier: MIT */
/*
 * One packet of a program's socket, and the descriptors that come with it. Nothing here waits for
 * anybody.
 */
#ifndef KPROFS_SYS_RECV_FDS_H
#define KPROFS_SYS_RECV_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/fdpass.h"

enum recv_fds_result {
	RECV_FDS_PACKET,           /* without descriptors */
	RECV_FDS_WITH_DESCRIPTORS, /* it stays where it is; *type and no more of it is known */
	RECV_FDS_END,
	RECV_FDS_NOTHING, /* now */
	RECV_FDS_AGAIN,   /* try again */
};

/*
 * Takes a packet without descriptors. *bytes: its size; more than `room`: the rest is lost. *type:
 * what its head says, 0 if it has none.
 */
enum recv_fds_result recv_fds_packet(
	int socket, void *data, size_t room, size_t *bytes, uint32_t *type);

struct recv_fds {
	size_t bytes; /* of the packet; more than there was room for: the rest is lost */
	unsigned int count;
	int fds[FDPASS_MAX]; /* the caller's now */
	bool cut;                          /* there were more of them than the process may open */
};

/*
 * Takes a packet with all its descriptors: whoever calls it may wait for ever in closing them. As
 * above; never RECV_FDS_WITH_DESCRIPTORS.
 */
enum recv_fds_result recv_fds_descriptors(
	int socket, void *data, size_t room, struct recv_fds *received);

#endif
