/* SPDX-License-Identifier: MIT */
/*
 * cpu_of: the CPU time of a process, in nanoseconds, user and system together.
 *
 *	cpu_of -p PID              of a running process, with its exited threads
 *	cpu_of -o FILE COMMAND...  runs the command, writes to FILE the time of it and the children that
 *	                           it waited for; exits with its status
 *
 * The first form reads the CPU clock of the process, which has a resolution of nanoseconds. The
 * second uses wait4(2), which has a resolution of microseconds.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

static int print_clock(const char *pid_text)
{
	struct timespec now;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)atoi(pid_text), &clock) || clock_gettime(clock, &now)) {
		fprintf(stderr, "cpu_of: no process %s\n", pid_text);
		return 1;
	}
	printf("%llu\n",
		(unsigned long long)now.tv_sec * NSEC_PER_SEC + (unsigned long long)now.tv_nsec);
	return 0;
}

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_usec * NSEC_PER_USEC;
}

static int run_command(const char *file, char **command)
{
	struct rusage usage;
	int status;
	FILE *out;
	pid_t child;

	/*
	 * signals from the terminal or from bench/run are for the command: it exits, then cpu_of
	 * does
	 */
	signal(SIGINT, SIG_IGN);
	child = fork();
	if (!child) {
		signal(SIGINT, SIG_DFL);
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
		perror("cpu_of");
		return 1;
	}
	out = fopen(file, "w");
	if (!out || fprintf(out, "%llu\n",
			(unsigned long long)(ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime))) < 0 ||
		fclose(out)) {
		perror(file);
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "-p") == 0)
		return print_clock(argv[2]);
	if (argc > 3 && strcmp(argv[1], "-o") == 0)
		return run_command(argv[2], argv + 3);
	fprintf(stderr, "usage: cpu_of -p PID | cpu_of -o FILE COMMAND...\n");
	return 2;
}
