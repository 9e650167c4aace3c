/* SPDX-License-Identifier: MIT */
/*
 * Open pipes of the trace, and the thread that gathers for them: see pipes.h.
 *
 * A pipe is in one of two states: it has data (text, or a gathering from which text is made), which
 * its readers take; or it is empty. A reader that finds it empty sets `wants` and wakes the thread,
 * which gathers, at most once in a tick, until there is data.
 */
#include "fs/pipes.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>

#include "base/atomic.h"
#include "base/units.h"
#include "fs/streams.h"
#include "sys/clock.h"
#include "trace/follow.h"

/* After a gathering of more than this the next one follows soon, since the reader is behind. */
#define MUCH_BYTES (256 * 1024)
#define SOON_MS 5
/* tail(1) reads at most as many bytes as the size has grown by, once in a second. */
#define MORE_BYTES (16 * MIB)

/* i: invariant; p: under the lock of the pipe; l: under the lock of pipes */
struct pipe {
	struct pipes *pipes;		 /* i */
	_Atomic unsigned int references; /* a: the file's, the thread's */
	pthread_mutex_t lock;		 /* inside the open file's; streams' lock is not taken under it */
	struct follow *follow;		 /* p */
	GString *text;			 /* p */
	size_t begin, given;		 /* p: of text: taken already, and what a reader has now */
	uint64_t taken;			 /* under the open file's lock: bytes that its reader has had */
	uint64_t made;			 /* p: bytes since the last gathering */
	bool wants;			 /* l */
	bool soon;			 /* l */
	GList link;			 /* l */
};

struct pipes {
	struct readings *readings; /* i */
	struct streams *streams;   /* i */
	pthread_mutex_t lock;	   /* a leaf */
	pthread_cond_t changed;	   /* (lock) a pipe wants, or the end */
	GQueue all;		   /* (lock) of struct pipe */
	pthread_t thread;	   /* (lock) */
	bool running;		   /* (lock) */
	bool closing;		   /* (lock) */
};

static void put(struct pipe *pipe)
{
	/* all other accesses to it happen before the free by the last one */
	if (atomic_add_acq_rel(&pipe->references, (unsigned int)-1) != 1)
		return;
	follow_destroy(pipe->follow);
	g_string_free(pipe->text, TRUE);
	pthread_mutex_destroy(&pipe->lock);
	g_free(pipe);
}

/* ---- the reader's side ----------------------------------------------------------------------- */

/*
 * With the pipe's lock. Whether there is text that has not been read; makes a piece if there is
 * none.
 */
static bool has_text(struct pipe *pipe)
{
	if (pipe->begin == pipe->text->len) {
		g_string_truncate(pipe->text, 0);
		pipe->begin = 0;
		follow_next(pipe->follow, pipe->text);
		pipe->made += pipe->text->len;
	}
	return pipe->begin < pipe->text->len;
}

static void want(struct pipe *pipe, bool soon)
{
	struct pipes *pipes = pipe->pipes;

	pthread_mutex_lock(&pipes->lock);
	pipe->soon = soon || (pipe->wants && pipe->soon);
	pipe->wants = true;
	pthread_cond_signal(&pipes->changed);
	pthread_mutex_unlock(&pipes->lock);
}

/*
 * Takes the pipe's lock if there is text. A worker must not wait for the thread, which may be
 * copying what programs wrote; after that it wakes the parked reads.
 */
static bool lock_text(struct pipe *pipe)
{
	if (pthread_mutex_trylock(&pipe->lock)) {
		want(pipe, false);
		return false;
	}
	if (has_text(pipe))
		return true;
	/* the rest of a gathering of which nothing is to be shown is the thread's, too */
	want(pipe, pipe->made > MUCH_BYTES || follow_has_more(pipe->follow));
	pthread_mutex_unlock(&pipe->lock);
	return false;
}

bool pipe_readable(void *cursor)
{
	struct pipe *pipe = cursor;

	if (!lock_text(pipe))
		return false;
	pthread_mutex_unlock(&pipe->lock);
	return true;
}

uint64_t pipe_size(void *cursor)
{
	struct pipe *pipe = cursor;

	return pipe->taken + (pipe_readable(pipe) ? MORE_BYTES : 0);
}

ssize_t pipe_begin(void *cursor, size_t want_bytes, struct iovec *iov, int *count, bool *eof)
{
	struct pipe *pipe = cursor;
	size_t bytes;

	*eof = false;
	*count = 0;
	if (!lock_text(pipe))
		return 0;
	bytes = MIN(want_bytes, pipe->text->len - pipe->begin);
	iov[0] = (struct iovec){ pipe->text->str + pipe->begin, bytes };
	*count = 1;
	pipe->given = bytes;
	/*
	 * the text stays where it is until pipe_end: the file's lock is held, and gathering makes
	 * none
	 */
	pthread_mutex_unlock(&pipe->lock);
	return (ssize_t)bytes;
}

