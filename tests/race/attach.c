/* SPDX-License-Identifier: MIT */
/*
 * libkprof with servers: programs that attach, fork, close all descriptors, and servers that end.
 */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- coming and going ------------------------------------------------------------------------ */

static void test_short_program_loses_nothing(void **state)
{
	struct child child = start("short", NULL);
	struct peer_program *program;
	struct tally tally;
	double half = 0.5, got;

	/* it is over before the server looks */
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_true(peer_wait_ended(peer, 1));
	program = peer->programs[0];
	assert_int_equal(program->pid, child.pid);
	assert_string_equal(program->name, "roles");
	tally = tally_of(program, "types");
	assert_int_equal(tally.total, 3);
	assert_int_equal(tally.provisional, 3);
	assert_int_equal(tally.by_event[peer_find(program, "before_main")], 1);
	assert_int_equal(tally.by_event[peer_find(program, "short %d")], 1);
	assert_int_equal(word_at(&tally, 0), ~0ull);
	assert_int_equal(word_at(&tally, 1), 65535);
	assert_int_equal(word_at(&tally, 2), ~1ull);
	assert_int_equal(word_at(&tally, 3), 3);
	assert_int_equal(word_at(&tally, 4), ~3ull);
	assert_int_equal(word_at(&tally, 5), 5);
	memcpy(&got, tally.args + 48, 8);
	assert_true(got == half);
	assert_memory_equal(tally.args + 56, "\3\0six\0\0\0", 8);
	assert_int_equal(word_at(&tally, 8), 7);
	assert_int_equal(word_at(&tally, 9), 'c');
	close(child.in);
	close(child.out);
}

