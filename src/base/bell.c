/* SPDX-License-Identifier: MIT */
/* One thread wakes another: see bell.h. */
#include "base/bell.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int bell_open(void)
{
	int bell = eventfd(0, EFD_CLOEXEC);

	return bell < 0 ? -errno : bell;
}

void bell_ring(int bell)
{
	const uint64_t one = 1;

	while (write(bell, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void bell_wait(int bell)
{
	uint64_t rings;

	while (read(bell, &rings, sizeof(rings)) < 0 && errno == EINTR)
		;
}
