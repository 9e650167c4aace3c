/* SPDX-License-Identifier: MIT */
/*
 * Descriptors sent and received over Unix sockets (SCM_RIGHTS).
 *
 * Can be called from any thread, and after a fork: nothing here allocates or locks. Each call
 * blocks as its socket and its flags determine.
 */
#ifndef KPROFS_SYS_FDPASS_H
#define KPROFS_SYS_FDPASS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Of one message: the kernel's SCM_MAX_FD. */
#define FDPASS_MAX 253

/* Sends one message with `count` descriptors, 0 to FDPASS_MAX. Returns 0 or -errno, never -EINTR;
 * never raises SIGPIPE. */
int fdpass_send(int socket, const void *data, size_t bytes, const int *fds, unsigned int count,
	int flags);

struct fdpass {
	int *fds;           /* the caller's array; what was received in it is the caller's to close */
	unsigned int max;   /* its size: 0 to FDPASS_MAX */
	unsigned int count; /* received */
	bool truncated;     /* more were sent: than max, or than the process may open */
};

/*
 * Receives one message; the descriptors get close-on-exec. Returns its size (more than `room`: the
 * rest is lost; 0 at the end) or -errno, also -EINTR, since the caller may have a deadline to check.
 * pass->count and pass->truncated are set in any case.
 *
 * Descriptors beyond max are closed here or by the kernel, which can block if the sender is not
 * trusted: pass FDPASS_MAX then.
 */
ssize_t fdpass_receive(int socket, void *data, size_t room, struct fdpass *pass, int flags);

#endif
