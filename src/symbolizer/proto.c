/* SPDX-License-Identifier: MIT */
/* The messages between the client process and its helpers: see proto.h. */
#include "symbolizer/proto.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/fdpass.h"

uint64_t proto_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

void proto_init(struct proto_message *message, enum proto_type type)
{
	memset(message, 0, offsetof(struct proto_message, tail));
	message->head.type = type;
}

int proto_set_path(struct proto_message *message, const char *path)
{
	size_t size = strlen(path) + 1;

	if (size > sizeof(message->tail.path))
		return -ENAMETOOLONG;
	memcpy(message->tail.path, path, size);
	message->head.count = (uint32_t)size;
	return 0;
}

void proto_set_build_id(struct proto_message *message, const uint8_t *bytes, size_t length)
{
	if (length > sizeof(message->build_id))
		length = 0;
	if (length)
		memcpy(message->build_id, bytes, length);
	message->build_id_length = (uint32_t)length;
}

static bool has_path(const struct proto_message *message)
{
	switch ((enum proto_type)message->head.type) {
	case PROTO_OPEN_MAPPED:
	case PROTO_OPEN_PATH:
	case PROTO_OPEN_DEBUG:
	case PROTO_OPEN_JIT:
	case PROTO_KERNEL:
	case PROTO_READ_ALL:
	case PROTO_READ_ONE:
	case PROTO_READ_USERS:
	case PROTO_BUILD_ID:
	case PROTO_TRY_OPEN:
	case PROTO_FUNCTIONS:
	case PROTO_INFO:
		return true;
	default:
		return false;
	}
}

/* Returns the bytes of the message on the wire, or 0 if it is malformed. */
static size_t proto_size(const struct proto_message *message)
{
	size_t size = offsetof(struct proto_message, tail), count = message->head.count;

	if (has_path(message))
		return count <= sizeof(message->tail.path) ? size + count : 0;
	if (message->head.type == PROTO_OFFSETS)
		return count <= PROTO_OFFSETS_MAX ? size + count * sizeof(uint64_t) : 0;
	if (message->head.type == PROTO_RESULTS || message->head.type == PROTO_ROW ||
		message->head.type == PROTO_RECORDS || message->head.type == PROTO_FOUND)
		return count <= PROTO_BYTES_MAX ? size + count : 0;
	return count ? 0 : size;
}

/* Returns whether the received message is well-formed. Its path, if any, then ends in a NUL. */
static bool is_sound(const struct proto_message *message, size_t size)
{
	uint32_t count = message->head.count;

	if (size < offsetof(struct proto_message, tail) || size != proto_size(message) ||
		message->build_id_length > sizeof(message->build_id))
		return false;
	return !has_path(message) ||
		(count && memchr(message->tail.path, 0, count) == message->tail.path + count - 1);
}

static int wait_for(int fd, short events, const struct proto_wait *wait)
{
	struct pollfd fds[2] = { { .fd = fd, .events = events } };
	struct timespec left, *timeout = NULL;
	uint64_t now;

	if (wait) {
		fds[1].fd = wait->cancel_fd; /* poll ignores a negative descriptor */
		fds[1].events = POLLIN;
	}
	for (;;) {
		if (wait && wait->deadline_ns) {
			now = proto_now_ns();
			if (now >= wait->deadline_ns)
				return -ETIMEDOUT;
			left.tv_sec = (time_t)((wait->deadline_ns - now) / NSEC_PER_SEC);
			left.tv_nsec = (long)((wait->deadline_ns - now) % NSEC_PER_SEC);
			timeout = &left;
		}
		if (ppoll(fds, wait ? 2 : 1, timeout, NULL) < 0 && errno != EINTR)
			return -errno;
		if (wait && fds[1].revents)
			return -ECANCELED;
		if (fds[0].revents)
			return 0;
		fds[0].revents = fds[1].revents = 0;
	}
}

int proto_wait_readable(int fd, const struct proto_wait *wait)
{
	return wait_for(fd, POLLIN, wait);
}

int proto_send(int fd, const struct proto_message *message, int passed,
	const struct proto_wait *wait)
{
	int ret;

	for (;;) {
		ret = fdpass_send(fd, message, proto_size(message), &passed, passed >= 0,
			wait ? MSG_DONTWAIT : 0);
		if (ret == -ECONNRESET)
			return -EPIPE;
		if (ret != -EAGAIN)
			return ret;
		ret = wait_for(fd, POLLOUT, wait);
		if (ret)
			return ret;
	}
}

int proto_receive(int fd, struct proto_message *message, int *passed,
	const struct proto_wait *wait)
{
	int ret, came;
	struct fdpass pass = { .fds = &came, .max = passed ? 1 : 0 };
	ssize_t size;

	do {
		ret = wait ? wait_for(fd, POLLIN, wait) : 0;
		if (ret)
			return ret;
		size = fdpass_receive(fd, message, sizeof(*message), &pass, 0);
	} while (size == -EINTR);
	if (size < 0)
		return size == -ECONNRESET ? -EPIPE : (int)size;
	if (size > 0 && (size_t)size <= sizeof(*message) && is_sound(message, (size_t)size)) {
		if (passed)
			*passed = pass.count ? came : -1;
		return 0;
	}
	if (pass.count)
		close(came);
	return size ? -EBADMSG : -EPIPE;
}
