/* SPDX-License-Identifier: MIT */
/*
 * kernel_calls CPU COUNT: calls getppid(2) COUNT times on a CPU, for kernel_events.sh. It waits for a line
 * on its input first, and writes its process number before.
 */
#include <stdlib.h>
#include <sys/syscall.h>

#include "tests/fs/on_cpu.h"

int main(int argc, char **argv)
{
	long i, count;
	int status;

	if (argc != 3)
		return 2;
	status = wait_on_cpu(atoi(argv[1]));
	if (status)
		return status;
	count = atol(argv[2]);
	for (i = 0; i < count; i++)
		syscall(SYS_getppid);
	return 0;
}
