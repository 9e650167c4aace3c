/* SPDX-License-Identifier: MIT */
/*
 * Parked reads: see streams.h.
 *
 * One thread at a time tries the parked reads and holds `serving` meanwhile: our thread or a caller of
 * streams_serve(). The read that it tries is current, without the lock.
 *
 * The profiler's threads wake the thread by a bell (base/bell.h), without a lock.
 *
 * No wake-up is lost (W): a read is counted in `waiting` before any thread looks for data for it,
 * and streams_wake() reads `waiting` after the data have been stored. Both use an addition with
 * acquire and release order, so the thread with the second addition sees what the other did before
 * the first.
 */
#include "fs/streams.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bell.h"
#include "fs/dirtab.h"
#include "fs/openfile.h"
#include "fs/parked.h"
#include "fs/reply.h"
#include "sys/proc.h"

/* Pieces of one reply: 1 MiB, the largest read, of a capture's blocks, with room to spare. */
#define STREAM_PIECES 256

struct parked_read {
	struct parked parked;  /* first, so that one is the other; any signal ends the wait */
	struct streams *streams;
	struct openfile *file; /* a reference */
	size_t size;
};

struct streams {
	pthread_t thread;
	int bell;		      /* invariant: the thread's */
	_Atomic unsigned int waiting; /* atomic (W): parked reads and armed polls */
	pthread_mutex_t serving;      /* before all other locks */
	pthread_mutex_t lock;	      /* never held together with an open file's */
	struct parked_list reads;     /* (lock) closed: no read waits any more */
	GQueue polled;		      /* (lock) of struct openfile, with a reference each */
	bool ending;		      /* (lock) the thread should end */
};

void streams_wake(struct streams *streams)
{
	if (atomic_add_acq_rel(&streams->waiting, 0)) /* W */
		bell_ring(streams->bell);
}

static void count_waiting(struct streams *streams, int change)
{
	atomic_add_acq_rel(&streams->waiting, (unsigned int)change); /* W */
}

static bool is_closing(struct streams *streams)
{
	bool closing;

	pthread_mutex_lock(&streams->lock);
	closing = streams->reads.closed;
	pthread_mutex_unlock(&streams->lock);
	return closing;
}

/*
 * Answers the read if there are data, an error or the end of the file. Returns false if it must
 * wait.
 */
static bool try_read(struct fuse_req *req, struct openfile *file, size_t size, bool closing)
{
	const struct stream_ops *stream = file->row->stream;
	struct iovec iov[STREAM_PIECES];
	int count = STREAM_PIECES;
	bool eof = false, answered = true;
	ssize_t n;

	pthread_mutex_lock(&file->lock);
	n = stream->begin(file->content.cursor, size, iov, &count, &eof);
	if (n > 0)
		stream->end(file->content.cursor, reply_pieces(req, iov, count) == 0);
	else if (n < 0)
		reply_error(req, (int)-n);
	else if (eof || closing)
		reply_pieces(req, NULL, 0);
	else
		answered = false;
	pthread_mutex_unlock(&file->lock);
	return answered;
}

static bool is_readable(struct openfile *file)
{
	bool readable;

	pthread_mutex_lock(&file->lock);
	readable = file->row->stream->readable(file->content.cursor);
	pthread_mutex_unlock(&file->lock);
	return readable;
}

static void free_read(struct parked_read *read)
{
	count_waiting(read->streams, -1);
	openfile_put(read->file);
	g_free(read);
}

static void answer_read(struct parked *parked, int code)
{
	reply_error(parked->req, code);
	free_read((struct parked_read *)parked);
}

static const struct parked_ops read_ops = { .answer = answer_read };

/*
 * Returns 0 if the read is parked, otherwise an errno to answer with at once; ESHUTDOWN is answered
 * with end of file.
 */
static int park_read(struct streams *streams, struct fuse_req *req, struct openfile *file,
	size_t size)
{
	struct parked_read *read = g_new0(struct parked_read, 1);
	int code;

	read->streams = streams;
	read->file = openfile_get(file);
	read->size = size;
	count_waiting(streams, 1);
	parked_init(&streams->reads, &read->parked, req, 0);
	pthread_mutex_lock(&streams->lock);
	code = parked_add(&streams->reads, &read->parked);
	pthread_mutex_unlock(&streams->lock);
	if (code)
		free_read(read);
	return code;
}

