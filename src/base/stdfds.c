/* SPDX-License-Identifier: MIT */
/* Reserves the numbers of closed standard descriptors: see stdfds.h. */
#include "base/stdfds.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <unistd.h>

int stdfds_fill(void)
{
	int fd, got;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/*
		 * opened for the wrong direction, so that using it fails; it gets the lowest free
		 * number, this one
		 */
		got = open(_PATH_DEVNULL, (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
		if (got < 0)
			return -errno;
	}
	return 0;
}
