/* SPDX-License-Identifier: MIT */
/* The size of a terminal: see terminal.h. */
#include "sys/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>

int terminal_size(int fd, unsigned int *rows, unsigned int *columns)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size))
		return -errno;
	*rows = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
	return 0;
}
