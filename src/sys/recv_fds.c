/* SPDX-License-Identifier: MIT */
/* One packet of a program's socket: see receive.h. */
#include "sys/recv_fds.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <kprof/attach_abi.h>

/* What a call says of itself. */
static enum recv_fds_result result_of(ssize_t got)
{
	if (got >= 0)
		return got ? RECV_FDS_PACKET : RECV_FDS_END;
	/* reset: it ended without reading what we said; what it said is still there */
	if (errno == ECONNRESET || errno == EINTR)
		return RECV_FDS_AGAIN;
	return errno == EAGAIN ? RECV_FDS_NOTHING : RECV_FDS_END;
}

static void take_descriptors(struct msghdr *message, struct recv_fds *received)
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

enum recv_fds_result recv_fds_packet(
	int socket, void *data, size_t room, size_t *bytes, uint32_t *type)
{
	struct kprof_packet head = {0, 0};
	struct iovec to = {&head, sizeof(head)};
	struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1};
	/* without room for descriptors none is made; the kernel says that there are some */
	ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_PEEK);

	*bytes = 0;
	*type = got == sizeof(head) ? head.type : 0;
	if (got >= 0 && message.msg_flags & MSG_CTRUNC)
		return RECV_FDS_WITH_DESCRIPTORS;
	if (result_of(got) != RECV_FDS_PACKET)
		return result_of(got);
	to = (struct iovec){data, room};
	message = (struct msghdr){.msg_iov = &to, .msg_iovlen = 1};
	got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_TRUNC);
	if (got > 0)
		*bytes = (size_t)got;
	return result_of(got);
}

enum recv_fds_result recv_fds_descriptors(
	int socket, void *data, size_t room, struct recv_fds *received)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(RECV_FDS_DESCRIPTORS_MAX * sizeof(int))];
	} control;
	struct iovec to = {data, room};
	struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1};
	ssize_t got;

	received->bytes = 0;
	received->count = 0;
	message.msg_control = &control;
	message.msg_controllen = sizeof(control);
	got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	received->cut = got >= 0 && message.msg_flags & MSG_CTRUNC;
	if (got >= 0) {
		received->bytes = (size_t)got;
		take_descriptors(&message, received);
	}
	return result_of(got);
}
