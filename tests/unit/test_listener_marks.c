/* SPDX-License-Identifier: MIT */
/*
 * producers/listener, connection and marks: a process that is no producer can send messages, up to the
 * limits.
 */
#include "tests/unit/listener_fixture.h"

#include "producers/mark_client.h"
#include "producers/user_limits.h"

/* The text that was taken last; protected by server.lock. */
static char taken[KPROF_MARK_MAX + 1];

/* Refuses texts of one byte. */
static int on_mark(void *arg, pid_t pid, const char *text, size_t bytes)
{
	assert_ptr_equal(arg, &server);
	assert_int_equal(pid, getpid());
	if (bytes == 1)
		return -ENOMEM;
	pthread_mutex_lock(&server.lock);
	memcpy(taken, text, bytes);
	taken[bytes] = '\0';
	pthread_mutex_unlock(&server.lock);
	return 0;
}

static bool was_taken(const char *text, size_t bytes)
{
	bool was;

	pthread_mutex_lock(&server.lock);
	was = strlen(taken) == bytes && !memcmp(taken, text, bytes);
	pthread_mutex_unlock(&server.lock);
	return was;
}

static void set_mark(struct listener_options *options)
{
	options->mark = on_mark;
	options->owner = geteuid(); /* not limited */
}

static int begin_with_marks(void **state)
{
	start(set_mark);
	return 0;
}

static void send_mark(int fd, const char *text, size_t bytes)
{
	struct kprof_packet_mark mark = {
		.head = {KPROF_PACKET_MARK, (uint32_t)(sizeof(mark) + bytes)}};
	char packet[sizeof(mark) + 2 * KPROF_MARK_MAX];

	memcpy(packet, &mark, sizeof(mark));
	memcpy(packet + sizeof(mark), text, bytes);
	assert_int_equal(send(fd, packet, mark.head.bytes, 0), mark.head.bytes);
}

/* Sends a MARK; returns the error of the answer. */
static uint32_t mark(int fd, const char *text, size_t bytes)
{
	struct kprof_packet_marked marked;

	send_mark(fd, text, bytes);
	assert_int_equal(recv(fd, &marked, sizeof(marked), 0), sizeof(marked));
	assert_int_equal(marked.head.type, KPROF_PACKET_MARKED);
	assert_int_equal(marked.head.bytes, sizeof(marked));
	return marked.error;
}

static void test_mark_is_answered_when_it_is_taken(void **state)
{
	char text[KPROF_MARK_MAX + 1];
	int fd = open_connection();

	memset(text, 't', sizeof(text));
	assert_int_equal(mark(fd, "a text", 6), 0);
	assert_true(was_taken("a text", 6));
	assert_int_equal(mark(fd, text, KPROF_MARK_MAX), 0);
	assert_true(was_taken(text, KPROF_MARK_MAX));
	assert_int_equal(mark(fd, text, KPROF_MARK_MAX + 1), EMSGSIZE);
	assert_int_equal(mark(fd, "", 0), EINVAL);
	assert_int_equal(mark(fd, "two\nlines", 9), EINVAL);
	assert_int_equal(mark(fd, "a\0b", 3), EINVAL);
	assert_int_equal(stat_of("trace.marks_refused"), 0);
	assert_int_equal(mark(fd, "1", 1), ENOMEM);
	assert_int_equal(stat_of("trace.marks_refused"), 1);
	close(fd);
	WAIT_FOR(stat_of("trace.connections") == 0);
	assert_int_equal(stat_of("trace.detached"), 0);
}

static void test_mark_of_a_wrong_size_ends_the_connection(void **state)
{
	const struct kprof_packet shorter = {KPROF_PACKET_MARK, sizeof(shorter)};
	int fd = open_connection();

	assert_int_equal(send(fd, &shorter, sizeof(shorter), 0), sizeof(shorter));
	WAIT_FOR(stat_of("trace.detached") == 1);
	WAIT_FOR(was_reported("a MARK that is too short")); /* a moment later */
	close(fd);
}

