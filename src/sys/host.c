/* SPDX-License-Identifier: MIT */
/* The machine that this runs on: see host.h. */
#include "sys/host.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

static int digit_value(char digit)
{
	return isdigit((unsigned char)digit) ? digit - '0' : tolower((unsigned char)digit) - 'a' + 10;
}

void host_read_id(const char *path, uint8_t id[KPROF_HOST_ID_BYTES])
{
	uint8_t found[KPROF_HOST_ID_BYTES] = { 0 };
	size_t digits = 0;
	char text[64];
	ssize_t n, i;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	memset(id, 0, KPROF_HOST_ID_BYTES);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text));
	close(fd);
	for (i = 0; i < n && text[i] != '\n'; i++) {
		if (text[i] == '-')
			continue;
		if (!isxdigit((unsigned char)text[i]) || digits == sizeof(found) * 2)
			return;
		found[digits / 2] = (uint8_t)(found[digits / 2] << 4 | digit_value(text[i]));
		digits++;
	}
	if (digits == sizeof(found) * 2)
		memcpy(id, found, sizeof(found));
}

void host_format_id(const uint8_t id[KPROF_HOST_ID_BYTES], char text[2 * KPROF_HOST_ID_BYTES + 1])
{
	uint8_t any = 0;
	size_t i;

	for (i = 0; i < KPROF_HOST_ID_BYTES; i++) {
		any |= id[i];
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	}
	if (!any)
		text[0] = '\0';
}
