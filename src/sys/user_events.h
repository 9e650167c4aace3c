/* SPDX-License-Identifier: MIT */
/*
 * The kernel's reports of changed users: its process connector, a netlink group (CONFIG_PROC_EVENTS), which
 * reports forks, execs and ends as well, 1 to 2 us each. A filter of the socket leaves these out. Functions
 * return 0 or -errno and do not block. One thread at a time may use a socket.
 */
#ifndef KPROFS_SYS_USER_EVENTS_H
#define KPROFS_SYS_USER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* The ids of a thread changed. Numbers are those of the first pid and user namespace. */
struct user_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	uint32_t uid; /* real; maybe another id than this one changed */
};

/*
 * *fd becomes readable when there are reports. -EPERM without CAP_NET_ADMIN, -EPROTONOSUPPORT in another
 * network namespace than the first, or without a connector.
 */
int user_events_open(int *fd);
/* The kernel reports from now on, or no longer. */
int user_events_listen(int fd, bool on);
/* -EAGAIN: there are no more; -ENOBUFS: some were lost before this call. */
int user_events_read(int fd, struct user_event *event);

#endif
