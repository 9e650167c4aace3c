/* SPDX-License-Identifier: MIT */
/* Descriptors over Unix sockets: see fdpass.h. */
#include "sys/fdpass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
};

int fdpass_send(int socket, const void *data, size_t bytes, const int *fds, unsigned int count,
	int flags)
{
	union control control;
	struct iovec part = {(void *)data, bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t sent;

	if (count) {
		memset(&control, 0, sizeof(control));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
	}
	do {
		sent = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* The control buffer is padded, so the kernel may deliver one descriptor more than `max`. */
static void take(const unsigned char *from, size_t count, struct fdpass *pass)
{
	int fd;

	for (; count; count--, from += sizeof(fd)) {
		memcpy(&fd, from, sizeof(fd));
		if (pass->count < pass->max) {
			pass->fds[pass->count++] = fd;
		} else {
			pass->truncated = true;
			close(fd);
		}
	}
}

ssize_t fdpass_receive(int socket, void *data, size_t room, struct fdpass *pass, int flags)
{
	union control control;
	struct iovec part = {data, room};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *head;
	ssize_t got;

	pass->count = 0;
	pass->truncated = false;
	if (pass->max) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(pass->max * sizeof(int));
	}
	got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	if (got < 0)
		return -errno;
	pass->truncated = message.msg_flags & MSG_CTRUNC;
	for (head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head))
		if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
			take(CMSG_DATA(head), (head->cmsg_len - CMSG_LEN(0)) / sizeof(int), pass);
	return got;
}
