/* SPDX-License-Identifier: MIT */
/*
 * Opens and reads that take long: see slow_ops.h.
 *
 * A job is queued, or current in one thread. The one that takes it out of the queue answers its request: a
 * thread, or the worker in which an interrupt arrives. A current one is only marked; its maker
 * looks at the mark now and then, or waits for the descriptor too, and its thread answers EINTR.
 */
#include "fs/slow_ops.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bell.h"
#include "base/units.h"
#include "fs/dirtab.h"
#include "fs/open_reply.h"
#include "fs/openfile.h"
#include "fs/reply.h"
#include "fs/quota.h"
#include "fs/turns.h"
#include "sys/clock.h"
#include "sys/proc.h"

/* How often /proc is read about an opener whose further signals the kernel does not report: that takes
 * some 20 us. */
#define LOOK_NS (10 * NSEC_PER_MSEC)

struct slow_op {
	struct fuse_req *req;
	struct openfile *file; /* a reference */
	struct origin origin;
	uid_t uid;  /* whose turn it takes: the user who opened the file */
	bool reads; /* else it opens */
	uint64_t offset;
	size_t size;
	struct cancel cancel;   /* invariant */
	_Atomic bool cancelled; /* relaxed: a flag, nothing goes with it */
	_Atomic bool doubted;   /* relaxed: it was interrupted, and not for good */
	uint64_t look_ns;       /* the maker's: then it looks again whether the opener ends */
	int cancel_fd;          /* (lock) a bell; < 0: none was requested */
	struct slow_ops *ops; /* invariant */
};

struct slow_ops {
	const char *name;            /* invariant */
	unsigned int max;            /* invariant: threads, without the one for privileged users */
	bool brief;                  /* invariant */
	const struct quotas *quotas; /* invariant: who is privileged */
	pthread_mutex_t lock;        /* inside libfuse's lock of a request, else a leaf */
	pthread_cond_t ended;        /* a thread has ended */
	struct turns waiting;        /* (lock) of struct slow_op */
	GQueue current;              /* (lock) of struct slow_op */
	unsigned int threads;        /* (lock) */
	bool closing;                /* (lock) */
};

/* The thread that waits for the open; 0: it is a read. */
static pid_t tid_of(const struct slow_op *job)
{
	return job->reads ? 0 : job->origin.pid;
}

/*
 * An open is not cancelled for a signal that its program handles and survives. One that takes a
 * moment is not for any that its program handles: where a timer interrupts it every few ms it would
 * begin anew for ever.
 */
static bool counts(const struct slow_ops *ops, pid_t opener)
{
	if (!opener)
		return true;
	return ops->brief ? proc_is_ending(NULL, opener) : proc_is_interrupted(NULL, opener);
}

/* The kernel reports one signal for each request: after one that did not count, /proc is read for the
 * end of the program. */
static bool has_ended(struct slow_op *job)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < job->look_ns)
		return false;
	job->look_ns = now_ns + LOOK_NS;
	return proc_is_ending(NULL, tid_of(job));
}

static bool is_cancelled(void *arg)
{
	struct slow_op *job = arg;

	if (!atomic_read_relaxed(&job->cancelled) && atomic_read_relaxed(&job->doubted) &&
		tid_of(job) && has_ended(job))
		atomic_write_relaxed(&job->cancelled, true);
	return atomic_read_relaxed(&job->cancelled);
}

const struct cancel *slow_ops_cancel(const void *arg)
{
	const struct slow_op *job = arg;

	return job ? &job->cancel : NULL;
}

uid_t slow_ops_uid(const void *arg)
{
	const struct slow_op *job = arg;

	return job->uid;
}

int slow_ops_cancel_fd(void *arg)
{
	struct slow_op *job = arg;
	int fd;

	pthread_mutex_lock(&job->ops->lock);
	if (job->cancel_fd < 0)
		job->cancel_fd = bell_open();
	if (job->cancel_fd >= 0 && atomic_read_relaxed(&job->cancelled))
		bell_ring(job->cancel_fd);
	fd = job->cancel_fd;
	pthread_mutex_unlock(&job->ops->lock);
	return fd;
}