void pipe_end(void *cursor, bool taken)
{
	struct pipe *pipe = cursor;

	/* for a moment at most: while there is text, nothing is gathered */
	pthread_mutex_lock(&pipe->lock);
	if (taken) {
		pipe->begin += pipe->given;
		pipe->taken += pipe->given;
	}
	pipe->given = 0;
	pthread_mutex_unlock(&pipe->lock);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/*
 * Called with the pipe's lock. Continues until it finds text in the gathered events, or their end.
 */
static bool find_text(struct pipe *pipe)
{
	while (!has_text(pipe))
		if (!follow_has_more(pipe->follow))
			return false;
	return true;
}

/* Returns true if its reader has data now; otherwise the pipe still wants some. */
static bool gather(struct pipe *pipe)
{
	bool something;

	pthread_mutex_lock(&pipe->lock);
	pipe->made = 0;
	/* it may have got something since it wanted */
	something = find_text(pipe) || (follow_gather(pipe->follow) && find_text(pipe));
	if (!something)
		want(pipe, false);
	pthread_mutex_unlock(&pipe->lock);
	return something;
}

/* With the lock. Whether there is a pipe that wants; soon: one of them is behind. */
static bool find_wanting(const struct pipes *pipes, bool *soon)
{
	bool any = false;
	GList *link;

	*soon = false;
	for (link = pipes->all.head; link; link = link->next) {
		const struct pipe *pipe = link->data;

		any = any || pipe->wants;
		*soon = *soon || (pipe->wants && pipe->soon);
	}
	return any;
}

/* With the lock. With a reference to each; from now on they can want again. */
static GPtrArray *take_wanting(struct pipes *pipes)
{
	GPtrArray *wanting = g_ptr_array_new();
	GList *link;

	for (link = pipes->all.head; link; link = link->next) {
		struct pipe *pipe = link->data;

		if (!pipe->wants)
			continue;
		pipe->wants = false;
		atomic_add_relaxed(&pipe->references, 1); /* the list has one already */
		g_ptr_array_add(wanting, pipe);
	}
	return wanting;
}

/* With the lock, which is let go meanwhile. */
static void gather_all(struct pipes *pipes)
{
	GPtrArray *wanting = take_wanting(pipes);
	bool wake = false;
	guint i;

	pthread_mutex_unlock(&pipes->lock);
	for (i = 0; i < wanting->len; i++) {
		struct pipe *pipe = g_ptr_array_index(wanting, i);

		wake = gather(pipe) || wake;
		put(pipe);
	}
	if (wake)
		streams_wake(pipes->streams);
	g_ptr_array_free(wanting, TRUE);
	pthread_mutex_lock(&pipes->lock);
}

/* With the lock. Until the moment, or the end. */
static void wait_until(struct pipes *pipes, uint64_t until_ns)
{
	while (!pipes->closing && clock_monotonic_ns() < until_ns)
		clock_wait_until(&pipes->changed, &pipes->lock, until_ns);
}

static void *run_pipes(void *arg)
{
	struct pipes *pipes = arg;
	uint64_t last_ns = 0;
	bool soon;

	pthread_setname_np(pthread_self(), "kp-pipe");
	pthread_mutex_lock(&pipes->lock);
	while (!pipes->closing) {
		if (!find_wanting(pipes, &soon)) {
			pthread_cond_wait(&pipes->changed, &pipes->lock);
			continue;
		}
		wait_until(pipes, last_ns + (soon ? SOON_MS : PIPES_TICK_MS) * NSEC_PER_MSEC);
		if (pipes->closing)
			break;
		gather_all(pipes);
		last_ns = clock_monotonic_ns();
	}
	pthread_mutex_unlock(&pipes->lock);
	return NULL;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int need_thread(struct pipes *pipes)
{
	int ret = 0;

	pthread_mutex_lock(&pipes->lock);
	if (!pipes->running && !pipes->closing) {
		ret = -pthread_create(&pipes->thread, NULL, run_pipes, pipes);
		pipes->running = !ret;
	}
	pthread_mutex_unlock(&pipes->lock);
	return ret;
}

int pipe_open(struct pipes *pipes, uid_t reader, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, void **cursor)
{
	struct follow *follow;
	struct pipe *pipe;
	int ret = need_thread(pipes);

	if (!ret)
		ret = follow_create(pipes->readings, reader, cpu, cancel, &follow);
	if (ret)
		return ret;
	pipe = g_new0(struct pipe, 1);
	pipe->pipes = pipes;
	atomic_write_relaxed(&pipe->references, 1); /* not shared yet */
	pthread_mutex_init(&pipe->lock, NULL);
	pipe->follow = follow;
	pipe->text = g_string_new(NULL);
	pipe->link.data = pipe;
	pthread_mutex_lock(&pipes->lock);
	g_queue_push_tail_link(&pipes->all, &pipe->link);
	pthread_mutex_unlock(&pipes->lock);
	*cursor = pipe;
	return 0;
}

void pipe_close(void *cursor)
{
	struct pipe *pipe = cursor;

	pthread_mutex_lock(&pipe->pipes->lock);
	g_queue_unlink(&pipe->pipes->all, &pipe->link);
	pthread_mutex_unlock(&pipe->pipes->lock);
	put(pipe);
}

struct pipes *pipes_create(struct readings *readings, struct streams *streams)
{
	struct pipes *pipes = g_new0(struct pipes, 1);

	pipes->readings = readings;
	pipes->streams = streams;
	pthread_mutex_init(&pipes->lock, NULL);
	pthread_cond_init(&pipes->changed, NULL);
	g_queue_init(&pipes->all);
	return pipes;
}

void pipes_close(struct pipes *pipes)
{
	bool running;

	pthread_mutex_lock(&pipes->lock);
	pipes->closing = true;
	running = pipes->running;
	pipes->running = false;
	pthread_cond_broadcast(&pipes->changed);
	pthread_mutex_unlock(&pipes->lock);
	if (running)
		pthread_join(pipes->thread, NULL);
}

void pipes_destroy(struct pipes *pipes)
{
	if (!pipes)
		return;
	pthread_cond_destroy(&pipes->changed);
	pthread_mutex_destroy(&pipes->lock);
	g_free(pipes);
}
