/* SPDX-License-Identifier: MIT */
/*
 * kernel_calls CPU COUNT: calls getppid(2) COUNT times on a CPU, for kernel_events.sh. It waits for a line
 * on its input first, and writes its process number before.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	cpu_set_t cpus;
	char line[8];
	long i, count;

	if (argc != 3)
		return 2;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[1]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 3;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 4;
	count = atol(argv[2]);
	for (i = 0; i < count; i++)
		syscall(SYS_getppid);
	return 0;
}
