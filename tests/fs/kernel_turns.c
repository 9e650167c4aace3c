/* SPDX-License-Identifier: MIT */
/*
 * kernel_turns CPU CPU COUNT: two processes, one on each CPU, take turns: each calls getppid(2) when the
 * other one's call has returned, for kernel_order.sh. Prints the numbers of both.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void take_turns(const char *cpu, long count, int from, int to)
{
	cpu_set_t cpus;
	char turn;

	CPU_ZERO(&cpus);
	CPU_SET(atoi(cpu), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		_exit(3);
	while (count-- && read(from, &turn, 1) == 1) {
		syscall(SYS_getppid);
		if (write(to, &turn, 1) != 1)
			_exit(4);
	}
}

int main(int argc, char **argv)
{
	int there[2], back[2], status;
	pid_t pid;

	if (argc != 4 || pipe(there) || pipe(back))
		return 2;
	pid = fork();
	if (pid < 0)
		return 2;
	if (!pid) {
		take_turns(argv[2], atol(argv[3]), there[0], back[1]);
		_exit(0);
	}
	printf("%d %d\n", (int)getpid(), (int)pid);
	fflush(stdout);
	if (write(back[1], "t", 1) != 1)
		return 2;
	take_turns(argv[1], atol(argv[3]), back[0], there[1]);
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 5;
}
