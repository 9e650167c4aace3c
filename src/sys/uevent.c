/* SPDX-License-Identifier: MIT */
/* CPUs that go online and offline: see uevent.h. */
#include "sys/uevent.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/units.h"

/* The multicast group of the kernel; udev sends to 2. */
#define GROUP_KERNEL 1
/* The kernel builds a uevent in a buffer of 2 KiB behind a header with a path. */
#define MESSAGE_MAX 8192

static const char cpu_path[] = "@/devices/system/cpu/cpu";

int uevent_open(int *fd)
{
	struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = GROUP_KERNEL,
	};
	int sock;

	sock = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	if (sock < 0)
		return -errno;
	if (bind(sock, (struct sockaddr *)&address, sizeof(address))) {
		int ret = -errno;

		close(sock);
		return ret;
	}
	*fd = sock;
	return 0;
}

int uevent_parse(const char *message, size_t length, struct uevent_cpu *event)
{
	const char *at;
	uint64_t cpu;
	bool online;

	/* "ACTION@PATH" and its NUL come first */
	if (!memchr(message, '\0', length))
		return -EINVAL;
	at = strchr(message, '@');
	if (!at)
		return -EINVAL;
	if (!strncmp(message, "online@", 7))
		online = true;
	else if (!strncmp(message, "offline@", 8))
		online = false;
	else
		return -ENOENT;
	if (strncmp(at, cpu_path, sizeof(cpu_path) - 1))
		return -ENOENT;
	if (units_parse_u64(at + sizeof(cpu_path) - 1, &cpu) || cpu > INT32_MAX)
		return -ENOENT;
	event->cpu = cpu;
	event->online = online;
	return 0;
}

int uevent_read(int fd, struct uevent_cpu *event)
{
	char message[MESSAGE_MAX];
	struct sockaddr_nl from;
	socklen_t from_length;
	ssize_t n;

	for (;;) {
		from_length = sizeof(from);
		n = recvfrom(fd, message, sizeof(message), 0, (struct sockaddr *)&from, &from_length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		/* port 0 is the kernel; programs with CAP_NET_ADMIN can send here too */
		if (from_length != sizeof(from) || from.nl_pid != 0)
			continue;
		if (!uevent_parse(message, n, event))
			return 0;
	}
}
