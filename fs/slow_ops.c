/* SPDX-License-Identifier: MIT */
/*
 * Opens and reads that take long: see views.h.
 *
 * A job is queued, or current in one thread. Who takes it out of the queue answers its request: a
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

/* How often /proc is asked about an opener of which the kernel would tell no more: that takes some
 * 20 us. */
#define LOOK_NS (10 * NSEC_PER_MSEC)

struct view_job {
	struct fuse_req *req;
	struct openfile *file; /* a reference */
	struct origin origin;
	uid_t uid;  /* whose turn it takes: of who opened the file */
	bool reads; /* else it opens */
	uint64_t offset;
	size_t size;
	struct cancel cancel;   /* invariant */
	_Atomic bool cancelled; /* relaxed: a flag, nothing goes with it */
	_Atomic bool doubted;   /* relaxed: it was interrupted, and not for good */
	uint64_t look_ns;       /* the maker's: then it looks again whether the opener ends */
	int cancel_fd;          /* (lock) a bell; < 0: nobody asked for one */
	struct slow_ops *views; /* invariant */
};

struct slow_ops {
	const char *name;            /* invariant */
	unsigned int max;            /* invariant: threads, without the one for who is privileged */
	bool brief;                  /* invariant */
	const struct quotas *quotas; /* invariant: who is privileged */
	pthread_mutex_t lock;        /* inside libfuse's lock of a request, else a leaf */
	pthread_cond_t ended;        /* a thread has ended */
	struct turns waiting;        /* (lock) of struct view_job */
	GQueue current;              /* (lock) of struct view_job */
	unsigned int threads;        /* (lock) */
	bool closing;                /* (lock) */
};

/* Who waits for the open; 0: it is a read. */
static pid_t tid_of(const struct view_job *job)
{
	return job->reads ? 0 : job->origin.pid;
}

/*
 * An open is not given up for a signal that only tells its program something. One that takes a
 * moment is not for any that its program handles: where a timer interrupts it every few ms it would
 * begin anew for ever.
 */
static bool counts(const struct slow_ops *views, pid_t opener)
{
	if (!opener)
		return true;
	return views->brief ? proc_is_ending(NULL, opener) : proc_is_interrupted(NULL, opener);
}

/* The kernel tells of one signal for each request: behind one that did not count the end is looked
 * for. */
static bool has_ended(struct view_job *job)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < job->look_ns)
		return false;
	job->look_ns = now_ns + LOOK_NS;
	return proc_is_ending(NULL, tid_of(job));
}

static bool is_cancelled(void *arg)
{
	struct view_job *job = arg;

	if (!atomic_read_relaxed(&job->cancelled) && atomic_read_relaxed(&job->doubted) &&
		tid_of(job) && has_ended(job))
		atomic_write_relaxed(&job->cancelled, true);
	return atomic_read_relaxed(&job->cancelled);
}

const struct cancel *slow_ops_cancel(const void *arg)
{
	const struct view_job *job = arg;

	return job ? &job->cancel : NULL;
}

uid_t slow_ops_uid(const void *arg)
{
	const struct view_job *job = arg;

	return job->uid;
}

int slow_ops_cancel_fd(void *arg)
{
	struct view_job *job = arg;
	int fd;

	pthread_mutex_lock(&job->views->lock);
	if (job->cancel_fd < 0)
		job->cancel_fd = bell_open();
	if (job->cancel_fd >= 0 && atomic_read_relaxed(&job->cancelled))
		bell_ring(job->cancel_fd);
	fd = job->cancel_fd;
	pthread_mutex_unlock(&job->views->lock);
	return fd;
}

void slow_ops_close_cancel_fd(void *arg)
{
	struct view_job *job = arg;

	pthread_mutex_lock(&job->views->lock);
	if (job->cancel_fd >= 0)
		close(job->cancel_fd);
	job->cancel_fd = -1;
	pthread_mutex_unlock(&job->views->lock);
}

/* With the lock held. */
static void mark_cancelled(struct view_job *job)
{
	atomic_write_relaxed(&job->cancelled, true);
	if (job->cancel_fd >= 0)
		bell_ring(job->cancel_fd);
}

static bool is_of(const void *job, const void *req)
{
	return ((const struct view_job *)job)->req == req;
}

static bool is_any(const void *job, const void *arg)
{
	return true;
}

/* With the lock held. */
static struct view_job *find_current(struct slow_ops *views, const struct fuse_req *req)
{
	GList *link;

	for (link = views->current.head; link; link = link->next)
		if (is_of(link->data, req))
			return link->data;
	return NULL;
}

/* Answers it: with the text, which is made now, or where nobody wants it with EINTR. */
static void finish(struct view_job *job)
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

static void give_up(struct view_job *job)
{
	atomic_write_relaxed(&job->cancelled, true);
	finish(job);
	g_free(job);
}

/* There is no thread for it. */
static void fail_job(struct view_job *job, int code)
{
	openfile_refuse(job->file, &job->origin, code, "the server can't begin a thread for it");
	openfile_put(job->file);
	reply_error(job->req, code);
	g_free(job);
}