/* Answers that fill the socket: they are not lost, or the connection ends. */
static void test_marks_whose_answers_are_not_read_end_the_connection(void **state)
{
	int fd = open_connection();
	const struct kprof_packet_mark head = {.head = {KPROF_PACKET_MARK, sizeof(head) + 4}};
	char packet[sizeof(head) + 4] = {0};

	memcpy(packet, &head, sizeof(head));
	memcpy(packet + sizeof(head), "text", 4);
	/* the connection ends at the latest when it has sent too many packets */
	while (send(fd, packet, sizeof(packet), MSG_NOSIGNAL) == (ssize_t)sizeof(packet))
		;
	WAIT_FOR(stat_of("trace.detached") == 1);
	close(fd);
	fd = open_connection();
	assert_int_equal(mark(fd, "another", 7), 0);
	close(fd);
}

/* As mark_client_send, which gives up on a server that a busy machine delays: repeated then. */
static int send_by_client(const char *path, const char *text, size_t bytes, struct err *err)
{
	const gint64 until = g_get_monotonic_time() + WAIT_MS * 1000;
	int ret;

	do
		ret = mark_client_send(path, text, bytes, err);
	while (ret == -ETIMEDOUT && g_get_monotonic_time() < until);
	return ret;
}

static void test_client_says_what_the_server_answers(void **state)
{
	char text[KPROF_MARK_MAX + 1];
	struct err err = {""};

	memset(text, 't', sizeof(text));
	assert_int_equal(send_by_client(server.path, "by the client", 13, &err), 0);
	assert_true(was_taken("by the client", 13));
	assert_int_equal(send_by_client(server.path, "", 0, &err), -EINVAL);
	assert_non_null(strstr(err.text, "one line, not empty"));
	assert_int_equal(send_by_client(server.path, text, sizeof(text), &err), -EMSGSIZE);
	assert_non_null(strstr(err.text, "longer than 512 bytes"));
	assert_int_equal(send_by_client(server.path, "1", 1, &err), -ENOMEM);
	assert_non_null(strstr(err.text, "the server says: "));
	assert_int_equal(send_by_client("/nonexistent/socket", "text", 4, &err), -ENOENT);
	assert_string_equal(err.text, "no server listens at /nonexistent/socket");
}

static void test_server_without_a_trace_takes_no_marks(void **state)
{
	struct err err = {""};

	assert_int_equal(send_by_client(server.path, "text", 4, &err), -EOPNOTSUPP);
}

/* Far fewer than a user gets back in the time that this takes. */
#define MANY 10000

static unsigned int count_allowed(struct user_limits *limits, uid_t uid)
{
	unsigned int allowed = 0;

	for (int i = 0; i < MANY; i++)
		allowed += user_limits_take(limits, uid, 1);
	return allowed;
}

static void test_each_user_is_limited(void **state)
{
	struct user_limits *limits = user_limits_create(3, 0);
	unsigned int allowed = count_allowed(limits, 1000);

	(void)state;
	assert_true(allowed >= 3 && allowed < MANY);
	allowed = count_allowed(limits, 1001);
	assert_true(allowed >= 3 && allowed < MANY);
	user_limits_destroy(limits);
}

static void test_the_reserve_is_left_to_other_processes(void **state)
{
	struct user_limits *limits = user_limits_create(MANY, MANY / 2);
	unsigned int allowed = count_allowed(limits, 1000);

	(void)state;
	assert_in_range(allowed, MANY / 2, MANY - 1);
	assert_true(user_limits_take(limits, 1000, 2));
	assert_true(user_limits_take(limits, 1000, 1));
	user_limits_destroy(limits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_mark_is_answered_when_it_is_taken, begin_with_marks, finish),
		cmocka_unit_test_setup_teardown(
			test_mark_of_a_wrong_size_ends_the_connection, begin_with_marks, finish),
		cmocka_unit_test_setup_teardown(
			test_marks_whose_answers_are_not_read_end_the_connection, begin_with_marks, finish),
		cmocka_unit_test_setup_teardown(
			test_client_says_what_the_server_answers, begin_with_marks, finish),
		cmocka_unit_test_setup_teardown(
			test_server_without_a_trace_takes_no_marks, begin, finish),
		cmocka_unit_test(test_each_user_is_limited),
		cmocka_unit_test(test_the_reserve_is_left_to_other_processes),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
