/* SPDX-License-Identifier: MIT */
/*
 * CPUs that go online and offline: the kernel's uevents over netlink.
 *
 * They are not delivered everywhere (a container whose network namespace belongs to another user
 * namespace gets none), so only /sys/devices/system/cpu/online is reliable; an event only shows
 * when to read it. All functions return 0 or -errno, never block, and may be used by one thread at
 * a time.
 */
#ifndef KPROFS_SYS_UEVENT_H
#define KPROFS_SYS_UEVENT_H

#include <stdbool.h>
#include <stddef.h>

struct uevent_cpu {
	unsigned int cpu;
	bool online;
};

/* A non-blocking, CLOEXEC socket for poll(2); the caller closes it. -EPERM, -EACCES, -EMFILE, ... */
int uevent_open(int *fd);

/*
 * Receives the next CPU event; uevents about other things are skipped. Returns -EAGAIN if no event
 * is queued, -ENOBUFS if the kernel dropped some (the caller then reads `online`), or another
 * -errno if the socket is unusable.
 */
int uevent_read(int fd, struct uevent_cpu *event);

/*
 * Parses one uevent as the kernel writes it ("offline@/devices/system/cpu/cpu1", then NUL-separated
 * KEY=VALUE). Returns -ENOENT if it is about something else, -EINVAL if it is not a uevent.
 */
int uevent_parse(const char *message, size_t length, struct uevent_cpu *event);

#endif
