/* SPDX-License-Identifier: MIT */
/* The kernel's reports of changed users: see user_events.h. */
#include "sys/user_events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Some 500 reports: the kernel counts its own memory for each, about 0.5 KiB. */
#define BUFFER_BYTES (256 * 1024)

/* struct cn_msg without its array of unknown length, which C allows only at the end of a struct. */
struct head {
	struct cb_id id;
	uint32_t seq, ack;
	uint16_t len, flags;
};
_Static_assert(sizeof(struct head) == sizeof(struct cn_msg) &&
	offsetof(struct head, len) == offsetof(struct cn_msg, len), "the head of a message of the connector");

/* A report, behind the header of netlink. */
struct report {
	struct head head;
	struct proc_event event;
} __attribute__((packed, aligned(4)));

/* What is sent to switch reports on and off. */
struct order {
	struct nlmsghdr netlink;
	struct head head;
	uint32_t operation; /* enum proc_cn_mcast_op */
} __attribute__((packed, aligned(4)));

static int attach_filter(int fd)
{
	const uint32_t what = NLMSG_HDRLEN + offsetof(struct report, event) +
		offsetof(struct proc_event, what);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what),
		/* filters load words in network order */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_UID), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

int user_events_open(int *out)
{
	const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	const int bytes = BUFFER_BYTES;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
	int ret = fd < 0 ? -errno : attach_filter(fd);

	if (!ret && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)))
		ret = -errno;
	if (!ret && bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		ret = -errno;
	if (!ret) {
		*out = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

int user_events_listen(int fd, bool on)
{
	const struct order order = {
		.netlink = { .nlmsg_len = sizeof(order), .nlmsg_type = NLMSG_DONE },
		.head = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof(order.operation) },
		.operation = on ? PROC_CN_MCAST_LISTEN : PROC_CN_MCAST_IGNORE,
	};

	return send(fd, &order, sizeof(order), 0) < 0 ? -errno : 0;
}

/* Messages of other processes have their number as the sender. */
static bool is_report(const struct sockaddr_nl *sender, socklen_t sender_bytes,
	const struct nlmsghdr *netlink, const struct report *report, size_t bytes)
{
	return sender_bytes == sizeof(*sender) && !sender->nl_pid && bytes >= sizeof(*report) &&
	       netlink->nlmsg_type == NLMSG_DONE && report->head.id.idx == CN_IDX_PROC &&
	       report->event.what == PROC_EVENT_UID;
}

int user_events_read(int fd, struct user_event *event)
{
	unsigned char buffer[1024];
	struct sockaddr_nl sender;

	for (;;) {
		socklen_t sender_bytes = sizeof(sender);
		const ssize_t n = recvfrom(fd, buffer, sizeof(buffer), 0, (struct sockaddr *)&sender,
			&sender_bytes);
		struct nlmsghdr netlink;
		struct report report;

		if (n < 0)
			return -errno;
		if ((size_t)n < NLMSG_HDRLEN + sizeof(report))
			continue;
		memcpy(&netlink, buffer, sizeof(netlink));
		memcpy(&report, buffer + NLMSG_HDRLEN, sizeof(report));
		if (!is_report(&sender, sender_bytes, &netlink, &report, (size_t)n - NLMSG_HDRLEN))
			continue;
		*event = (struct user_event){
			.time_ns = report.event.timestamp_ns,
			.pid = (uint32_t)report.event.event_data.id.process_tgid,
			.tid = (uint32_t)report.event.event_data.id.process_pid,
			.uid = report.event.event_data.id.r.ruid,
		};
		return 0;
	}
}
