/* SPDX-License-Identifier: MIT */
/* One packet of a stranger: see receive.h. */
#include "trace/receive.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <kprof/attach_abi.h>

/* What a call says of itself, as receive_packet does. */
static int result_of(ssize_t got)
{
	if (got >= 0)
		return got ? 1 : 0;
	/* reset: it ended without reading what we said; what it said is still there */
	if (errno == ECONNRESET || errno == EINTR)
		return -EINTR;
	return errno == EAGAIN ? -EAGAIN : 0;
}

static void take_descriptors(struct msghdr *message, struct received *received)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(message);
	size_t bytes;

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return;
	bytes = head->cmsg_len - CMSG_LEN(0);
	if (bytes > sizeof(received->fds))
		bytes = sizeof(received->fds);
	memcpy(received->fds, CMSG_DATA(head), bytes);
	received->count = (unsigned int)(bytes / sizeof(int));
}

int receive_packet(int socket, bool wants_descriptors, void *data, size_t room,
	struct received *received)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(RECEIVE_DESCRIPTORS_MAX * sizeof(int))];
	} control;
	struct kprof_packet head = { 0, 0 };
	struct iovec to = { &head, sizeof(head) };
	struct msghdr message = { .msg_iov = &to, .msg_iovlen = 1 };
	ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_PEEK);
	bool carries = got >= 0 && message.msg_flags & MSG_CTRUNC;

	received->bytes = 0;
	received->count = 0;
	received->cut = false;
	if (carries && !(wants_descriptors && head.type == KPROF_PACKET_HELLO))
		return -EPROTO;
	if (result_of(got) != 1)
		return result_of(got);
	to = (struct iovec){ data, room };
	message = (struct msghdr){ .msg_iov = &to, .msg_iovlen = 1 };
	if (carries) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	if (got < 0)
		return result_of(got);
	received->bytes = (size_t)got;
	received->cut = message.msg_flags & MSG_CTRUNC;
	if (carries)
		take_descriptors(&message, received);
	return 1;
}
