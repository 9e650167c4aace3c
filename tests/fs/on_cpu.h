/* SPDX-License-Identifier: MIT */
/* For programs that make a known number of system calls on a CPU, from the moment that a script chooses. */
#ifndef KPROFS_TESTS_ON_CPU_H
#define KPROFS_TESTS_ON_CPU_H

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Moves the process to a CPU, writes its process number to standard output, and waits for a line of standard
 * input. Returns 0, or a status to exit with.
 */
static inline int wait_on_cpu(int cpu)
{
	cpu_set_t cpus;
	char line[8];

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 3;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return read(STDIN_FILENO, line, sizeof(line)) < 0 ? 4 : 0;
}

#endif
