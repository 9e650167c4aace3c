/* SPDX-License-Identifier: MIT */
/*
 * libkprof in programs that are hard on a library: forked from among threads, daemons, executed anew,
 * with privileges of their file, linked with libkprof.a.
 */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 40u
#define OTHER_UID 65534u

static const char *static_roles = "tests/race/roles_static";
static const char *testing_roles = "tests/race/roles_testing";

/* Children forked while another thread writes: each has its own events, the parent's are untouched. */
static void test_fork_among_threads(void **state)
{
	struct child child = start("fork_threads", "40");
	struct peer_program *parents;
	uint64_t of_children = 0;
	struct tally tally;

	hear_it(&child, 'r');
	await_event(&child, "number");
	let(&child);
	assert_int_equal(finish(&child), 0);
	assert_true(peer_wait_ended(peer, FORKS + 1));
	assert_int_equal(peer->count, FORKS + 1);
	parents = program_of(child.pid);
	assert_non_null(parents);
	tally = tally_of(parents, "number");
	assert_true(tally.of_id > 0);
	assert_int_equal(tally.gaps_in_words, 0);
	assert_false(tally.broken);
	for (unsigned i = 0; i < peer->count; i++) {
		if (peer->programs[i] == parents)
			continue;
		tally = tally_of(peer->programs[i], "counted");
		assert_int_equal(tally.of_id, 7);
		/* what the other thread was in the middle of is not in it */
		assert_int_equal(tally.total, 7);
		of_children += tally.of_id;
	}
	assert_int_equal(of_children, 7 * FORKS);
}

/*
 * Forked by a signal handler in the middle of an event, which the child completes: what it writes
 * is in no pool of its parent, which ended there and left the event torn.
 */
static void test_fork_in_an_event(void **state)
{
	const char *ordinary = roles;
	struct peer_program *parent = NULL, *child = NULL;
	struct child process;
	struct peer_sums sums;
	struct tally tally = {.id = -1};

	roles = testing_roles;
	process = start("fork_mid_event", NULL);
	roles = ordinary;
	hear_it(&process, 'r');
	await_event(&process, "counted");
	let(&process);
	assert_int_equal(finish(&process), 0);
	assert_true(peer_wait_ended(peer, 2));
	parent = program_of(process.pid);
	assert_non_null(parent);
	child = peer->programs[peer->programs[0] == parent];
	tally.id = peer_find(parent, "counted");
	sums = peer_read(&parent->reader, count, &tally);
	assert_int_equal(tally.of_id, 1);
	assert_int_equal(tally.first, 1);
	assert_int_equal(sums.gaps, 1);
	tally = tally_of(child, "counted");
	assert_int_equal(tally.of_id, 7);
	assert_int_equal(tally.total, 7);
}

/* Numbers from `from` on, in the memories of all programs: one may have attached twice. */
static uint64_t held_from(uint64_t from)
{
	uint64_t held = 0;

	for (unsigned i = 0; i < peer->count; i++) {
		struct peer_program *program = peer->programs[i];

		if (program->has_pool && peer_find(program, "number") >= 0) {
			struct tally tally = tally_of(program, "number");

			if (tally.of_id > 0 && tally.first >= from)
				held += tally.of_id;
		}
	}
	return held;
}

static bool are_held(struct peer *p, void *data)
{
	return held_from(100) >= *(uint64_t *)data;
}

/* Forked while its parent had lost the server and had not come again. */
static void test_fork_of_one_sent_away(void **state)
{
	struct child child = start("fork_dropped", NULL);
	struct peer_program *parent;
	uint64_t expected = 7;

	parent = await_event(&child, "number");
	hear_it(&child, 'r');
	assert_int_equal(shutdown(parent->fd, SHUT_RDWR), 0);
	let(&child);
	assert_int_equal(finish(&child), 0);
	assert_true(peer_wait(peer, are_held, &expected));
	assert_int_equal(held_from(100), 7);
}

