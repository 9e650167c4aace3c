/* SPDX-License-Identifier: MIT */
/* Numbers of descriptors that are nobody's: see stdfds.h. */
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
		/* for the other direction, so that it can't be used; the lowest number is the free one */
		got = open(_PATH_DEVNULL, (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
		if (got < 0)
			return -errno;
	}
	return 0;
}
