/* SPDX-License-Identifier: MIT */
/*
 * Opens and reads that take long: see slow_ops.h.
 *
 * A job is a parked request. A waiting one is also in `turns`, which selects the next one. A
 * current one that is interrupted is only marked; its maker checks the mark regularly, or also
 * waits for the descriptor, and its thread answers EINTR.
 */
#include "fs/slow_ops.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bell.h"
#include "fs/dirtab.h"
#include "fs/open_reply.h"
#include "fs/openfile.h"
#include "fs/parked.h"
#include "fs/reply.h"
#include "fs/quota.h"
#include "fs/turns.h"
#include "sys/proc.h"

struct slow_op {
	struct parked parked;  /* first, so that one is the other; without thread where it reads */
	struct openfile *file; /* a reference */
	struct origin origin;
	uid_t uid;  /* whose turn it takes: the user who opened the file */
	bool reads; /* else it opens */
	uint64_t offset;
	size_t size;
	struct cancel cancel; /* invariant */
	int cancel_fd;        /* (lock) a bell; < 0: none was requested */
	struct slow_ops *ops; /* invariant */
};

struct slow_ops {
	const char *name;            /* invariant */
	unsigned int max;            /* invariant: threads, without the one for privileged users */
	const struct quotas *quotas; /* invariant: who is privileged */
	pthread_mutex_t lock;        /* inside libfuse's lock of a request, else a leaf */
	pthread_cond_t ended;        /* a thread has ended */
	struct parked_list jobs;     /* (lock) */
	struct turns turns;          /* (lock) those that wait */
	unsigned int threads;        /* (lock) */
};

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
	if (job->cancel_fd >= 0 && atomic_read_relaxed(&job->parked.interrupted))
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

/* Makes the text and answers with it, or with EINTR if it was cancelled. */
static void finish(struct slow_op *job)
{
	int ret;

	if (job->reads) {
		open_reply_lazy_read(job->parked.req, job->file, job->offset, job->size, &job->cancel);
		openfile_put(job->file);
		return;
	}
	job->file->maker = job;
	ret = openfile_fill(job->file, &job->origin);
	if (ret) {
		openfile_put(job->file); /* before the reply, so that a new open finds its quota free */
		reply_error(job->parked.req, -ret);
	} else if (!open_reply(job->parked.req, job->file)) {
		openfile_put(job->file);
	}
}

/* With EINTR a program that was reading reads again; more of the text is then ready. */
static void give_up(struct parked *parked, int code)
{
	atomic_write_relaxed(&parked->interrupted, true);
	finish((struct slow_op *)parked);
	g_free(parked);
}

/* Answers a job for which no thread can be created. */
static void fail_job(struct slow_op *job, int code)
{
	openfile_refuse(job->file, &job->origin, code, "the server can't begin a thread for it");
	openfile_put(job->file);
	reply_error(job->parked.req, code);
	g_free(job);
}

static bool take_out(struct parked *parked)
{
	turns_remove(&((struct slow_op *)parked)->ops->turns, parked);
	return true;
}

static void stop(struct parked *parked)
{
	const struct slow_op *job = (struct slow_op *)parked;

	if (job->cancel_fd >= 0)
		bell_ring(job->cancel_fd);
}

/* An open is not cancelled for a signal that only notifies its program. */
static const struct parked_ops long_ops = {
	.ends_wait = proc_is_interrupted,
	.take_out = take_out,
	.stop = stop,
	.answer = give_up,
};

/*
 * Short jobs are not interrupted by a signal that the program handles: if a timer interrupted them
 * every few ms, they would start again without end.
 */
static const struct parked_ops brief_ops = {
	.ends_wait = proc_is_ending,
	.take_out = take_out,
	.stop = stop,
	.answer = give_up,
};

static struct slow_op *next_job(struct slow_ops *ops)
{
	struct slow_op *job;
	uid_t uid;

	pthread_mutex_lock(&ops->lock);
	job = ops->jobs.closed ? NULL : turns_take(&ops->turns, &uid);
	if (job) {
		parked_begin(&job->parked);
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
		parked_end(&job->parked);
		turns_done(&ops->turns, job->uid);
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

/* tid: see struct parked */
static void add_job(struct slow_ops *ops, struct slow_op *job, struct fuse_req *req, pid_t tid)
{
	int code, ret = 0;

	job->ops = ops;
	job->cancel = (struct cancel){ parked_is_interrupted, &job->parked, -1 };
	job->cancel_fd = -1;
	parked_init(&ops->jobs, &job->parked, req, tid);
	pthread_mutex_lock(&ops->lock);
	code = parked_add(&ops->jobs, &job->parked);
	if (!code) {
		turns_add(&ops->turns, job->uid, quotas_is_privileged(ops->quotas, job->uid), job);
		ret = need_thread(ops);
	}
	if (ret) {
		turns_remove(&ops->turns, job);
		parked_end(&job->parked);
	}
	pthread_mutex_unlock(&ops->lock);
	if (ret)
		fail_job(job, ENOMEM); /* not EAGAIN, which has another meaning for open(2) */
	else if (code)
		give_up(&job->parked, code);
}

void slow_ops_open(struct slow_ops *ops, struct fuse_req *req, struct openfile *file,
	const struct origin *origin)
{
	struct slow_op *job = g_new0(struct slow_op, 1);

	job->file = file;
	job->origin = *origin;
	job->uid = file->share.uid;
	add_job(ops, job, req, origin->pid);
}

void slow_ops_read(struct slow_ops *ops, struct fuse_req *req, struct openfile *file,
	uint64_t offset, size_t size)
{
	struct slow_op *job = g_new0(struct slow_op, 1);

	job->file = openfile_get(file);
	job->uid = file->share.uid;
	job->reads = true;
	job->offset = offset;
	job->size = size;
	add_job(ops, job, req, 0);
}

struct slow_ops *slow_ops_create(
	const char *name, unsigned int max_threads, bool brief, const struct quotas *quotas)
{
	struct slow_ops *ops = g_new0(struct slow_ops, 1);

	ops->name = name;
	ops->max = max_threads;
	ops->quotas = quotas;
	pthread_mutex_init(&ops->lock, NULL);
	pthread_cond_init(&ops->ended, NULL);
	parked_list_init(&ops->jobs, brief ? &brief_ops : &long_ops, &ops->lock);
	turns_init(&ops->turns, max_threads);
	return ops;
}

void slow_ops_close(struct slow_ops *ops)
{
	pthread_mutex_lock(&ops->lock);
	parked_close(&ops->jobs);
	pthread_mutex_unlock(&ops->lock);
	parked_refuse_all(&ops->jobs);
	pthread_mutex_lock(&ops->lock);
	while (ops->threads)
		pthread_cond_wait(&ops->ended, &ops->lock);
	pthread_mutex_unlock(&ops->lock);
}

void slow_ops_destroy(struct slow_ops *ops)
{
	if (!ops)
		return;
	turns_fini(&ops->turns);
	pthread_cond_destroy(&ops->ended);
	pthread_mutex_destroy(&ops->lock);
	g_free(ops);
}
