/* SPDX-License-Identifier: MIT */
/* Receives one packet of a producer's socket, and the descriptors in it. Does not block. */
#ifndef KPROFS_SYS_RECV_FDS_H
#define KPROFS_SYS_RECV_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/fdpass.h"

enum recv_fds_result {
	RECV_FDS_PACKET,           /* without descriptors */
	RECV_FDS_WITH_DESCRIPTORS, /* it stays in the socket; only *type is known */
	RECV_FDS_END,
	RECV_FDS_NOTHING, /* no packet is queued */
	RECV_FDS_AGAIN,   /* try again */
};

/*
 * Receives a packet without descriptors. *bytes: its size; more than `room`: the rest is lost.
 * *type: the type in its header, 0 if it has none.
 */
enum recv_fds_result recv_fds_packet(
	int socket, void *data, size_t room, size_t *bytes, uint32_t *type);

struct recv_fds {
	size_t bytes; /* of the packet; more than there was room for: the rest is lost */
	unsigned int count;
	int fds[FDPASS_MAX]; /* the caller closes them */
	bool cut;                          /* more were sent than the process may open */
};

/*
 * Receives a packet with all its descriptors. Closing these may block forever, since they can be
 * of any type. As above; never RECV_FDS_WITH_DESCRIPTORS.
 */
enum recv_fds_result recv_fds_descriptors(
	int socket, void *data, size_t room, struct recv_fds *received);

#endif
