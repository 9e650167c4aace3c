/* SPDX-License-Identifier: MIT */
/*
 * producers/listener: limits of time, rate, connections and reports hold against processes that use
 * them up.
 */
#include "tests/unit/listener_fixture.h"

/* ---- limits ---------------------------------------------------------------------------------- */

static bool own_connection_was_reported(void)
{
	unsigned int own;

	pthread_mutex_lock(&server.lock);
	own = server.own_reports;
	pthread_mutex_unlock(&server.lock);
	return own > 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void set_low_limits(struct listener_options *options)
{
	options->connections = 5;
	options->user_connections = 3;
	options->hello_ms = 3000; /* a busy machine can delay a HELLO, too */
	options->packets = 20;
	options->packets_per_s = 1;
	options->reports = 1000;
}

static int begin_with_low_limits(void **state)
{
	start(set_low_limits);
	return 0;
}

static void test_connection_without_hello_times_out(void **state)
{
	struct received received, good;
	struct fixture f;
	int fd = open_connection(), good_fd = open_connection();

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	init_received(&received);
	init_received(&good);
	send_hello(good_fd, "prog", f.fd);
	WAIT_FOR(is_ended(fd, &received));
	assert_true(was_reported("?: it sent no HELLO in time\n"));
	assert_int_equal(stat_of("trace.detached"), 1);
	WAIT_FOR(is_switched(good_fd, &good, 0, 1)); /* the connection with HELLO stays */
	close(fd);
	close(good_fd);
	fixture_close(&f);
}

static void test_too_many_packets_end_the_connection(void **state)
{
	const uint32_t unknown[2] = {99, 8};
	struct received received;
	struct fixture f;
	int fd = open_connection();

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	init_received(&received);
	send_hello(fd, "flood", f.fd);
	for (int i = 0; i < 19; i++)
		assert_int_equal(send_with(fd, unknown, sizeof(unknown), NULL, 0), 8);
	WAIT_FOR(is_switched(fd, &received, 0, 1));
	while (send_with(fd, unknown, sizeof(unknown), NULL, 0) == 8)
		;
	assert_true(errno == EPIPE || errno == ECONNRESET);
	WAIT_FOR(was_reported("flood: it sends too many packets\n"));
	close(fd);
	fixture_close(&f);
}

static void test_connections_over_the_limit_are_refused(void **state)
{
	struct received received[4];
	struct fixture f[4];
	int fds[4];

	for (int i = 0; i < 4; i++) {
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		init_received(&received[i]);
	}
	for (int i = 0; i < 3; i++) {
		fds[i] = open_connection();
		send_hello(fds[i], "crowd", f[i].fd);
		WAIT_FOR(is_switched(fds[i], &received[i], 0, 1));
	}
	fds[3] = open_connection();
	WAIT_FOR(is_ended(fds[3], &received[3]));
	assert_true(was_reported("?: the connection limit of this user is reached\n"));
	close(fds[3]);
	close(fds[0]);
	WAIT_FOR(stat_of("trace.connections") == 2);
	fds[3] = open_connection();
	init_received(&received[3]);
	send_hello(fds[3], "crowd", f[3].fd);
	WAIT_FOR(is_switched(fds[3], &received[3], 0, 1));
	for (int i = 0; i < 4; i++) {
		if (i)
			close(fds[i]);
		fixture_close(&f[i]);
	}
}

static void limit_connections_of_a_process(struct listener_options *options)
{
	options->process_connections = 3;
	options->reports = 1000;
}

static int begin_with_process_limit(void **state)
{
	start(limit_connections_of_a_process);
	return 0;
}

/*
 * A process of the same user that attaches once; see was_accepted(). It does not exit, because
 * valgrind would report what the parent's threads hold.
 */
static pid_t fork_producer(void)
{
	pid_t child = fork();

	if (child == 0) {
		struct pollfd told = {.events = POLLIN};
		struct fixture f;

		fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
		told.fd = open_connection();
		send_hello(told.fd, "other", f.fd);
		kill(getpid(), poll(&told, 1, WAIT_MS) == 1 && told.revents == POLLIN ? SIGKILL : SIGTERM);
	}
	return child;
}

static bool was_accepted(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* A process that attaches as often as it can leaves connections for the user's other processes. */
static void test_greedy_process_leaves_connections_to_others(void **state)
{
	struct received received[4], late;
	struct fixture f[4];
	int fds[4], fd;

	for (int i = 0; i < 4; i++) {
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		init_received(&received[i]);
		fds[i] = open_connection();
		if (i == 3)
			break;
		send_hello(fds[i], "greedy", f[i].fd);
		WAIT_FOR(is_switched(fds[i], &received[i], 0, 1));
	}
	WAIT_FOR(is_ended(fds[3], &received[3]));
	assert_true(was_reported("?: the connection limit of this process is reached\n"));
	assert_true(was_accepted(fork_producer()));
	/* of its own connections those without HELLO are evicted first */
	close(fds[2]);
	WAIT_FOR(stat_of("trace.connections") == 2);
	init_received(&late);
	fd = open_connection();
	close(fds[3]);
	init_received(&received[3]);
	fds[3] = open_connection();
	send_hello(fds[3], "greedy", f[3].fd);
	WAIT_FOR(is_switched(fds[3], &received[3], 0, 1));
	WAIT_FOR(is_ended(fd, &late));
	assert_true(was_reported("?: evicted: no HELLO yet, and the connection limit is reached\n"));
	close(fd);
	for (int i = 0; i < 4; i++) {
		if (i != 2)
			close(fds[i]);
		fixture_close(&f[i]);
	}
}

/* ---- descriptors whose close takes long ------------------------------------------------------ */

/*
 * A TCP connection full of unread data: close(2) of it blocks (SO_LINGER) until the other end,
 * *reader, is closed. -1 if there is no network here.
 */
static int make_socket_that_lingers(int *reader)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char data[4096] = {0};

	if (bind(listener, (struct sockaddr *)&address, bytes) || listen(listener, 1) ||
		getsockname(listener, (struct sockaddr *)&address, &bytes) ||
		connect(fd, (struct sockaddr *)&address, bytes)) {
		close(listener);
		close(fd);
		return -1;
	}
	*reader = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	assert_true(*reader >= 0);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	return fd;
}

/* Stops all threads of the process before it returns. */
static void stop_process(pid_t pid)
{
	kill(pid, SIGSTOP);
	for (bool stopped = false; !stopped; g_usleep(1000)) {
		g_autofree char *dir = g_strdup_printf("/proc/%d/task", (int)pid);
		g_autoptr(GDir) tasks = g_dir_open(dir, 0, NULL);
		const char *task;

		stopped = true;
		while ((task = g_dir_read_name(tasks))) {
			g_autofree char *path = g_strdup_printf("%s/%s/status", dir, task);
			g_autofree char *status = NULL;

			stopped = stopped && (!g_file_get_contents(path, &status, NULL, NULL) ||
				strstr(status, "State:\tT"));
		}
	}
}

#define HANGING 8

/*
 * In a process of its own: sends descriptors whose close blocks, some with packets that take none,
 * some behind a packet that ends the connection. It lives until it may end, since it has the other
 * ends.
 */
static void send_sockets_that_linger(pid_t server_pid, int may_end)
{
	const struct kprof_packet_hello hello = make_hello("hanging", POOL_BYTES);
	int fds[HANGING], to[HANGING], reader;
	char c;

	for (int i = 0; i < HANGING; i++) {
		fds[i] = make_socket_that_lingers(&reader);
		if (fds[i] < 0)
			_exit(77);
		to[i] = open_connection();
	}
	stop_process(server_pid); /* so that its descriptors are the last ones */
	for (int i = 0; i < HANGING; i++) {
		if (i == 0)
			send_with(to[i], "", 0, &fds[i], 1);
		if (i == 1)
			send_with(to[i], "junk", 4, NULL, 0);
		send_with(to[i], &hello, sizeof(hello), &fds[i], 1);
		close(fds[i]);
		close(to[i]);
	}
	kill(server_pid, SIGCONT);
	_exit(read(may_end, &c, 1) == 0 ? 0 : 1);
}

/* A process sends descriptors whose close blocks. The user's other processes can still attach. */
static void test_descriptors_that_cannot_be_closed_block_no_other(void **state)
{
	int may_end[2], status = -1;
	const char *preload = getenv("LD_PRELOAD");
	pid_t child, server_pid = getpid();

	if (preload && strstr(preload, "vgpreload"))
		skip(); /* valgrind's threads are not stopped one by one, nor end as the kernel's do */
	alarm(60); /* a listener that hangs is not stopped either */
	assert_int_equal(pipe2(may_end, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		close(may_end[1]);
		send_sockets_that_linger(server_pid, may_end[0]);
	}
	close(may_end[0]);
	WAIT_FOR(stat_of("trace.detached") == HANGING || waitpid(child, &status, WNOHANG) == child);
	if (stat_of("trace.detached") < HANGING) {
		assert_int_equal(WEXITSTATUS(status), 77);
		skip(); /* without a network */
	}
	assert_true(was_reported("?: unexpected descriptors in a packet\n"));
	assert_true(was_accepted(fork_producer()));
	close(may_end[1]);
	assert_int_equal(waitpid(child, &status, 0) == child ? status : -1, 0);
	alarm(0);
}

/* Connections without HELLO do not keep producers out. */
static void test_connections_without_hello_keep_no_producer_out(void **state)
{
	struct received received[7], good;
	struct fixture f;
	int fds[7], fd;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	init_received(&good);
	fd = open_connection();
	send_hello(fd, "good", f.fd);
	WAIT_FOR(is_switched(fd, &good, 0, 1));
	for (int i = 0; i < 7; i++) {
		init_received(&received[i]);
		fds[i] = open_connection();
	}
	for (int i = 0; i < 5; i++) /* they have two of three connections */
		WAIT_FOR(is_ended(fds[i], &received[i]));
	assert_true(was_reported("?: evicted: no HELLO yet, and the connection limit is reached\n"));
	assert_int_equal(stat_of("trace.connections"), 3);
	receive_packets(fd, &good);
	assert_false(good.ended);
	for (int i = 0; i < 7; i++)
		close(fds[i]);
	close(fd);
	fixture_close(&f);
}

static void allow_few_reports(struct listener_options *options)
{
	options->reports = 4;
}

static int begin_with_few_reports(void **state)
{
	start(allow_few_reports);
	return 0;
}

/* Reports are limited. Counts are not. */
static void test_reports_are_limited_and_counts_are_not(void **state)
{
	for (int i = 0; i < 40; i++) {
		struct received received;
		int fd = open_connection();

		init_received(&received);
		assert_int_equal(send_with(fd, "x", 1, NULL, 0), 1);
		WAIT_FOR(is_ended(fd, &received));
		close(fd);
	}
	assert_int_equal(stat_of("trace.detached"), 40);
	pthread_mutex_lock(&server.lock);
	/* 14 bytes at least; one more for each second that it took */
	assert_true(server.reports->len >= 2 * 14 && server.reports->len < 39 * 14);
	pthread_mutex_unlock(&server.lock);
}

/* Sends damaged packets over connections of its own until `stop` can be read. */
static void flood(int ready, int stop)
{
	struct pollfd ends[2] = {{.fd = stop, .events = POLLIN}, {.events = POLLIN}};
	bool told = false;

	for (int i = 0; poll(ends, 1, 0) == 0; i++) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		char byte;

		ends[1].fd = fd;
		memcpy(address.sun_path, server.path, sizeof(server.path));
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
			send(fd, "xx", 2, MSG_NOSIGNAL) == 2)
			do /* the end of the connection, or of the test */
				poll(ends, 2, -1);
			while (!ends[0].revents && recv(fd, &byte, 1, MSG_DONTWAIT) > 0);
		close(fd);
		if (i >= 20 && !told)
			told = write(ready, "x", 1) == 1;
	}
}

