/* SPDX-License-Identifier: MIT */
/*
 * symbolizer/proto and symbolizer/result_wire: complete messages are decoded to the same values, and
 * cut and invented ones are refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "base/units.h"
#include "symbolizer/result_wire.h"
#include "symbolizer/proto.h"

struct pair {
	int fds[2];
	struct proto_message *in, *out;
};

static int set_up(void **state)
{
	struct pair *pair = g_new0(struct pair, 1);

	pair->in = g_new0(struct proto_message, 1);
	pair->out = g_new0(struct proto_message, 1);
	*state = pair;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair->fds);
}

static int tear_down(void **state)
{
	struct pair *pair = *state;

	close(pair->fds[0]);
	close(pair->fds[1]);
	g_free(pair->in);
	g_free(pair->out);
	g_free(pair);
	return 0;
}

static unsigned int count_descriptors(void)
{
	unsigned int count = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_message_comes_back_as_sent(void **state)
{
	struct pair *pair = *state;
	unsigned int before = count_descriptors();
	int passed = 4711;

	proto_init(pair->out, PROTO_OPEN_PATH);
	pair->out->pid = 42;
	proto_set_build_id(pair->out, (const uint8_t *)"\1\2\3", 3);
	assert_int_equal(proto_set_path(pair->out, "/bin/true"), 0);
	assert_int_equal(proto_send(pair->fds[0], pair->out, STDERR_FILENO, NULL), 0);
	assert_int_equal(proto_receive(pair->fds[1], pair->in, &passed, NULL), 0);
	assert_int_equal(pair->in->head.type, PROTO_OPEN_PATH);
	assert_int_equal(pair->in->pid, 42);
	assert_int_equal(pair->in->build_id_length, 3);
	assert_memory_equal(pair->in->build_id, "\1\2\3", 3);
	assert_string_equal(pair->in->tail.path, "/bin/true");
	assert_true(passed >= 0 && passed != STDERR_FILENO);
	assert_int_equal(fcntl(passed, F_GETFD), FD_CLOEXEC);
	close(passed);

	/* the largest of each kind fits */
	proto_init(pair->out, PROTO_RESULTS);
	pair->out->head.count = PROTO_BYTES_MAX;
	memset(pair->out->tail.bytes, 7, PROTO_BYTES_MAX);
	assert_int_equal(proto_send(pair->fds[0], pair->out, -1, NULL), 0);
	assert_int_equal(proto_receive(pair->fds[1], pair->in, &passed, NULL), 0);
	assert_int_equal(passed, -1);
	assert_int_equal(pair->in->tail.bytes[PROTO_BYTES_MAX - 1], 7);
	proto_init(pair->out, PROTO_OFFSETS);
	pair->out->head.count = PROTO_OFFSETS_MAX;
	assert_int_equal(proto_send(pair->fds[0], pair->out, -1, NULL), 0);
	assert_int_equal(proto_receive(pair->fds[1], pair->in, NULL, NULL), 0);

	/* a receiver without room for descriptors gets none */
	proto_init(pair->out, PROTO_DONE);
	assert_int_equal(proto_send(pair->fds[0], pair->out, STDERR_FILENO, NULL), 0);
	assert_int_equal(proto_receive(pair->fds[1], pair->in, NULL, NULL), 0);
	assert_int_equal(count_descriptors(), before);
}

static void test_longest_path_is_sent_and_a_longer_one_refused(void **state)
{
	struct pair *pair = *state;
	g_autofree char *longest = g_strnfill(PATH_MAX - 1, 'x'), *longer = g_strnfill(PATH_MAX, 'x');

	proto_init(pair->out, PROTO_OPEN_PATH);
	assert_int_equal(proto_set_path(pair->out, longest), 0);
	assert_int_equal(proto_send(pair->fds[0], pair->out, -1, NULL), 0);
	assert_int_equal(proto_receive(pair->fds[1], pair->in, NULL, NULL), 0);
	assert_string_equal(pair->in->tail.path, longest);
	assert_int_equal(proto_set_path(pair->out, longer), -ENAMETOOLONG);
}

#define HEAD offsetof(struct proto_message, tail)