static void test_program_before_server(void **state)
{
	char later[108];
	struct child child;
	struct tally tally;

	/* not even the directory is there */
	peer_destroy(peer, false);
	peer = NULL;
	snprintf(later, sizeof(later), "%s/sub/trace", dir);
	setenv("KPROF_SOCKET", later, 1);
	child = start("numbers", "20");
	hear_alone(&child, 'r');
	snprintf(path, sizeof(path), "%s/sub", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	peer = peer_create(later, true);
	assert_true(peer_wait_programs(peer, 1));
	await_event(&child, "number");
	let(&child);
	hear_it(&child, 'd');
	let(&child);
	hear_it(&child, 'e');
	let(&child);
	assert_int_equal(finish(&child), 0);
	tally = tally_of(peer->programs[0], "number");
	assert_int_equal(tally.of_id, 30);
	peer_destroy(peer, false);
	peer = NULL;
	rmdir(path);
}

/* A user namespace in which no process gets an inotify instance, as on a busy desktop. */
static void without_inotify(void)
{
	int fd;

	if (unshare(CLONE_NEWUSER) < 0)
		_exit(77);
	fd = open("/proc/sys/user/max_inotify_instances", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1 || inotify_init1(IN_CLOEXEC) >= 0)
		_exit(77);
	close(fd);
}

static void test_no_inotify_instance(void **state)
{
	struct child child;
	char c;

	peer_destroy(peer, false);
	peer = NULL;
	child = start_with("numbers", "20", without_inotify);
	if (read(child.out, &c, 1) != 1) { /* no such namespaces here */
		waitpid(child.pid, NULL, 0);
		skip();
	}
	assert_int_equal(c, 'r');
	await_sleeping_helper(child.pid);
	peer = peer_create(path, true);
	/* it looks once a second, which nothing else makes it do */
	assert_true(peer_wait_programs(peer, 1));
	let(&child);
	hear_it(&child, 'd');
	let(&child);
	hear_it(&child, 'e');
	let(&child);
	assert_int_equal(finish(&child), 0);
}

/* The server is killed; the next one finds all that was written, also in between. */
static void test_server_is_killed(void **state)
{
	struct child child = start("numbers", "1000");
	struct tally tally;

	await_event(&child, "number");
	hear_it(&child, 'r');
	peer_destroy(peer, true);
	peer = NULL;
	let(&child);
	hear_alone(&child, 'd');
	peer = peer_create(path, true);
	assert_true(peer_wait_programs(peer, 1));
	await_event(&child, "number");
	tally = tally_of(peer->programs[0], "number");
	assert_int_equal(tally.of_id, 1000);
	assert_int_equal(tally.gaps_in_words, 0);
	let(&child);
	hear_it(&child, 'e');
	assert_int_equal(tally_of(peer->programs[0], "number").of_id, 1010);
	let(&child);
	assert_int_equal(finish(&child), 0);
}

static void test_switched_off(void **state)
{
	struct child child;
	struct tally tally;

	peer->on = false;
	child = start("numbers", "1000");
	await_event(&child, "number");
	hear_it(&child, 'r');
	/* the switch is on its way: what is written before it comes is marked */
	let(&child);
	hear_it(&child, 'd');
	let(&child);
	hear_it(&child, 'e');
	tally = tally_of(peer->programs[0], "number");
	assert_int_equal(tally.of_id, tally.provisional - tally.by_event[peer_find(
			peer->programs[0], "before_main")]);
	let(&child);
	assert_int_equal(finish(&child), 0);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void test_fork(void **state)
{
	struct child child = start("fork", NULL);
	struct peer_program *parents, *childs;
	struct tally tally;

	hear_it(&child, 'r');
	await_event(&child, "number");
	let(&child);
	assert_int_equal(finish(&child), 0);
	assert_true(peer_wait_ended(peer, 2));
	parents = program_of(child.pid);
	assert_non_null(parents);
	childs = peer->programs[peer->programs[0] == parents];
	assert_ptr_not_equal(parents, childs);
	tally = tally_of(parents, "number");
	assert_int_equal(tally.of_id, 10);
	assert_int_equal(tally.gaps_in_words, 0);
	tally = tally_of(childs, "number");
	assert_int_equal(tally.of_id, 7);
	assert_int_equal(tally.first, 100);
}

static void test_fork_behind_its_back(void **state)
{
	struct child child = start("bare_fork", NULL);
	struct tally tally;

	hear_it(&child, 'r');
	await_event(&child, "number");
	let(&child);
	assert_int_equal(finish(&child), 0);
	assert_int_equal(peer->count, 1);
	tally = tally_of(peer->programs[0], "number");
	assert_int_equal(tally.of_id, 10);
	assert_int_equal(tally.last, 9);
	assert_int_equal(tally.gaps_in_words, 0);
}

static void test_errno(void **state)
{
	struct child child = start("errno", NULL);

	hear_it(&child, 'r');
	let(&child);
	assert_int_equal(finish(&child), 0);
}

static void test_host_closes_everything(void **state)
{
	struct child child = start("close_all", NULL);
	struct tally tally;

	hear_it(&child, 'r');
	await_event(&child, "number");
	await_sleeping_helper(child.pid); /* else it may notice, and attach again, before 'd' */
	let(&child);
	hear_it(&child, 'd');
	/* the pool is still in the program's memory and in our hands */
	tally = tally_of(peer->programs[0], "number");
	assert_int_equal(tally.of_id, 20);
	/* a server that starts now gets a fresh pool: the old one's descriptor is lost */
	peer_destroy(peer, true);
	peer = peer_create(path, true);
	assert_true(peer_wait_programs(peer, 1));
	await_event(&child, "number");
	let(&child);
	hear_it(&child, 'e');
	tally = tally_of(peer->programs[0], "number");
	assert_int_equal(tally.first, 20);
	assert_int_equal(tally.of_id, 10);
	let(&child);
	assert_int_equal(finish(&child), 0);
}

/* ---- hostile surroundings -------------------------------------------------------------------- */

static void limit_file_size(void)
{
	struct rlimit limit = {100 * 1024, 100 * 1024};

	setrlimit(RLIMIT_FSIZE, &limit);
}

static void limit_file_size_to_nothing(void)
{
	struct rlimit limit = {1024, 1024};

	setrlimit(RLIMIT_FSIZE, &limit);
}

static void test_file_size_limit(void **state)
{
	struct child child = start_with("limit", NULL, limit_file_size);

	hear_it(&child, 'r');
	assert_true(peer_wait_programs(peer, 1));
	let(&child);
	assert_int_equal(finish(&child), 0);
	assert_int_equal(peer->programs[0]->reader.layout.pool_bytes, 100 * 1024);
	child = start_with("limit", NULL, limit_file_size_to_nothing);
	hear_it(&child, 'r');
	let(&child);
	assert_int_equal(finish(&child), 0); /* untraced, and well */
}

/* A server that accepts no connection, with a full queue. */
static void test_server_does_not_answer(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fillers[200], n = 0;
	struct child child;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	peer->mute = true;
	child = start("unanswered", NULL); /* finds room in the queue */
	assert_int_equal(finish(&child), 0);
	while (n < 200) {
		fillers[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (connect(fillers[n++], (struct sockaddr *)&address, sizeof(address)) < 0)
			break;
	}
	assert_true(n < 200);
	child = start("unanswered", NULL); /* finds none */
	assert_int_equal(finish(&child), 0);
	while (n > 0)
		close(fillers[--n]);
	peer->mute = false;
}

/* A server that sends malformed packets: the program detaches, and attaches to the next one. */
static void test_server_sends_malformed_packets(void **state)
{
	static const char packets[][24] = {
		{65, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 5}, /* count larger than the packet */
		{65, 0, 0, 0, 4},			    /* shorter than its head */
		{66, 0, 0, 0, 24},			    /* a CLEAR of another size */
		{0},
	};
	struct child child = start("numbers", "100w");

	hear_it(&child, 'r');
	assert_true(peer_wait_programs(peer, 1));
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		unsigned attached = peer->count;

		assert_true(send(peer->programs[attached - 1]->fd, packets[i], sizeof(packets[i]),
				    MSG_NOSIGNAL) > 0);
		assert_true(peer_wait_programs(peer, attached + 1)); /* it came again */
	}
	await_event(&child, "number");
	let(&child);
	hear_it(&child, 'd');
	let(&child);
	hear_it(&child, 'e');
	assert_int_equal(tally_of(peer->programs[peer->count - 1], "number").of_id, 110);
	let(&child);
	assert_int_equal(finish(&child), 0);
}

/* A server of another version: the program detaches for good, and attaches to the next one. */
static void test_server_of_another_version(void **state)
{
	struct child child;

	peer->version = KPROF_ATTACH_VERSION + 1;
	child = start("numbers", "100w");
	hear_it(&child, 'r');
	assert_true(peer_wait_ended(peer, 1));
	await_sleeping_helper(child.pid);
	/* it would have come again when a server sends it away for another reason */
	for (int64_t until = peer_now_ms() + 1500; peer_now_ms() < until;)
		peer_poll(peer, 20);
	assert_int_equal(peer->count, 1);
	peer_destroy(peer, false);
	peer = peer_create(path, true);
	await_event(&child, "number");
	let(&child);
	hear_it(&child, 'd');
	let(&child);
	hear_it(&child, 'e');
	assert_int_equal(tally_of(peer->programs[0], "number").of_id, 110);
	let(&child);
	assert_int_equal(finish(&child), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_short_program_loses_nothing),
		TEST(test_program_before_server),
		TEST(test_no_inotify_instance),
		TEST(test_server_is_killed),
		TEST(test_switched_off),
		TEST(test_fork),
		TEST(test_fork_behind_its_back),
		TEST(test_errno),
		TEST(test_host_closes_everything),
		TEST(test_file_size_limit),
		TEST(test_server_does_not_answer),
		TEST(test_server_sends_malformed_packets),
		TEST(test_server_of_another_version),
	};

	take_arguments(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