/* Forked, and again, while there is no server: the next one finds what they wrote. */
static void test_fork_without_server(void **state)
{
	struct child child;
	uint64_t expected = 20;

#if defined(__SANITIZE_THREAD__)
	skip(); /* it allows children no thread: see module.c */
#endif
	child = start("fork_alone", NULL);
	await_event(&child, "number");
	hear_it(&child, 'r');
	peer_destroy(peer, true);
	peer = NULL;
	let(&child);
	hear_alone(&child, 'd');
	hear_alone(&child, 'd');
	peer = peer_create(path, true);
	assert_true(peer_wait(peer, are_held, &expected));
	assert_int_equal(held_from(100), 20);
	assert_int_equal(held_from(200), 10);
	let(&child);
	let(&child);
	assert_int_equal(finish(&child), 0);
}

static bool five_are_held(struct peer *p, void *data)
{
	return held_from(100) >= 5;
}

static void test_daemon(void **state)
{
	struct child child = start("daemon", NULL);
	int status;

	hear_it(&child, 'r');
	await_event(&child, "number");
	let(&child);
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	hear_it(&child, 'c');
	let(&child);
	hear_it(&child, 'd');
	assert_true(peer_wait(peer, five_are_held, NULL));
	assert_int_equal(held_from(100), 5);
	assert_int_equal(tally_of(program_of(child.pid), "number").of_id, 3);
	let(&child);
	hear_it(&child, 'e');
	let(&child);
	close(child.in);
	close(child.out);
}

static void test_exec(void **state)
{
	struct child child = start("exec", roles);

	hear_it(&child, 'r');
	await_event(&child, "number");
	let(&child);
	assert_int_equal(finish(&child), 0);
	assert_true(peer_wait_ended(peer, 2));
	assert_int_equal(held_from(100), 4);
	/* what was written before is still there */
	assert_int_equal(held_from(0), 7);
}

/* ---- privileges ------------------------------------------------------------------------------ */

static char copy[200];

static bool copy_file(const char *from, const char *to)
{
	char data[65536];
	ssize_t got = -1;
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	while (in >= 0 && out >= 0 && (got = read(in, data, sizeof(data))) > 0)
		if (write(out, data, (size_t)got) != got)
			got = -1;
	close(in);
	close(out);
	return got == 0;
}

/* A setuid program ignores KPROF_SOCKET and the other variables of the user who runs it. */
static void test_setuid(void **state)
{
	const char *ordinary = roles;
	struct child child;
	char c;

	if (getuid() != 0)
		skip();
	snprintf(copy, sizeof(copy), "%s/roles", dir);
	assert_true(copy_file(static_roles, copy));
	/*
	 * every user can reach the server: missing rights are not the reason why it does not attach
	 */
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(path, 0777), 0);
	roles = copy;
	child = start("setuid", NULL);
	hear_it(&child, 'p');
	await_event(&child, "number");
	let(&child);
	assert_int_equal(finish(&child), 0);
	assert_int_equal(peer->count, 1);

	assert_int_equal(chown(copy, OTHER_UID, OTHER_UID), 0);
	assert_int_equal(chmod(copy, 04755), 0);
	child = start("setuid", NULL);
	assert_int_equal(read(child.out, &c, 1), 1);
	let(&child);
	assert_int_equal(finish(&child), 0);
	peer_poll(peer, 0); /* receives what was sent */
	roles = ordinary;
	unlink(copy);
	if (c != 's') /* a file system without setuid */
		skip();
	assert_int_equal(peer->count, 1);
}

/* ---- the static library ---------------------------------------------------------------------- */

static void test_static(void **state)
{
	const char *shared = roles;
	struct child child;
	struct tally tally;

	roles = static_roles;
	child = start("short", NULL);
	assert_int_equal(finish(&child), 0);
	assert_true(peer_wait_ended(peer, 1));
	tally = tally_of(peer->programs[0], "types");
	assert_int_equal(tally.total, 3);
	child = start("numbers", "1000");
	hear_it(&child, 'r');
	await_event(&child, "number");
	let(&child);
	hear_it(&child, 'd');
	tally = tally_of(program_of(child.pid), "number");
	assert_int_equal(tally.of_id, 1000);
	assert_int_equal(tally.gaps_in_words, 0);
	let(&child);
	hear_it(&child, 'e');
	let(&child);
	assert_int_equal(finish(&child), 0);
	roles = shared;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fork_among_threads),
		TEST(test_fork_in_an_event),
		TEST(test_fork_of_one_sent_away),
		TEST(test_fork_without_server),
		TEST(test_daemon),
		TEST(test_exec),
		TEST(test_setuid),
		TEST(test_static),
	};

	take_arguments(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
