/* SPDX-License-Identifier: MIT */
/* One packet of a producer's socket: see recv_fds.h. */
#include "sys/recv_fds.h"

#include <errno.h>
#include <sys/socket.h>

#include <kprof/attach_abi.h>

#include "sys/fdpass.h"

static ssize_t receive(int socket, struct msghdr *message, int flags)
{
	const ssize_t got = recvmsg(socket, message, flags);

	return got < 0 ? -errno : got;
}

/* `got` is the size of the packet, or -errno. */
static enum recv_fds_result result_of(ssize_t got)
{
	if (got >= 0)
		return got ? RECV_FDS_PACKET : RECV_FDS_END;
	/* reset: the peer ended without reading what we sent; what it sent can still be received */
	if (got == -ECONNRESET || got == -EINTR)
		return RECV_FDS_AGAIN;
	return got == -EAGAIN ? RECV_FDS_NOTHING : RECV_FDS_END;
}

enum recv_fds_result recv_fds_packet(
	int socket, void *data, size_t room, size_t *bytes, uint32_t *type)
{
	struct kprof_packet head = {0, 0};
	struct iovec to = {&head, sizeof(head)};
	struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1};
	/* without room for descriptors none is created; MSG_CTRUNC reports that there are some */
	ssize_t got = receive(socket, &message, MSG_DONTWAIT | MSG_PEEK);

	*bytes = 0;
	*type = got == sizeof(head) ? head.type : 0;
	if (got >= 0 && message.msg_flags & MSG_CTRUNC)
		return RECV_FDS_WITH_DESCRIPTORS;
	if (result_of(got) != RECV_FDS_PACKET)
		return result_of(got);
	to = (struct iovec){data, room};
	message = (struct msghdr){.msg_iov = &to, .msg_iovlen = 1};
	got = receive(socket, &message, MSG_DONTWAIT | MSG_TRUNC);
	if (got > 0)
		*bytes = (size_t)got;
	return result_of(got);
}

enum recv_fds_result recv_fds_descriptors(
	int socket, void *data, size_t room, struct recv_fds *received)
{
	struct fdpass pass = {.fds = received->fds, .max = FDPASS_MAX};
	const ssize_t got = fdpass_receive(socket, data, room, &pass, MSG_DONTWAIT);

	received->bytes = got > 0 ? (size_t)got : 0;
	received->count = pass.count;
	received->cut = pass.truncated;
	return result_of(got);
}
