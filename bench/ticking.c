/* SPDX-License-Identifier: MIT */
/*
 * ticking PROGRAMS RATE: starts PROGRAMS programs, each of which writes RATE events a second, a
 * tenth of them every 100 ms, until this one exits.
 */
#include <kprof/kprof.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_PER_S 10

static void tick(unsigned int rate)
{
	const struct timespec pause = { .tv_nsec = 1000000000 / ROUNDS_PER_S };
	unsigned int number = 0;

	for (;;) {
		for (unsigned int i = 0; i < rate / ROUNDS_PER_S; i++)
			KPROF_EVENT(ticking, tick, "%u", number++);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	pid_t parent = getpid();

	if (argc != 3) {
		fprintf(stderr, "usage: ticking PROGRAMS RATE\n");
		return 2;
	}
	for (int i = 0; i < atoi(argv[1]); i++) {
		pid_t child = fork();

		if (child < 0) {
			perror("ticking: fork");
			return 1;
		}
		if (child)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* the parent exited before prctl() */
			_exit(0);
		tick((unsigned int)atoi(argv[2]));
	}
	for (;;)
		pause();
}
