/* SPDX-License-Identifier: MIT */
/*
 * Runs the command that `kprof record` and `kprof stat` measure: a child that waits before exec, so
 * that everything is ready when its program begins, and the signals that kprof receives meanwhile.
 *
 * Signals are for the command, as with time(1): a terminal sends its signals to both processes, all
 * others are passed on. kprof exits after the command, not before. Without a command the signals that
 * end a process end the run. One command at a time; the caller has one thread.
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
	pid_t pid;     /* 0 if there is no command */
	int signal_fd; /* readable: call launch_signals() */
	/* the command has exited; launch_end() reaps it, so its pid is not reused before */
	bool ended;
	/* a signal that ends processes came after the end or while `finishing`: the rest is given up */
	bool stopped;
	bool finishing; /* set by the caller: the run has ended, also if the command goes on */
	/* set after launch_begin(): SIGUSR2 is counted and not passed to the command */
	bool takes_switches;
	unsigned int switches;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, from exec to the end */

	/* set by launch_end() */
	int status;          /* as in a shell: of exit(3), or 128 + the signal */
	struct rusage usage; /* of the command and the children that it has waited for */

	int go_fd; /* to the child, until it runs */
	sigset_t before; /* the signal mask of the caller and the command */
};

/*
 * Forks the child, which waits. Without argv there is no child, and the first signal that ends
 * processes ends the run. Returns -errno of socketpair(2), fork(2) or signalfd(2).
 */
int launch_begin(struct launch *launch, char **argv, struct err *err);

/* Lets the child run its program. Returns 0 when the program runs, or -errno of exec(3). */
int launch_go(struct launch *launch, struct err *err);

/* Handles the signals in signal_fd. */
void launch_signals(struct launch *launch);

/* Waits for a command that runs; ends a child that does not. Restores the signal mask. */
void launch_end(struct launch *launch);

/* The exit status for the result of launch_go(): 127 no such program, 126 not executable. */
int launch_status(int ret);

#endif