/* One process floods the listener. The error of another is still reported. */
static void test_flood_of_one_process_hides_no_other_report(void **state)
{
	int ready[2], stop[2], fd;
	const uint32_t none[2] = {99, 7};
	struct received received;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready) | pipe(stop), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(stop[1]);
		flood(ready[1], stop[0]);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	init_received(&received);
	fd = open_connection();
	assert_int_equal(send_with(fd, none, sizeof(none), NULL, 0), 8);
	WAIT_FOR(is_ended(fd, &received));
	WAIT_FOR(own_connection_was_reported());
	close(stop[0]);
	close(stop[1]); /* ends the flooding process */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ready[0]);
	close(ready[1]);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connection_without_hello_times_out,
						begin_with_low_limits, finish),
		cmocka_unit_test_setup_teardown(test_too_many_packets_end_the_connection,
						begin_with_low_limits, finish),
		cmocka_unit_test_setup_teardown(test_connections_over_the_limit_are_refused,
						begin_with_low_limits, finish),
		cmocka_unit_test_setup_teardown(test_greedy_process_leaves_connections_to_others,
						begin_with_process_limit, finish),
		cmocka_unit_test_setup_teardown(test_descriptors_that_cannot_be_closed_block_no_other,
						begin_with_reports, finish),
		cmocka_unit_test_setup_teardown(test_connections_without_hello_keep_no_producer_out,
						begin_with_low_limits, finish),
		cmocka_unit_test_setup_teardown(test_reports_are_limited_and_counts_are_not,
						begin_with_few_reports, finish),
		cmocka_unit_test_setup_teardown(test_flood_of_one_process_hides_no_other_report,
						begin_with_few_reports, finish),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
