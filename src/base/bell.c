/* SPDX-License-Identifier: MIT */
/* One thread wakes another: see bell.h. */
#include "base/bell.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int bell_open(void)
{
	int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	return bell < 0 ? -errno : bell;
}

void bell_ring(int bell)
{
	const uint64_t one = 1;

	while (write(bell, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

bool bell_take(int bell)
{
	uint64_t rings;

	/* a nonblocking read is never interrupted by a signal */
	return read(bell, &rings, sizeof(rings)) > 0;
}

void bell_wait(int bell)
{
	struct pollfd rung = { .fd = bell, .events = POLLIN };

	while (!bell_take(bell))
		(void)poll(&rung, 1, -1);
}
