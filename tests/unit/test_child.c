/* SPDX-License-Identifier: MIT */
/*
 * sys/child: a started program has the given arguments, environment and descriptor, and no blocked
 * signal. The end of a process is seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/child.h"

#define CHILD_FD 7
#define SHELL "/bin/sh"

static char *const environment[] = { (char *)"NAME=value", NULL };
static const int no_defaults[] = { 0 }, pipe_default[] = { SIGPIPE, 0 };

/* Runs a script of sh that has the writing end of a pipe; returns what it wrote there. */
static void run(const char *script, const int *defaults, char *text, size_t size)
{
	char *const arguments[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct child_options options = {
		.program = SHELL,
		.arguments = arguments,
		.environment = environment,
		.child_fd = CHILD_FD,
		.defaults = defaults,
	};
	int ends[2], status;
	ssize_t got, used = 0;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	options.fd = ends[1];
	assert_int_equal(child_start(&options, &pid), 0);
	close(ends[1]);
	while ((got = read(ends[0], text + used, size - 1 - (size_t)used)) > 0)
		used += got;
	text[used] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void test_program_has_arguments_environment_and_descriptor(void **state)
{
	char text[256];

	run("echo \"$0 $NAME\" >&7", no_defaults, text, sizeof(text));
	assert_string_equal(text, "sh value\n");
}

/* A line of /proc/PID/status of a child that the parent started with SIGTERM blocked and SIGPIPE ignored. */
static uint64_t signals_of(const char *line, const int *defaults)
{
	unsigned long long signals;
	char script[128], text[256];
	sigset_t blocked, before;

	snprintf(script, sizeof(script),
		"while read -r name value; do case $name in %s:) echo $value >&7;; esac; "
		"done </proc/$$/status", line);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
	assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	run(script, defaults, text, sizeof(text));
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(sscanf(text, "%llx", &signals), 1);
	return signals;
}

static void test_no_signal_is_blocked(void **state)
{
	assert_int_equal(signals_of("SigBlk", no_defaults) >> (SIGTERM - 1) & 1, 0);
}

static void test_only_named_signals_get_their_default_action(void **state)
{
	assert_int_equal(signals_of("SigIgn", no_defaults) >> (SIGPIPE - 1) & 1, 1);
	assert_int_equal(signals_of("SigIgn", pipe_default) >> (SIGPIPE - 1) & 1, 0);
}

static void test_missing_program_is_an_error(void **state)
{
	char *const arguments[] = { (char *)"none", NULL };
	const struct child_options options = {
		.program = "/nonexistent/program",
		.arguments = arguments,
		.environment = environment,
		.fd = STDERR_FILENO,
		.child_fd = CHILD_FD,
		.defaults = no_defaults,
	};
	int ret, status;
	pid_t pid;

	ret = child_start(&options, &pid);
	if (ret) {
		assert_int_equal(ret, -ENOENT);
		return;
	}
	/* under valgrind only the child can find out */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 127);
}

/* A process that another one waits for by its descriptor, as the acceptor does. */
static void test_end_of_a_process_is_seen(void **state)
{
	int ends[2], fd, status;
	pid_t pid;
	char c;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit(read(ends[0], &c, 1) == 0 ? 0 : 1);
	}
	close(ends[0]);
	fd = child_open_process(pid);
	if (fd == -ENOSYS) {
		close(ends[1]);
		waitpid(pid, &status, 0);
		skip(); /* valgrind */
	}
	assert_true(fd >= 0);
	assert_int_equal(poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, 0), 0);
	close(ends[1]);
	assert_int_equal(poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, 30000), 1);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_has_arguments_environment_and_descriptor),
		cmocka_unit_test(test_no_signal_is_blocked),
		cmocka_unit_test(test_only_named_signals_get_their_default_action),
		cmocka_unit_test(test_missing_program_is_an_error),
		cmocka_unit_test(test_end_of_a_process_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