/* What a compromised process may send. */
static const struct {
	int line;
	uint32_t type, count, build_id_length;
	size_t size;
	const char *tail;
} bad_rows[] = {
	{__LINE__, PROTO_DONE, 0, 0, HEAD - 1, ""}, /* too short */
	{__LINE__, PROTO_DONE, 0, 0, 4, ""},
	{__LINE__, PROTO_DONE, 0, 0, HEAD + 1, "x"}, /* too long */
	{__LINE__, PROTO_DONE, 1, 0, HEAD + 1, "x"}, /* has no tail */
	{__LINE__, 0, 1, 0, HEAD + 1, "x"}, {__LINE__, 4711, 1, 0, HEAD + 1, "x"},
	{__LINE__, PROTO_DONE, 0, 65, HEAD, ""}, /* more build-id than there is room */
	{__LINE__, PROTO_RESULTS, 4, 0, HEAD + 3, "xyz"},
	{__LINE__, PROTO_RESULTS, 3, 0, HEAD + 4, "xyzz"},
	{__LINE__, PROTO_RESULTS, UINT32_MAX, 0, HEAD, ""},
	{__LINE__, PROTO_OFFSETS, 1, 0, HEAD + 7, "1234567"},
	{__LINE__, PROTO_OFFSETS, 0x20000001, 0, HEAD + 8, "12345678"}, /* 32 bits would wrap */
	{__LINE__, PROTO_OPEN_PATH, 0, 0, HEAD, ""},
	{__LINE__, PROTO_OPEN_PATH, 3, 0, HEAD + 3, "abc"},  /* a path ends in NUL */
	{__LINE__, PROTO_OPEN_PATH, 4, 0, HEAD + 4, "a\0b"}, /* and has none before */
};

static void test_wrong_messages_are_refused(void **state)
{
	struct pair *pair = *state;
	unsigned int before = count_descriptors();
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(bad_rows); i++) {
		int passed = -1, ret;

		proto_init(pair->out, bad_rows[i].type);
		pair->out->head.count = bad_rows[i].count;
		pair->out->build_id_length = bad_rows[i].build_id_length;
		memcpy(pair->out->tail.bytes, bad_rows[i].tail,
			bad_rows[i].size > HEAD ? bad_rows[i].size - HEAD : 0);
		assert_int_equal(send(pair->fds[0], pair->out, bad_rows[i].size, 0),
			bad_rows[i].size);
		ret = proto_receive(pair->fds[1], pair->in, &passed, NULL);
		if (ret != -EBADMSG)
			fail_msg("row of line %d: %d", bad_rows[i].line, ret);
	}
	assert_int_equal(count_descriptors(), before);
}

/* Several descriptors at once: one is taken, the others don't stay. */
static void test_superfluous_descriptors_are_closed(void **state)
{
	struct pair *pair = *state;
	struct iovec iov = { pair->out, HEAD };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(3 * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	int fds[3] = { 0, 1, 2 }, passed = -1;
	unsigned int before = count_descriptors();

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(head), fds, sizeof(fds));
	proto_init(pair->out, PROTO_DONE);
	assert_int_equal(sendmsg(pair->fds[0], &msg, 0), HEAD);
	assert_int_equal(proto_receive(pair->fds[1], pair->in, &passed, NULL), 0);
	assert_true(passed >= 0);
	assert_int_equal(count_descriptors(), before + 1);
	close(passed);
}

static void test_waiting_ends_by_deadline_or_cancellation(void **state)
{
	struct pair *pair = *state;
	struct proto_wait wait = { .cancel_fd = -1, .deadline_ns = proto_now_ns() + 20 * NSEC_PER_MSEC };
	int cancel[2];

	assert_int_equal(proto_receive(pair->fds[1], pair->in, NULL, &wait), -ETIMEDOUT);
	assert_true(proto_now_ns() >= wait.deadline_ns);
	/* the other end does not read: it still ends */
	wait.deadline_ns = proto_now_ns() + 20 * NSEC_PER_MSEC;
	proto_init(pair->out, PROTO_RESULTS);
	pair->out->head.count = PROTO_BYTES_MAX;
	while (!proto_send(pair->fds[0], pair->out, -1, &wait))
		;
	assert_int_equal(proto_send(pair->fds[0], pair->out, -1, &wait), -ETIMEDOUT);
	assert_int_equal(pipe(cancel), 0);
	assert_int_equal(write(cancel[1], "x", 1), 1);
	wait.cancel_fd = cancel[0];
	wait.deadline_ns = 0;
	assert_int_equal(proto_send(pair->fds[0], pair->out, -1, &wait), -ECANCELED);
	assert_int_equal(proto_receive(pair->fds[0], pair->in, NULL, &wait), -ECANCELED);
	close(cancel[0]);
	close(cancel[1]);
}

