/* SPDX-License-Identifier: MIT */
/* The machine that this runs on: see host.h. */
#include "sys/host.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/clock.h"

_Static_assert(HOST_CLOCK_MONOTONIC == CLOCK_MONOTONIC, "the kernel's number is libc's");

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now); /* cannot fail: the clock exists everywhere */
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static uint32_t count_cpus(int which)
{
	long n = sysconf(which);

	return n > 0 ? (uint32_t)n : 1;
}

void host_read(struct host *host)
{
	struct utsname names;

	uname(&names); /* cannot fail: the buffer is valid */
	snprintf(host->name, sizeof(host->name), "%s", names.nodename);
	snprintf(host->release, sizeof(host->release), "%s", names.release);
	snprintf(host->arch, sizeof(host->arch), "%s", names.machine);
	host->cpus_present = count_cpus(_SC_NPROCESSORS_CONF);
	host->cpus_online = count_cpus(_SC_NPROCESSORS_ONLN);
	host->boot_wall_ns = wall_ns() - clock_monotonic_ns();
}