/* A job that goes on is in doubt from then on. */
static bool is_serious(struct slow_ops *views, const struct fuse_req *req)
{
	struct view_job *job;
	pid_t tid = 0;

	pthread_mutex_lock(&views->lock);
	job = turns_find(&views->waiting, is_of, req);
	if (!job)
		job = find_current(views, req);
	if (job) {
		tid = tid_of(job);
		atomic_write_relaxed(&job->doubted, true);
	}
	pthread_mutex_unlock(&views->lock);
	return counts(views, tid);
}

static void interrupt_job(struct fuse_req *req, void *arg)
{
	struct slow_ops *views = arg;
	struct view_job *job, *current;

	if (!is_serious(views, req))
		return;
	pthread_mutex_lock(&views->lock);
	job = turns_find(&views->waiting, is_of, req);
	current = job ? NULL : find_current(views, req);
	if (job)
		turns_remove(&views->waiting, job);
	else if (current)
		mark_cancelled(current);
	pthread_mutex_unlock(&views->lock);
	if (job)
		give_up(job);
}

static struct view_job *next_job(struct slow_ops *views)
{
	struct view_job *job;
	uid_t uid;

	pthread_mutex_lock(&views->lock);
	job = views->closing ? NULL : turns_take(&views->waiting, &uid);
	if (job) {
		g_queue_push_tail(&views->current, job);
	} else {
		views->threads--;
		pthread_cond_broadcast(&views->ended);
	}
	pthread_mutex_unlock(&views->lock);
	return job;
}

static void *run_views(void *arg)
{
	struct slow_ops *views = arg;
	struct view_job *job;

	pthread_setname_np(pthread_self(), views->name);
	while ((job = next_job(views))) {
		finish(job);
		pthread_mutex_lock(&views->lock);
		g_queue_remove(&views->current, job);
		turns_done(&views->waiting, job->uid);
		pthread_mutex_unlock(&views->lock);
		g_free(job);
	}
	return NULL;
}

/* With the lock held. Without a thread at all the caller answers with the error. */
static int need_thread(struct slow_ops *views)
{
	pthread_attr_t detached;
	pthread_t thread;
	int ret;

	if (views->threads > views->max)
		return 0;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	ret = pthread_create(&thread, &detached, run_views, views);
	pthread_attr_destroy(&detached);
	if (!ret)
		views->threads++;
	return views->threads ? 0 : -ret;
}

static void add_job(struct slow_ops *views, struct view_job *job)
{
	bool queued = false;
	int ret = 0;

	job->views = views;
	job->cancel = (struct cancel){ is_cancelled, job, -1 };
	job->cancel_fd = -1;
	reply_on_interrupt(job->req, interrupt_job, views);
	pthread_mutex_lock(&views->lock);
	if (!views->closing && !(reply_interrupted(job->req) && counts(views, tid_of(job)))) {
		turns_add(&views->waiting, job->uid, quotas_is_privileged(views->quotas, job->uid),
			job);
		ret = need_thread(views);
		queued = !ret;
		if (!queued)
			turns_remove(&views->waiting, job);
	}
	pthread_mutex_unlock(&views->lock);
	if (ret)
		fail_job(job, ENOMEM); /* not EAGAIN, which means something else to who opens */
	else if (!queued)
		give_up(job);
}

void slow_ops_open(struct slow_ops *views, struct fuse_req *req, struct openfile *file,
	const struct origin *origin)
{
	struct view_job *job = g_new0(struct view_job, 1);

	job->req = req;
	job->file = file;
	job->origin = *origin;
	job->uid = file->share.uid;
	add_job(views, job);
}

void slow_ops_read(struct slow_ops *views, struct fuse_req *req, struct openfile *file,
	uint64_t offset, size_t size)
{
	struct view_job *job = g_new0(struct view_job, 1);

	job->req = req;
	job->file = openfile_get(file);
	job->uid = file->share.uid;
	job->reads = true;
	job->offset = offset;
	job->size = size;
	add_job(views, job);
}

struct slow_ops *slow_ops_create(
	const char *name, unsigned int max_threads, bool brief, const struct quotas *quotas)
{
	struct slow_ops *views = g_new0(struct slow_ops, 1);

	views->name = name;
	views->max = max_threads;
	views->brief = brief;
	views->quotas = quotas;
	pthread_mutex_init(&views->lock, NULL);
	pthread_cond_init(&views->ended, NULL);
	turns_init(&views->waiting, max_threads);
	g_queue_init(&views->current);
	return views;
}

void slow_ops_close(struct slow_ops *views)
{
	struct view_job *job;
	GList *link;

	pthread_mutex_lock(&views->lock);
	views->closing = true;
	for (link = views->current.head; link; link = link->next)
		mark_cancelled(link->data);
	while ((job = turns_find(&views->waiting, is_any, NULL))) {
		turns_remove(&views->waiting, job);
		pthread_mutex_unlock(&views->lock);
		give_up(job);
		pthread_mutex_lock(&views->lock);
	}
	while (views->threads)
		pthread_cond_wait(&views->ended, &views->lock);
	pthread_mutex_unlock(&views->lock);
}

void slow_ops_destroy(struct slow_ops *views)
{
	if (!views)
		return;
	turns_fini(&views->waiting);
	pthread_cond_destroy(&views->ended);
	pthread_mutex_destroy(&views->lock);
	g_free(views);
}
