/* SPDX-License-Identifier: MIT */
/* What the programs of this folder that attach without libkprof have in common. */
#ifndef KPROFS_TESTS_HOSTILE_ATTACK_H
#define KPROFS_TESTS_HOSTILE_ATTACK_H

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <kprof/attach_abi.h>

static inline int attack_dial(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline struct kprof_packet_hello attack_hello(uint32_t pool_bytes)
{
	struct kprof_packet_hello hello = {
		.head = { KPROF_PACKET_HELLO, sizeof(hello) },
		.magic = KPROF_ATTACH_MAGIC,
		.version = KPROF_ATTACH_VERSION,
		.pid = (uint32_t)getpid(),
		.pool_bytes = pool_bytes,
		.program = "attacker",
	};

	return hello;
}

/* fd -1: without a descriptor */
static inline int attack_send(int socket, const void *data, size_t bytes, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec part = { (void *)data, bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control.room);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : -errno;
}

static inline double attack_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

#define ATTACK_TIMES_MAX 64

static inline int attack_compare_times(const void *a, const void *b)
{
	const double *one = a, *two = b;

	return (*one > *two) - (*one < *two);
}

/* COUNT of a command line: 1 to ATTACK_TIMES_MAX. */
static inline int attack_parse_count(const char *text)
{
	int count = atoi(text);

	return count < 1 ? 1 : count > ATTACK_TIMES_MAX ? ATTACK_TIMES_MAX : count;
}

/* The median of count times, which are sorted for it; of an even number, the higher one of the middle. */
static inline double attack_median(double *times, int count)
{
	qsort(times, (size_t)count, sizeof(*times), attack_compare_times);
	return times[count / 2];
}

#endif