void slow_ops_close_cancel_fd(void *arg)
{
	struct slow_op *job = arg;

	pthread_mutex_lock(&job->ops->lock);
	if (job->cancel_fd >= 0)
		close(job->cancel_fd);
	job->cancel_fd = -1;
	pthread_mutex_unlock(&job->ops->lock);
}

/* With the lock held. */
static void mark_cancelled(struct slow_op *job)
{
	atomic_write_relaxed(&job->cancelled, true);
	if (job->cancel_fd >= 0)
		bell_ring(job->cancel_fd);
}

static bool is_of(const void *job, const void *req)
{
	return ((const struct slow_op *)job)->req == req;
}

static bool is_any(const void *job, const void *arg)
{
	return true;
}

/* With the lock held. */
static struct slow_op *find_current(struct slow_ops *ops, const struct fuse_req *req)
{
	GList *link;

	for (link = ops->current.head; link; link = link->next)
		if (is_of(link->data, req))
			return link->data;
	return NULL;
}

/* Answers it: with the text, which is made now, or, when cancelled, with EINTR. */
static void finish(struct slow_op *job)
{
	int ret;

	if (job->reads) {
		open_reply_lazy_read(job->req, job->file, job->offset, job->size, &job->cancel);
		openfile_put(job->file);
		return;
	}
	job->file->maker = job;
	ret = openfile_fill(job->file, &job->origin);
	if (ret) {
		openfile_put(job->file); /* before the reply, so that a new open finds its quota free */
		reply_error(job->req, -ret);
	} else if (!open_reply(job->req, job->file)) {
		openfile_put(job->file);
	}
}

static void give_up(struct slow_op *job)
{
	atomic_write_relaxed(&job->cancelled, true);
	finish(job);
	g_free(job);
}

/* There is no thread for it. */
static void fail_job(struct slow_op *job, int code)
{
	openfile_refuse(job->file, &job->origin, code, "the server can't begin a thread for it");
	openfile_put(job->file);
	reply_error(job->req, code);
	g_free(job);
}

/* A job that goes on is in doubt from then on. */
static bool is_serious(struct slow_ops *ops, const struct fuse_req *req)
{
	struct slow_op *job;
	pid_t tid = 0;

	pthread_mutex_lock(&ops->lock);
	job = turns_find(&ops->waiting, is_of, req);
	if (!job)
		job = find_current(ops, req);
	if (job) {
		tid = tid_of(job);
		atomic_write_relaxed(&job->doubted, true);
	}
	pthread_mutex_unlock(&ops->lock);
	return counts(ops, tid);
}

static void interrupt_job(struct fuse_req *req, void *arg)
{
	struct slow_ops *ops = arg;
	struct slow_op *job, *current;

	if (!is_serious(ops, req))
		return;
	pthread_mutex_lock(&ops->lock);
	job = turns_find(&ops->waiting, is_of, req);
	current = job ? NULL : find_current(ops, req);
	if (job)
		turns_remove(&ops->waiting, job);
	else if (current)
		mark_cancelled(current);
	pthread_mutex_unlock(&ops->lock);
	if (job)
		give_up(job);
}

static struct slow_op *next_job(struct slow_ops *ops)
{
	struct slow_op *job;
	uid_t uid;

	pthread_mutex_lock(&ops->lock);
	job = ops->closing ? NULL : turns_take(&ops->waiting, &uid);
	if (job) {
		g_queue_push_tail(&ops->current, job);
	} else {
		ops->threads--;
		pthread_cond_broadcast(&ops->ended);
	}
	pthread_mutex_unlock(&ops->lock);
	return job;
}

