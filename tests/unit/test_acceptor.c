/* SPDX-License-Identifier: MIT */
/*
 * producers/acceptor: the process that accepts connections closes its descriptors of those that have ended,
 * also if it was told so while it did not receive.
 */
#include "tests/unit/listener_fixture.h"

#include <dirent.h>
#include <sys/resource.h>

/* A message for each is more than the socket to the acceptor holds: it has room for fewer than 300. */
#define CONNECTIONS 400
/* Of this process, two for each connection. */
#define DESCRIPTORS 1000

static pid_t acceptor; /* 0 if it is not known */

static char *read_file(const char *format, pid_t pid)
{
	g_autofree char *path = g_strdup_printf(format, pid, pid);
	char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("");
}

static bool is_acceptor(pid_t pid)
{
	g_autofree char *name = read_file("/proc/%d/comm", pid);

	return strcmp(name, "kp-accept\n") == 0;
}

/* Among the children of the main thread, which has started it. */
static bool find_acceptor(void)
{
	g_autofree char *text = read_file("/proc/%d/task/%d/children", getpid());
	g_auto(GStrv) pids = g_strsplit(text, " ", -1);

	for (size_t i = 0; pids[i]; i++) {
		pid_t pid = (pid_t)strtol(pids[i], NULL, 10);

		if (pid && is_acceptor(pid))
			acceptor = pid;
	}
	return acceptor != 0;
}

static bool is_stopped(void)
{
	g_autofree char *text = read_file("/proc/%d/stat", acceptor);
	const char *state = strrchr(text, ')');

	return state && state[1] == ' ' && state[2] == 'T';
}

static int count_descriptors(void)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/fd", acceptor);
	DIR *dir = opendir(path);
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* No connection of the test ends by itself. */
static void wait_long_for_hello(struct listener_options *options)
{
	options->hello_ms = 10 * WAIT_MS;
}

static int begin_waiting(void **state)
{
	acceptor = 0;
	start(wait_long_for_hello);
	return 0;
}

static int finish_continued(void **state)
{
	if (acceptor)
		kill(acceptor, SIGCONT);
	return finish(state);
}

static void test_stopped_acceptor_closes_all_connections_later(void **state)
{
	int fds[CONNECTIONS], before, i;
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < DESCRIPTORS || access("/proc/thread-self/children", R_OK))
		skip();
	WAIT_FOR(find_acceptor());
	fds[0] = open_connection();
	WAIT_FOR(stat_of("trace.connections") == 1);
	before = count_descriptors() - 1;
	for (i = 1; i < CONNECTIONS; i++)
		fds[i] = open_connection();
	WAIT_FOR(stat_of("trace.connections") == CONNECTIONS);
	assert_int_equal(count_descriptors(), before + CONNECTIONS);
	assert_int_equal(kill(acceptor, SIGSTOP), 0);
	WAIT_FOR(is_stopped());
	for (i = 0; i < CONNECTIONS; i++) {
		close(fds[i]);
		WAIT_FOR(stat_of("trace.connections") == (uint64_t)(CONNECTIONS - 1 - i));
	}
	assert_int_equal(count_descriptors(), before + CONNECTIONS);
	assert_int_equal(kill(acceptor, SIGCONT), 0);
	WAIT_FOR(count_descriptors() == before);
	/* and it goes on to accept */
	fds[0] = open_connection();
	WAIT_FOR(stat_of("trace.connections") == 1);
	assert_true(is_acceptor(acceptor));
	close(fds[0]);
	WAIT_FOR(count_descriptors() == before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_stopped_acceptor_closes_all_connections_later, begin_waiting,
			finish_continued),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
