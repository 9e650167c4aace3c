/* SPDX-License-Identifier: MIT */
/*
 * The command that `kprof record` and `kprof stat` measure: a child that waits before its program, so
 * that everything is ready when it begins, and the signals that reach kprof meanwhile.
 *
 * Signals go to the command, as with time(1): what a terminal sends to both of them reaches it by
 * itself, everything else is passed on. kprof ends when the command has ended, not before. One command
 * at a time; the caller has one thread.
 */
#ifndef KPROFS_CMD_LAUNCH_H
#define KPROFS_CMD_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

struct launch {
	pid_t pid;
	int signal_fd; /* readable: launch_signals() has something to do */
	bool ended;    /* the command; it is waited for in launch_end() only, so its pid is its own */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, from exec to the end */

	/* after launch_end() */
	int status; /* of a shell: of exit(3), or 128 + the signal */
	struct rusage usage; /* of the command and what it waited for */

	int go_fd; /* to the child, until it runs */
	sigset_t before; /* the mask that the caller and the command have */
};

/* Forks the child, which waits. -errno of socketpair(2), fork(2), signalfd(2). */
int launch_begin(struct launch *launch, char **argv, struct err *err);

/* Lets it run; returns when the program runs, or with the -errno of exec(3). */
int launch_go(struct launch *launch, struct err *err);

/* What signal_fd told. */
void launch_signals(struct launch *launch);

/* Waits for a command that runs; without one ends the child. Gives the signals back. */
void launch_end(struct launch *launch);

/* The exit status for what launch_go() returned: 127 no such program, 126 it can't be run. */
int launch_status(int ret);

#endif
