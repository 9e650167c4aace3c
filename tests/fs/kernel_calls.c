/* SPDX-License-Identifier: MIT */
/*
 * kernel_calls CPU COUNT [FILE]: calls getppid(2) COUNT times on a CPU, or reads FILE so many times from its
 * begin, for kernel_events.sh and others. It waits for a line on its input first, and writes its process
 * number before.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "tests/fs/on_cpu.h"

int main(int argc, char **argv)
{
	long i, count;
	char text[256];
	int status, fd = -1;

	if (argc != 3 && argc != 4)
		return 2;
	if (argc == 4 && (fd = open(argv[3], O_RDONLY | O_CLOEXEC)) < 0)
		return 5;
	status = wait_on_cpu(atoi(argv[1]));
	if (status)
		return status;
	count = atol(argv[2]);
	for (i = 0; i < count; i++)
		if (fd < 0)
			syscall(SYS_getppid);
		else if (pread(fd, text, sizeof(text), 0) <= 0)
			return 6;
	return 0;
}
