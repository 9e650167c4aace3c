/* SPDX-License-Identifier: MIT */
/*
 * libkprof attaches only to servers of root or of its user, and no other process can write its
 * pool.
 */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define OTHER_UID 65534u
#define SYSTEM_SOCKET "/run/kprofs/trace"

static bool kernel_seals_writing(void)
{
	int fd = memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	bool can = fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0;

	close(fd);
	return can;
}

static void finish_numbers(struct child *child)
{
	await_event(child, "number");
	let(child);
	hear_it(child, 'd');
	let(child);
	hear_it(child, 'e');
	assert_int_equal(tally_of(program_of(child->pid), "number").of_id, 110);
	let(child);
	assert_int_equal(finish(child), 0);
}

static void test_no_other_process_can_write_the_pool(void **state)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_FUTURE_WRITE;
	struct child child;
	int fd;

	if (!kernel_seals_writing())
		skip();
	child = start("numbers", "100w");
	hear_it(&child, 'r');
	assert_true(peer_wait_programs(peer, 1));
	fd = peer->programs[0]->pool_fd;
	assert_int_equal(fcntl(fd, F_GET_SEALS) & seals, seals);
	assert_true(mmap(NULL, KPROF_POOL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
		MAP_FAILED);
	assert_int_equal(errno, EPERM);
	assert_int_equal(pwrite(fd, "", 1, 0), -1);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, KPROF_POOL_PAGE),
		-1);
	finish_numbers(&child); /* which has mapped it before */
}

/* From now on the server is this user's: what counts is who listens. */
static void serve_as(uid_t uid)
{
	if (peer)
		peer_destroy(peer, false);
	assert_int_equal(seteuid(uid), 0);
	peer = peer_create(path, true);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(path, 0777), 0);
}

static void test_server_of_another_user_is_told_nothing(void **state)
{
	struct child child;

	if (getuid() != 0)
		skip();
	assert_int_equal(chmod(dir, 0777), 0);
	serve_as(OTHER_UID);
	child = start("numbers", "100w");
	hear_it(&child, 'r');
	assert_true(peer_wait_ended(peer, 1)); /* it came, looked, and left */
	for (unsigned i = 0; i < peer->count; i++)
		assert_false(peer->programs[i]->has_pool);
	serve_as(0);
	finish_numbers(&child);
}

static void become_other_user(void)
{
	/* no wrapper of libtool: it opens its libraries by path, and the build may be below a 0700 folder */
	roles = "tests/race/roles_testing";
	unsetenv("TSAN_OPTIONS"); /* it may name a file that this user cannot read */
	if (setgid(OTHER_UID) < 0 || setuid(OTHER_UID) < 0 || access(roles, X_OK) < 0)
		_exit(77);
}

static void test_server_of_the_own_user_and_of_root(void **state)
{
	struct child child;

	if (getuid() != 0)
		skip();
	assert_int_equal(chmod(dir, 0777), 0);
	for (int i = 0; i < 2; i++) {
		char c;

		serve_as(i == 0 ? OTHER_UID : 0);
		child = start_with("numbers", "100w", become_other_user);
		if (read(child.out, &c, 1) != 1) { /* that user can't get at the program */
			assert_int_equal(finish(&child), 77);
			skip();
		}
		assert_int_equal(c, 'r');
		finish_numbers(&child);
	}
}

/* As su(1) leaves it: the folder belongs to another user, and so does what is in it. */
static void test_runtime_folder_of_another_user(void **state)
{
	char base[80], folder[96];
	struct child child;

	if (getuid() != 0 || access(SYSTEM_SOCKET, F_OK) == 0)
		skip();
	snprintf(base, sizeof(base), "%s/runtime", dir);
	snprintf(folder, sizeof(folder), "%s/kprofs", base);
	assert_int_equal(mkdir(base, 0755), 0);
	assert_int_equal(mkdir(folder, 0755), 0);
	peer_destroy(peer, false);
	snprintf(path, sizeof(path), "%s/trace", folder);
	peer = peer_create(path, true);
	unsetenv("KPROF_SOCKET");
	setenv("XDG_RUNTIME_DIR", base, 1);
	assert_int_equal(chown(base, OTHER_UID, OTHER_UID), 0);
	child = start("numbers", "100");
	hear_it(&child, 'r');
	await_sleeping_helper(child.pid); /* it has looked everywhere */
	peer_poll(peer, 0);
	assert_int_equal(peer->count, 0);
	let(&child);
	hear_it(&child, 'd');
	let(&child);
	hear_it(&child, 'e');
	let(&child);
	assert_int_equal(finish(&child), 0);

	assert_int_equal(chown(base, 0, 0), 0);
	child = start("numbers", "100w");
	hear_it(&child, 'r');
	finish_numbers(&child);
	unsetenv("XDG_RUNTIME_DIR");
	peer_destroy(peer, false);
	peer = NULL;
	rmdir(folder);
	rmdir(base);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_other_process_can_write_the_pool),
		TEST(test_server_of_another_user_is_told_nothing),
		TEST(test_server_of_the_own_user_and_of_root),
		TEST(test_runtime_folder_of_another_user),
	};

	take_arguments(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
