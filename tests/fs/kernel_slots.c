/* SPDX-License-Identifier: MIT */
/*
 * kernel_slots DISTANCE COUNT: two processes whose numbers are DISTANCE apart, for kernel_slots.sh. The
 * first one waits in a read of 42 bytes; the second one begins a second later, calls getppid COUNT times,
 * sleeps for another second, so that its place may be taken from it, and calls getppid COUNT times again.
 * Then the first one returns from its read and calls getppid once. Prints both numbers. Exits with 77 if
 * no number at this distance is free.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Longer than begun_code.c waits before it takes a slot from a thread. */
static const struct timespec pause_time = { .tv_sec = 1, .tv_nsec = 200000000 };
static int input[2];

static void call(long count)
{
	for (long i = 0; i < count; i++)
		syscall(SYS_getppid);
}

static void run_first(void)
{
	char bytes[42];

	close(input[1]);
	if (read(input[0], bytes, sizeof(bytes)) != 1)
		_exit(1);
	call(1);
	_exit(0);
}

static void run_second(long count)
{
	nanosleep(&pause_time, NULL);
	call(count);
	nanosleep(&pause_time, NULL);
	call(count);
	_exit(0);
}

/* A child with this number: 0 or the number, or -1. */
static pid_t fork_as(pid_t number)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&number,
		.set_tid_size = 1 };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int await(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && !status ? 0 : 1;
}

int main(int argc, char **argv)
{
	int distance = argc == 3 ? atoi(argv[1]) : 0;
	pid_t first, second = -1;

	if (!distance || pipe(input))
		return 2;
	for (int tries = 0; second < 0 && tries < 100; tries++) {
		first = fork();
		if (!first)
			run_first();
		second = fork_as(first + distance);
		if (second < 0)
			second = fork_as(first - distance);
		if (!second)
			run_second(atol(argv[2]));
		if (second < 0) {
			kill(first, SIGKILL);
			waitpid(first, NULL, 0);
		}
	}
	if (second < 0)
		return errno == EEXIST || errno == EINVAL || errno == EPERM ? 77 : 2;
	printf("%d %d\n", (int)first, (int)second);
	fflush(stdout);
	return await(second) || write(input[1], "", 1) != 1 || await(first);
}