static void read_or_park(struct streams *streams, struct fuse_req *req, struct openfile *file,
	size_t size, bool nonblock)
{
	int ret;

	if (try_read(req, file, size, nonblock && is_closing(streams)))
		return;
	if (nonblock) {
		reply_error(req, EAGAIN);
		return;
	}
	ret = park_read(streams, req, file, size);
	if (ret == ESHUTDOWN)
		reply_pieces(req, NULL, 0);
	else if (ret)
		reply_error(req, ret);
	else if (is_readable(file))
		bell_ring(streams->bell); /* data came before it was counted */
}

/*
 * Whether the reader is tail(1), for which the stream is a file that grows: a read at its end returns the end
 * of the file and does not wait, and stat(2) reports a size. tail reads up to the end before it follows a
 * file; then it compares the size once in a second, and reads what was added. Decided at the first read.
 */
static bool is_tailed(struct openfile *file, pid_t reader)
{
	bool tailed, first;

	if (!file->row->stream->size)
		return false;
	pthread_mutex_lock(&file->lock);
	first = !file->was_read;
	file->was_read = true;
	if (first)
		file->tailed = proc_has_name(NULL, reader, "tail");
	tailed = file->tailed;
	pthread_mutex_unlock(&file->lock);
	return tailed;
}

void streams_read(struct streams *streams, struct fuse_req *req, struct openfile *file, pid_t reader,
	size_t size, bool nonblock)
{
	/* once a read is answered its program may close the file while it is still used here */
	openfile_get(file);
	if (!is_tailed(file, reader))
		read_or_park(streams, req, file, size, nonblock);
	else if (!try_read(req, file, size, false))
		reply_pieces(req, NULL, 0);
	openfile_put(file);
}

/* Removes the handle from the file, with the list's reference. Called with the lock held. */
static struct fuse_pollhandle *disarm(struct streams *streams, struct openfile *file)
{
	struct fuse_pollhandle *handle = file->poll;

	file->poll = NULL;
	if (file->poll_listed) {
		file->poll_listed = false;
		g_queue_remove(&streams->polled, file);
		count_waiting(streams, -1);
	}
	return handle;
}

static void arm(struct streams *streams, struct openfile *file, struct fuse_pollhandle *handle)
{
	struct fuse_pollhandle *old;
	bool listed;

	openfile_get(file);
	pthread_mutex_lock(&streams->lock);
	old = file->poll;
	file->poll = handle;
	listed = file->poll_listed;
	if (!listed) {
		file->poll_listed = true;
		g_queue_push_tail(&streams->polled, file);
		count_waiting(streams, 1);
	}
	pthread_mutex_unlock(&streams->lock);
	if (listed)
		openfile_put(file);
	if (old)
		reply_poll_destroy(old);
}

bool streams_poll(struct streams *streams, struct openfile *file, struct fuse_pollhandle *handle)
{
	if (is_closing(streams) || is_readable(file)) {
		if (handle)
			reply_poll_destroy(handle);
		return true;
	}
	if (!handle)
		return false;
	arm(streams, file, handle);
	if (is_closing(streams) || is_readable(file)) {
		streams_forget(streams, file);
		return true;
	}
	return false;
}

/* Ends the poll of the file, if there is one, with a notification or without. */
static void end_poll(
	struct streams *streams, struct openfile *file, void (*end)(struct fuse_pollhandle *handle))
{
	struct fuse_pollhandle *handle;
	bool listed;

	pthread_mutex_lock(&streams->lock);
	listed = file->poll_listed;
	handle = disarm(streams, file);
	pthread_mutex_unlock(&streams->lock);
	if (handle)
		end(handle);
	if (listed)
		openfile_put(file);
}

void streams_forget(struct streams *streams, struct openfile *file)
{
	end_poll(streams, file, reply_poll_destroy);
}