static void test_closed_socket_is_reported(void **state)
{
	struct pair *pair = *state;

	proto_init(pair->out, PROTO_DONE);
	assert_int_equal(proto_send(pair->fds[0], pair->out, -1, NULL), 0);
	shutdown(pair->fds[0], SHUT_RDWR);
	assert_int_equal(proto_receive(pair->fds[1], pair->in, NULL, NULL), 0);
	assert_int_equal(proto_receive(pair->fds[1], pair->in, NULL, NULL), -EPIPE);
	assert_int_equal(proto_send(pair->fds[1], pair->out, -1, NULL), -EPIPE);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void test_answers_come_back_as_sent(void **state)
{
	struct symbols_frame frames[SYMBOLS_FRAMES_MAX + 1];
	struct symbols_place place = { frames, 2, 0x1000, 0x20 }, got;
	struct symbols_arena *arena = symbols_arena_create();
	g_autofree char *longer = g_strnfill(SYMBOLS_TEXT_MAX + 100, 'n');
	uint8_t *bytes = g_malloc(PROTO_BYTES_MAX);
	uint32_t index, i;
	size_t n;

	(void)state;
	frames[0] = (struct symbols_frame){ "inlined", "a.c", 7 };
	frames[1] = (struct symbols_frame){ "outer", NULL, 0 };
	n = result_wire_write(bytes, PROTO_BYTES_MAX, 4711, &place);
	assert_true(n > 0);
	assert_int_equal(result_wire_write(bytes, n - 1, 4711, &place), 0);
	assert_int_equal(result_wire_write(bytes, n, 4711, &place), n);
	assert_int_equal(result_wire_read(bytes, n, arena, &index, &got), n);
	assert_int_equal(index, 4711);
	assert_int_equal(got.count, 2);
	assert_int_equal(got.start, 0x1000);
	assert_int_equal(got.size, 0x20);
	assert_string_equal(got.frames[0].function, "inlined");
	assert_string_equal(got.frames[0].source, "a.c");
	assert_int_equal(got.frames[0].line, 7);
	assert_string_equal(got.frames[1].function, "outer");
	assert_null(got.frames[1].source);
	/* cut anywhere it is none */
	for (i = 0; i < n; i++)
		assert_int_equal(result_wire_read(bytes, i, arena, &index, &got), 0);

	/* the largest one fits into a message, and more than that is cut */
	for (i = 0; i <= SYMBOLS_FRAMES_MAX; i++)
		frames[i] = (struct symbols_frame){ longer, longer, i };
	place.count = SYMBOLS_FRAMES_MAX + 1;
	n = result_wire_write(bytes, PROTO_BYTES_MAX, 0, &place);
	assert_true(n > 0);
	assert_int_equal(result_wire_read(bytes, n, arena, &index, &got), n);
	assert_int_equal(got.count, SYMBOLS_FRAMES_MAX);
	assert_int_equal(strlen(got.frames[SYMBOLS_FRAMES_MAX - 1].source), SYMBOLS_TEXT_MAX);
	g_free(bytes);
	symbols_arena_destroy(arena);
}

/* Random bytes: an answer within bounds, or none. */
static void test_random_bytes_give_a_bounded_answer_or_none(void **state)
{
	struct symbols_arena *arena = symbols_arena_create();
	uint64_t number = 88172645463325252u;
	uint8_t bytes[256];
	int run;
	size_t i;

	(void)state;
	for (run = 0; run < 20000; run++) {
		struct symbols_place place = { NULL };
		uint32_t index;
		size_t n;

		for (i = 0; i < sizeof(bytes); i++) {
			number ^= number << 13;
			number ^= number >> 7;
			number ^= number << 17;
			/* small numbers are the ones that are taken */
			bytes[i] = number & 0x300 ? 0 : (uint8_t)(number % 40);
		}
		n = result_wire_read(bytes, sizeof(bytes), arena, &index, &place);
		assert_true(n <= sizeof(bytes));
		if (!n)
			continue;
		assert_true(place.count <= SYMBOLS_FRAMES_MAX);
		for (i = 0; i < place.count; i++)
			assert_true(strlen(place.frames[i].function) <= SYMBOLS_TEXT_MAX);
	}
	symbols_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_message_comes_back_as_sent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_longest_path_is_sent_and_a_longer_one_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wrong_messages_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_superfluous_descriptors_are_closed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waiting_ends_by_deadline_or_cancellation,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closed_socket_is_reported, set_up, tear_down),
		cmocka_unit_test(test_answers_come_back_as_sent),
		cmocka_unit_test(test_random_bytes_give_a_bounded_answer_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