static void *run_ops(void *arg)
{
	struct slow_ops *ops = arg;
	struct slow_op *job;

	pthread_setname_np(pthread_self(), ops->name);
	while ((job = next_job(ops))) {
		finish(job);
		pthread_mutex_lock(&ops->lock);
		g_queue_remove(&ops->current, job);
		turns_done(&ops->waiting, job->uid);
		pthread_mutex_unlock(&ops->lock);
		g_free(job);
	}
	return NULL;
}

/* With the lock held. Without a thread at all the caller answers with the error. */
static int need_thread(struct slow_ops *ops)
{
	pthread_attr_t detached;
	pthread_t thread;
	int ret;

	if (ops->threads > ops->max)
		return 0;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	ret = pthread_create(&thread, &detached, run_ops, ops);
	pthread_attr_destroy(&detached);
	if (!ret)
		ops->threads++;
	return ops->threads ? 0 : -ret;
}

static void add_job(struct slow_ops *ops, struct slow_op *job)
{
	bool queued = false;
	int ret = 0;

	job->ops = ops;
	job->cancel = (struct cancel){ is_cancelled, job, -1 };
	job->cancel_fd = -1;
	reply_on_interrupt(job->req, interrupt_job, ops);
	pthread_mutex_lock(&ops->lock);
	if (!ops->closing && !(reply_interrupted(job->req) && counts(ops, tid_of(job)))) {
		turns_add(&ops->waiting, job->uid, quotas_is_privileged(ops->quotas, job->uid),
			job);
		ret = need_thread(ops);
		queued = !ret;
		if (!queued)
			turns_remove(&ops->waiting, job);
	}
	pthread_mutex_unlock(&ops->lock);
	if (ret)
		fail_job(job, ENOMEM); /* not EAGAIN, which has another meaning for open(2) */
	else if (!queued)
		give_up(job);
}

void slow_ops_open(struct slow_ops *ops, struct fuse_req *req, struct openfile *file,
	const struct origin *origin)
{
	struct slow_op *job = g_new0(struct slow_op, 1);

	job->req = req;
	job->file = file;
	job->origin = *origin;
	job->uid = file->share.uid;
	add_job(ops, job);
}

void slow_ops_read(struct slow_ops *ops, struct fuse_req *req, struct openfile *file,
	uint64_t offset, size_t size)
{
	struct slow_op *job = g_new0(struct slow_op, 1);

	job->req = req;
	job->file = openfile_get(file);
	job->uid = file->share.uid;
	job->reads = true;
	job->offset = offset;
	job->size = size;
	add_job(ops, job);
}

struct slow_ops *slow_ops_create(
	const char *name, unsigned int max_threads, bool brief, const struct quotas *quotas)
{
	struct slow_ops *ops = g_new0(struct slow_ops, 1);

	ops->name = name;
	ops->max = max_threads;
	ops->brief = brief;
	ops->quotas = quotas;
	pthread_mutex_init(&ops->lock, NULL);
	pthread_cond_init(&ops->ended, NULL);
	turns_init(&ops->waiting, max_threads);
	g_queue_init(&ops->current);
	return ops;
}

void slow_ops_close(struct slow_ops *ops)
{
	struct slow_op *job;
	GList *link;

	pthread_mutex_lock(&ops->lock);
	ops->closing = true;
	for (link = ops->current.head; link; link = link->next)
		mark_cancelled(link->data);
	while ((job = turns_find(&ops->waiting, is_any, NULL))) {
		turns_remove(&ops->waiting, job);
		pthread_mutex_unlock(&ops->lock);
		give_up(job);
		pthread_mutex_lock(&ops->lock);
	}
	while (ops->threads)
		pthread_cond_wait(&ops->ended, &ops->lock);
	pthread_mutex_unlock(&ops->lock);
}

void slow_ops_destroy(struct slow_ops *ops)
{
	if (!ops)
		return;
	turns_fini(&ops->waiting);
	pthread_cond_destroy(&ops->ended);
	pthread_mutex_destroy(&ops->lock);
	g_free(ops);
}
