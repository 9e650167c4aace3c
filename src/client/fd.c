/* SPDX-License-Identifier: MIT */
/*
 * Descriptors inside an arbitrary program. A program that becomes a daemon may close all
 * descriptors and open others with the same numbers: a descriptor that the library did not open
 * must not be read, written or closed.
 */
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* From here on numbers are seldom reused: the kernel gives the lowest free one. */
#define HIGH_FD 700

int own_fd_take(struct own_fd *own, int fd)
{
	struct stat st;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high >= 0) { /* else RLIMIT_NOFILE is lower: keep the low number */
		close(fd);
		fd = high;
	}
	if (fstat(fd, &st) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	own->fd = fd;
	own->dev = st.st_dev;
	own->ino = st.st_ino;
	return 0;
}

bool own_fd_is_ours(const struct own_fd *own)
{
	struct stat st;

	return own->fd >= 0 && fstat(own->fd, &st) == 0 && st.st_dev == own->dev &&
		st.st_ino == own->ino;
}

void own_fd_close(struct own_fd *own)
{
	if (own_fd_is_ours(own))
		close(own->fd);
	own->fd = -1;
}
