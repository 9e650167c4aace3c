/* SPDX-License-Identifier: MIT */
/* Programs that write events, and the server that they write for. See rig.h. */
#include "rig.h"

#include <fcntl.h>
#include <glob.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

const char *roles = "tests/race/roles";
const char *plugin = "tests/race/.libs/plugin.so";
char dir[64], path[108];
struct peer *peer;

static void in_child_nothing(void)
{
}

/* Starts a role; in_child runs before its exec. */
struct child start_with(const char *role, const char *arg, void (*in_child)(void))
{
	struct child child;
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		in_child();
		execl(roles, roles, role, arg, (char *)NULL);
		_exit(94);
	}
	close(in[0]);
	close(out[1]);
	child.in = in[1];
	child.out = out[0];
	return child;
}

struct child start(const char *role, const char *arg)
{
	return start_with(role, arg, in_child_nothing);
}

/* Polls the server meanwhile. */
struct expected {
	int fd;
	char c;
};

static bool has_said(struct peer *p, void *data)
{
	struct expected *expected = data;
	int flags = fcntl(expected->fd, F_GETFL);
	char c;

	fcntl(expected->fd, F_SETFL, flags | O_NONBLOCK);
	if (read(expected->fd, &c, 1) != 1)
		return false;
	assert_int_equal(c, expected->c);
	return true;
}

void hear_it(struct child *child, char c)
{
	struct expected expected = {child->out, c};

	assert_true(peer_wait(peer, has_said, &expected));
}

/* The same while there is no server to poll. */
void hear_alone(struct child *child, char c)
{
	struct pollfd ready = {.fd = child->out, .events = POLLIN};
	char said;

	assert_int_equal(poll(&ready, 1, 10000), 1);
	assert_int_equal(read(child->out, &said, 1), 1);
	assert_int_equal(said, c);
}

void let(struct child *child)
{
	assert_int_equal(write(child->in, "", 1), 1);
}

static bool has_exited(struct peer *p, void *data)
{
	siginfo_t info = {.si_pid = 0};

	waitid(P_PID, (id_t)*(pid_t *)data, &info, WEXITED | WNOHANG | WNOWAIT);
	return info.si_pid != 0;
}

int finish(struct child *child)
{
	int status;

	assert_true(peer_wait(peer, has_exited, &child->pid));
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	close(child->in);
	close(child->out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int set_up(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/kprof-attach-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/trace", dir);
	setenv("KPROF_SOCKET", path, 1);
	unsetenv("KPROF_BUFFER_KB");
	unsetenv("KPROF_BUFFER_MODE");
	peer = peer_create(path, true);
	return 0;
}

int tear_down(void **state)
{
	if (peer)
		peer_destroy(peer, false);
	peer = NULL;
	rmdir(dir);
	return 0;
}

/* ---- what was read --------------------------------------------------------------------------- */

void count(void *data, const struct ring_record *record, const struct kprof_run *run)
{
	struct tally *tally = data;
	uint64_t words[2] = {0, 0};

	tally->total++;
	tally->provisional += (record->flags & KPROF_RECORD_PROVISIONAL) != 0;
	if (record->id < PEER_EVENTS)
		tally->by_event[record->id]++;
	if (record->id != tally->id)
		return;
	memcpy(words, record->args, record->args_bytes < 16 ? record->args_bytes : 16);
	tally->broken |= words[1] != ~words[0];
	if (tally->of_id++ == 0)
		tally->first = words[0];
	else
		tally->gaps_in_words += words[0] != tally->last + 1;
	tally->last = words[0];
	tally->flags = record->flags;
	tally->args_bytes = record->args_bytes < sizeof(tally->args) ? record->args_bytes :
								       sizeof(tally->args);
	memcpy(tally->args, record->args, tally->args_bytes);
}

struct tally tally_of(struct peer_program *program, const char *event)
{
	struct tally tally = {.id = event ? peer_find(program, event) : -1};
	struct peer_sums sums = peer_read(&program->reader, count, &tally);

	assert_int_equal(sums.gaps, 0);
	assert_int_equal(sums.stale, 0);
	return tally;
}

struct ring_totals totals_of(struct peer_program *program)
{
	struct ring_index *index = malloc(sizeof(*index));
	struct ring_totals totals;

	assert_int_equal(ring_index_copy(&program->reader, index), 0);
	assert_int_equal(ring_totals(&program->reader, index, &totals), 0);
	free(index);
	return totals;
}

struct acquaintance {
	const struct child *child;
	const char *event;
	struct peer_program *program; /* found */
};

/* The child has announced the event, and has taken what we said about it. */
static bool knows(struct peer *p, void *data)
{
	struct acquaintance *acquaintance = data;
	struct peer_program *program = NULL;
	int unread = 1;

	for (unsigned i = 0; i < p->count; i++) /* the last: it may have attached again */
		if (p->programs[i]->pid == acquaintance->child->pid)
			program = p->programs[i];
	acquaintance->program = program;
	return program && peer_find(program, acquaintance->event) >= 0 && !program->ended &&
		ioctl(program->fd, SIOCOUTQ, &unread) == 0 && unread == 0;
}

struct peer_program *await_event(const struct child *child, const char *event)
{
	struct acquaintance acquaintance = {.child = child, .event = event};

	assert_true(peer_wait(peer, knows, &acquaintance));
	return acquaintance.program;
}

/* The library's thread has nothing to do: it waits, or is about to. */
static bool helper_sleeps(pid_t pid)
{
	char pattern[64], line[128] = "";
	glob_t threads;
	bool sleeps = false;

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/stat", (int)pid);
	if (glob(pattern, 0, NULL, &threads) != 0)
		return false;
	for (size_t i = 0; i < threads.gl_pathc; i++) {
		FILE *file = fopen(threads.gl_pathv[i], "re");

		if (file && fgets(line, sizeof(line), file))
			sleeps |= strstr(line, " (kprof) S ") != NULL;
		if (file)
			fclose(file);
	}
	globfree(&threads);
	return sleeps;
}

void await_sleeping_helper(pid_t pid)
{
	int64_t until = peer_now_ms() + 10000;

	while (!helper_sleeps(pid)) {
		assert_true(peer_now_ms() < until);
		sched_yield();
	}
}

uint64_t word_at(const struct tally *tally, uint32_t i)
{
	uint64_t word;

	assert_true((i + 1) * 8 <= tally->args_bytes);
	memcpy(&word, tally->args + i * 8, 8);
	return word;
}

struct peer_program *program_of(pid_t pid)
{
	for (unsigned i = 0; i < peer->count; i++)
		if (peer->programs[i]->pid == pid)
			return peer->programs[i];
	return NULL;
}

void take_arguments(int argc, char **argv)
{
	if (argc > 1)
		roles = argv[1];
	if (argc > 2)
		plugin = argv[2];
	if (argc > 3)
		cmocka_set_test_filter(argv[3]);
	signal(SIGPIPE, SIG_IGN);
}