/* Tries the parked reads once each, in the order in which they came. */
static void serve_reads(struct streams *streams)
{
	struct parked *parked;
	guint left;

	pthread_mutex_lock(&streams->lock);
	left = streams->reads.waiting.length;
	for (; left && (parked = parked_first(&streams->reads)); left--) {
		struct parked_read *read = (struct parked_read *)parked;
		bool closing = streams->reads.closed, answered;

		parked_begin(parked);
		pthread_mutex_unlock(&streams->lock);
		answered = try_read(parked->req, read->file, read->size, closing);
		pthread_mutex_lock(&streams->lock);
		if (!answered && !parked_is_interrupted(parked)) {
			parked_return(parked);
			continue;
		}
		parked_end(parked);
		pthread_mutex_unlock(&streams->lock);
		if (answered)
			free_read(read);
		else
			answer_read(parked, EINTR);
		pthread_mutex_lock(&streams->lock);
	}
	pthread_mutex_unlock(&streams->lock);
}

static void serve_polls(struct streams *streams)
{
	GPtrArray *files = g_ptr_array_new();
	bool closing;
	GList *link;
	guint i;

	pthread_mutex_lock(&streams->lock);
	closing = streams->reads.closed;
	for (link = streams->polled.head; link; link = link->next)
		g_ptr_array_add(files, openfile_get(link->data));
	pthread_mutex_unlock(&streams->lock);
	for (i = 0; i < files->len; i++) {
		if (closing || is_readable(g_ptr_array_index(files, i)))
			end_poll(streams, g_ptr_array_index(files, i), reply_poll_notify);
		openfile_put(g_ptr_array_index(files, i));
	}
	g_ptr_array_free(files, TRUE);
}

static void serve(struct streams *streams)
{
	serve_reads(streams);
	serve_polls(streams);
}

void streams_serve(struct streams *streams)
{
	const unsigned int waiting = atomic_add_acq_rel(&streams->waiting, 0); /* W */

	if (!waiting)
		return;
	if (waiting > 1 || pthread_mutex_trylock(&streams->serving)) {
		bell_ring(streams->bell);
		return;
	}
	serve(streams);
	pthread_mutex_unlock(&streams->serving);
}

static void *run_streams(void *arg)
{
	struct streams *streams = arg;
	bool ending = false;

	pthread_setname_np(pthread_self(), "kp-stream");
	while (!ending) {
		bell_wait(streams->bell);
		pthread_mutex_lock(&streams->serving);
		serve(streams);
		pthread_mutex_unlock(&streams->serving);
		pthread_mutex_lock(&streams->lock);
		ending = streams->ending;
		pthread_mutex_unlock(&streams->lock);
	}
	return NULL;
}

int streams_create(struct streams **streams)
{
	struct streams *s = g_new0(struct streams, 1);
	int ret;

	pthread_mutex_init(&s->serving, NULL);
	pthread_mutex_init(&s->lock, NULL);
	parked_list_init(&s->reads, &read_ops, &s->lock);
	g_queue_init(&s->polled);
	s->bell = bell_open();
	ret = s->bell < 0 ? s->bell : -pthread_create(&s->thread, NULL, run_streams, s);
	if (ret) {
		if (s->bell >= 0)
			close(s->bell);
		pthread_mutex_destroy(&s->lock);
		pthread_mutex_destroy(&s->serving);
		g_free(s);
		return ret;
	}
	*streams = s;
	return 0;
}

void streams_close(struct streams *streams)
{
	pthread_mutex_lock(&streams->lock);
	parked_close(&streams->reads);
	pthread_mutex_unlock(&streams->lock);
	bell_ring(streams->bell);
}

void streams_destroy(struct streams *streams)
{
	if (!streams)
		return;
	pthread_mutex_lock(&streams->lock);
	parked_close(&streams->reads);
	streams->ending = true;
	pthread_mutex_unlock(&streams->lock);
	bell_ring(streams->bell);
	pthread_join(streams->thread, NULL);
	close(streams->bell);
	pthread_mutex_destroy(&streams->lock);
	pthread_mutex_destroy(&streams->serving);
	g_free(streams);
}

uint64_t streams_waiting(struct streams *streams)
{
	uint64_t waiting;

	pthread_mutex_lock(&streams->lock);
	waiting = parked_count(&streams->reads);
	pthread_mutex_unlock(&streams->lock);
	return waiting;
}
