/* SPDX-License-Identifier: MIT */
/* Writing to descriptors: see fdio.h. */
#include "base/fdio.h"

#include <errno.h>
#include <unistd.h>

int fdio_write(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}
