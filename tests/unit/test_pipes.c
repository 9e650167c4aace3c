/* SPDX-License-Identifier: MIT */
/*
 * trace/pipes, with a follower that the test stops: a reader neither waits for the thread nor walks
 * through a whole gathering.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <glib.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "fs/pipes.h"
#include "fs/streams.h"
#include "trace/follow.h"

/* More pieces without text than a reader should go through. */
#define EMPTY_PIECES 1000u

static struct {
	sem_t began, may_end, woken;
	_Atomic uint32_t left; /* pieces of the gathering; the last has text */
	_Atomic uint32_t made;
} world;

/* ---- in place of trace/follow.c and fs/streams.c --------------------------------------------- */

struct follow {
	int unused;
};

int follow_create(struct readings *readings, uid_t reader, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, struct follow **follow)
{
	if (cancel_requested(cancel))
		return -EINTR;
	*follow = g_new0(struct follow, 1);
	return 0;
}

void follow_destroy(struct follow *follow)
{
	g_free(follow);
}

bool follow_gather(struct follow *follow)
{
	sem_post(&world.began);
	sem_wait(&world.may_end);
	atomic_write_relaxed(&world.left, EMPTY_PIECES + 1);
	return true;
}

bool follow_next(struct follow *follow, GString *out)
{
	uint32_t left = atomic_read_relaxed(&world.left);

	if (!left)
		return false;
	atomic_write_relaxed(&world.left, left - 1);
	atomic_add_relaxed(&world.made, 1);
	if (left == 1)
		g_string_append(out, "text");
	return true;
}

bool follow_has_more(const struct follow *follow)
{
	return atomic_read_relaxed(&world.left);
}

void streams_wake(struct streams *streams)
{
	sem_post(&world.woken);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	sem_init(&world.began, 0, 0);
	sem_init(&world.may_end, 0, 0);
	sem_init(&world.woken, 0, 0);
	atomic_write_relaxed(&world.left, 0);
	atomic_write_relaxed(&world.made, 0);
	alarm(60); /* a reader that waited for the thread would wait for ever */
	return 0;
}

static int tear_down(void **state)
{
	alarm(0);
	return 0;
}

static ssize_t begin(void *pipe, struct iovec *iov)
{
	bool eof;
	int count = 1;
	ssize_t bytes = pipe_begin(pipe, 4096, iov, &count, &eof);

	assert_false(eof);
	assert_int_equal(count, bytes ? 1 : 0);
	return bytes;
}

/* The pipe, once it exists. Until then, and while the thread looks for it, there is none. */
static void take_text(void *pipe)
{
	struct iovec iov[1];
	ssize_t bytes;

	while (!(bytes = begin(pipe, iov)))
		sched_yield();
	assert_int_equal(bytes, 4);
	assert_memory_equal(iov[0].iov_base, "text", 4);
	pipe_end(pipe, true);
}

static void test_reader_does_not_wait(void **state)
{
	struct pipes *pipes = pipes_create(NULL, NULL);
	struct iovec iov[1];
	void *pipe;

	assert_int_equal(pipe_open(pipes, 0, NULL, NULL, &pipe), 0);
	assert_int_equal(begin(pipe, iov), 0);
	sem_wait(&world.began);
	/* the thread is at it, and stays so */
	assert_false(pipe_readable(pipe));
	assert_int_equal(begin(pipe, iov), 0);
	sem_post(&world.may_end);
	sem_wait(&world.woken);
	take_text(pipe);
	/* and once more */
	sem_post(&world.may_end);
	take_text(pipe);
	sem_post(&world.may_end); /* it may be at it again */
	pipes_close(pipes);
	pipe_close(pipe);
	pipes_destroy(pipes);
}

static void test_reader_looks_at_one_piece(void **state)
{
	struct pipes *pipes = pipes_create(NULL, NULL);
	struct iovec iov[1];
	void *pipe;

	assert_int_equal(pipe_open(pipes, 0, NULL, NULL, &pipe), 0);
	pipes_close(pipes); /* what is made from now on is made by the reader */
	atomic_write_relaxed(&world.left, EMPTY_PIECES + 1);
	assert_false(pipe_readable(pipe));
	assert_int_equal(atomic_read_relaxed(&world.made), 1);
	assert_int_equal(begin(pipe, iov), 0);
	assert_int_equal(atomic_read_relaxed(&world.made), 2);
	pipe_close(pipe);
	pipes_destroy(pipes);
}

static bool always(void *arg)
{
	return true;
}

static const struct cancel cancel = { always, NULL, -1 };

/* Cancelled while it was being opened: no pipe is left behind. */
static void test_cancelled_open_leaves_no_pipe(void **state)
{
	struct pipes *pipes = pipes_create(NULL, NULL);
	void *pipe = NULL;

	assert_int_equal(pipe_open(pipes, 0, NULL, &cancel, &pipe), -EINTR);
	assert_null(pipe);
	pipes_close(pipes);
	pipes_destroy(pipes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reader_does_not_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reader_looks_at_one_piece, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled_open_leaves_no_pipe,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
