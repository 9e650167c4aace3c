/* SPDX-License-Identifier: MIT */
/*
 * sys/fdpass and sys/memfile: descriptors pass over sockets, and files in memory have their seals.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/fdpass.h"
#include "sys/memfile.h"

static void open_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static int count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_descriptors_arrive_in_order_with_close_on_exec(void **state)
{
	int pair[2], sent[2] = {memfile_create("one"), memfile_create("two")}, came[3];
	struct fdpass pass = {.fds = came, .max = 3};
	char text[8];

	open_pair(pair);
	assert_int_equal(fdpass_send(pair[0], "two", 4, sent, 2, 0), 0);
	assert_int_equal(fdpass_receive(pair[1], text, sizeof(text), &pass, 0), 4);
	assert_string_equal(text, "two");
	assert_int_equal(pass.count, 2);
	assert_false(pass.truncated);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(inode_of(came[i]), inode_of(sent[i]));
		assert_int_equal(fcntl(came[i], F_GETFD), FD_CLOEXEC);
		close(came[i]);
		close(sent[i]);
		close(pair[i]);
	}
	(void)state;
}

/* The padding of a control buffer for one descriptor holds a second one. */
static void test_descriptors_beyond_the_maximum_are_closed(void **state)
{
	int pair[2], sent[3] = {0, 1, 2}, came[1], before;
	struct fdpass pass = {.fds = came, .max = 1};
	char byte;

	open_pair(pair);
	before = count_fds();
	assert_int_equal(fdpass_send(pair[0], "x", 1, sent, 3, 0), 0);
	assert_int_equal(fdpass_receive(pair[1], &byte, 1, &pass, 0), 1);
	assert_int_equal(pass.count, 1);
	assert_true(pass.truncated);
	assert_int_equal(count_fds(), before + 1);
	close(came[0]);
	pass.max = 0;
	assert_int_equal(fdpass_send(pair[0], "x", 1, sent, 1, 0), 0);
	assert_int_equal(fdpass_receive(pair[1], &byte, 1, &pass, 0), 1);
	assert_int_equal(pass.count, 0);
	assert_true(pass.truncated);
	assert_int_equal(count_fds(), before);
	close(pair[0]);
	close(pair[1]);
	(void)state;
}

static void test_sizes_ends_and_errors_are_returned(void **state)
{
	struct fdpass pass = {.max = 0};
	char text[2];
	int pair[2];

	open_pair(pair);
	assert_int_equal(
		fdpass_receive(pair[1], text, sizeof(text), &pass, MSG_DONTWAIT), -EAGAIN);
	assert_int_equal(fdpass_send(pair[0], "12345", 5, NULL, 0, 0), 0);
	assert_int_equal(fdpass_receive(pair[1], text, sizeof(text), &pass, 0), 5);
	close(pair[0]);
	assert_int_equal(fdpass_receive(pair[1], text, sizeof(text), &pass, 0), 0);
	assert_int_equal(fdpass_send(pair[1], "x", 1, NULL, 0, 0), -EPIPE);
	close(pair[1]);
	(void)state;
}

static void test_a_frozen_memfile_can_be_neither_written_nor_resized(void **state)
{
	const int fd = memfile_create_sealable("frozen");

	assert_int_equal(write(fd, "text", 4), 4);
	assert_true(memfile_has_seals(fd));
	assert_false(memfile_is_frozen(fd));
	assert_int_equal(memfile_freeze(fd), 0);
	assert_true(memfile_is_frozen(fd));
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 8), -1);
	/* more seals can be set */
	assert_false(memfile_cannot_shrink(fd));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
	assert_true(memfile_cannot_shrink(fd));
	close(fd);
	(void)state;
}

static void test_a_memfile_that_is_not_sealable_refuses_seals(void **state)
{
	const int fd = memfile_create("plain"), file = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(memfile_freeze(fd), -EPERM);
	assert_false(memfile_is_frozen(fd));
	assert_true(memfile_has_seals(fd));
	assert_false(memfile_has_seals(file));
	assert_false(memfile_cannot_shrink(file));
	assert_int_equal(memfile_freeze(file), -EINVAL);
	close(fd);
	close(file);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors_arrive_in_order_with_close_on_exec),
		cmocka_unit_test(test_descriptors_beyond_the_maximum_are_closed),
		cmocka_unit_test(test_sizes_ends_and_errors_are_returned),
		cmocka_unit_test(test_a_frozen_memfile_can_be_neither_written_nor_resized),
		cmocka_unit_test(test_a_memfile_that_is_not_sealable_refuses_seals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
