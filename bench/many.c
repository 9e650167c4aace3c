/* SPDX-License-Identifier: MIT */
/*
 * many: idle processes.
 *
 *	many COUNT
 *
 * Starts COUNT children, prints `ready` when all of them exist, and waits for SIGTERM or for the
 * exit of its parent; the children exit with it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#define COUNT_MAX 100000

static void be_idle(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* the parent may have exited before the previous line */
	while (getppid() == parent)
		pause();
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	pid_t self = getpid();
	unsigned long i;

	if (!count || count > COUNT_MAX) {
		fprintf(stderr, "usage: many COUNT\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (i = 0; i < count; i++) {
		pid_t child = fork();

		if (child < 0) {
			perror("many: fork");
			return 1;
		}
		if (!child)
			be_idle(self);
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
