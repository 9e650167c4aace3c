/* SPDX-License-Identifier: MIT */
/* Lists of CPUs: see cpu.h. */
#include "sys/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

/* sysfs returns one page at most; pages of 64 KiB exist, but no list gets near that size */
#define LIST_BYTES_MAX 16384

int cpu_open_list(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int cpu_reread_list(int fd, unsigned char *bitmap)
{
	char text[LIST_BYTES_MAX];
	ssize_t length;

	/* sysfs makes the text again for each read at offset 0, and returns all of it at once */
	length = pread(fd, text, sizeof(text), 0);
	if (length < 0)
		return -errno;
	if (length == sizeof(text))
		return -EFBIG;
	if (memchr(text, '\0', (size_t)length))
		return -EINVAL;
	if (length && text[length - 1] == '\n')
		length--;
	text[length] = '\0';
	if (!length) {
		memset(bitmap, 0, CPU_BITMAP_BYTES);
		return 0;
	}
	return units_parse_cpulist(text, bitmap, CPU_NUMBERS);
}

int cpu_read_list(const char *path, unsigned char *bitmap)
{
	int fd, ret;

	fd = cpu_open_list(path);
	if (fd < 0)
		return fd;
	ret = cpu_reread_list(fd, bitmap);
	close(fd);
	return ret;
}

unsigned int cpu_current(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (unsigned int)cpu;
}
