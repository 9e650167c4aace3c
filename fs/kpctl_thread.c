/* SPDX-License-Identifier: MIT */
/*
 * The queue of commands and the file that holds the run: see kpctl_thread.h.
 *
 * A write or an open that waits is in exactly one queue; the thread that takes it out answers it: the control
 * thread, or the worker in which an interrupt arrives.
 */
#include "fs/kpctl_thread.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>

#include "base/units.h"
#include "fs/open_reply.h"
#include "fs/openfile.h"
#include "fs/reply.h"
#include "prof/profiler.h"
#include "sys/clock.h"
#include "sys/proc.h"

/* Something for the thread to do: an open that waits for the holder, a write, or a close. */
struct job {
	struct fuse_req *req;  /* NULL: the holder's close */
	struct openfile *file; /* a reference */
	struct origin origin;
	uint64_t deadline_ns; /* of an open; CLOCK_MONOTONIC */
	char *data;           /* of a write */
	size_t size;
};

struct kpctl_thread {
	struct profiler *profiler; /* invariant */
	bool akaros;               /* invariant */
	pthread_t thread;
	pthread_mutex_t lock;      /* never held while the profiler is called or a file is used */
	pthread_cond_t wake;       /* the thread's */
	GQueue jobs;               /* (lock) writes, and the holder's close; oldest first */
	GQueue opens;              /* (lock) opens that met a holder, oldest first */
	struct openfile *holder;   /* (lock) the run is tied to it; its close is still to come */
	struct fuse_req *current;  /* (lock) the write at hand */
	pid_t current_tid;         /* (lock) of the thread that waits for it */
	unsigned int interrupting; /* (lock) workers on their way into profiler_interrupt() */
	bool cpus_changed;         /* (lock) */
	bool closing;              /* (lock) */
};

static struct job *create_job(
	struct fuse_req *req, struct openfile *file, const struct origin *origin)
{
	struct job *job = g_new0(struct job, 1);

	job->req = req;
	job->file = file;
	if (origin)
		job->origin = *origin;
	return job;
}

static void free_job(struct job *job)
{
	if (job->file)
		openfile_put(job->file);
	g_free(job->data);
	g_free(job);
}

static struct job *take_job(GQueue *queue, struct fuse_req *req)
{
	GList *link;

	for (link = queue->head; link; link = link->next) {
		struct job *job = link->data;

		if (job->req == req) {
			g_queue_delete_link(queue, link);
			return job;
		}
	}
	return NULL;
}

static pid_t tid_in(GQueue *queue, const struct fuse_req *req)
{
	GList *link;

	for (link = queue->head; link; link = link->next)
		if (((struct job *)link->data)->req == req)
			return ((struct job *)link->data)->origin.pid;
	return 0;
}

/*
 * The kernel interrupts a request for any signal. All waits here are short, so only a signal that
 * ends the program ends the wait: a shell's background job that ends would make its `echo start` fail.
 */
static bool is_serious(struct kpctl_thread *kpctl, const struct fuse_req *req)
{
	pid_t tid;

	pthread_mutex_lock(&kpctl->lock);
	tid = tid_in(&kpctl->jobs, req);
	if (!tid)
		tid = tid_in(&kpctl->opens, req);
	if (!tid && kpctl->current == req)
		tid = kpctl->current_tid;
	pthread_mutex_unlock(&kpctl->lock);
	return tid && proc_is_interrupted(NULL, tid);
}

/*
 * In a worker. `current` is compared last: a finished write's address can come back as a new
 * request, which is then in a queue, or will find itself interrupted when it gets there.
 */
static void interrupt_job(struct fuse_req *req, void *arg)
{
	struct kpctl_thread *kpctl = arg;
	bool under_way;
	struct job *job;

	if (!is_serious(kpctl, req))
		return;
	pthread_mutex_lock(&kpctl->lock);
	job = take_job(&kpctl->jobs, req);
	if (!job)
		job = take_job(&kpctl->opens, req);
	under_way = !job && kpctl->current == req;
	if (under_way)
		kpctl->interrupting++; /* the thread waits: it must not be the next one's start */
	pthread_mutex_unlock(&kpctl->lock);

	if (job) {
		reply_error(req, EINTR);
		free_job(job);
	}
	if (!under_way)
		return;
	profiler_interrupt(kpctl->profiler);
	pthread_mutex_lock(&kpctl->lock);
	kpctl->interrupting--;
	pthread_cond_signal(&kpctl->wake);
	pthread_mutex_unlock(&kpctl->lock);
}

/* Queues the job, or returns an errno to answer it with. */
static int queue_job(struct kpctl_thread *kpctl, GQueue *queue, struct job *job)
{
	int ret = 0;

	pthread_mutex_lock(&kpctl->lock);
	if (kpctl->closing)
		ret = ESHUTDOWN;
	else if (job->req && reply_interrupted(job->req) &&
		 proc_is_interrupted(NULL, job->origin.pid))
		ret = EINTR;
	else
		g_queue_push_tail(queue, job);
	pthread_cond_signal(&kpctl->wake);
	pthread_mutex_unlock(&kpctl->lock);
	return ret;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

/* Whether the file may be open beside the holder; with the lock held. Makes it the holder. */
static bool admit(struct kpctl_thread *kpctl, struct openfile *file)
{
	if (kpctl->holder && (kpctl->akaros || openfile_writes(file)))
		return false;
	if (kpctl->akaros)
		kpctl->holder = file;
	return true;
}

static void fill_and_open(struct kpctl_thread *kpctl, struct fuse_req *req, struct openfile *file,
	const struct origin *origin)
{
	int ret = openfile_fill(file, origin);

	if (ret) {
		kpctl_thread_release(kpctl, file);
		reply_error(req, -ret);
	} else if (!open_reply(req, file)) {
		kpctl_thread_release(kpctl, file);
	}
}

void kpctl_thread_open(struct kpctl_thread *kpctl, struct fuse_req *req, struct openfile *file,
	const struct origin *origin)
{
	bool contends = kpctl->akaros || openfile_writes(file);
	struct job *job;
	bool admitted;
	int ret;

	pthread_mutex_lock(&kpctl->lock);
	admitted = (!contends || g_queue_is_empty(&kpctl->opens)) && admit(kpctl, file);
	pthread_mutex_unlock(&kpctl->lock);
	if (admitted) {
		fill_and_open(kpctl, req, file, origin);
		return;
	}
	reply_on_interrupt(req, interrupt_job, kpctl);
	job = create_job(req, file, origin);
	job->deadline_ns = clock_monotonic_ns() + KPCTL_THREAD_OPEN_WAIT_MS * NSEC_PER_MSEC;
	ret = queue_job(kpctl, &kpctl->opens, job);
	if (ret) {
		reply_error(req, ret);
		free_job(job);
	}
}

static void finish_open(struct kpctl_thread *kpctl, struct job *job, bool admitted)
{
	if (admitted) {
		fill_and_open(kpctl, job->req, g_steal_pointer(&job->file), &job->origin);
	} else {
		openfile_refuse(job->file, &job->origin, EBUSY,
			"another open file holds the run; it ends when that file is closed");
		reply_error(job->req, EBUSY);
	}
	free_job(job);
}

/*
 * Admits or refuses the opens that wait, the oldest first; with the lock held, which is released in
 * between. Returns when the next one is due, or 0.
 */
static uint64_t serve_opens(struct kpctl_thread *kpctl)
{
	struct job *job;

	while ((job = g_queue_peek_head(&kpctl->opens))) {
		bool admitted = admit(kpctl, job->file);

		if (!admitted && clock_monotonic_ns() < job->deadline_ns)
			return job->deadline_ns;
		g_queue_pop_head(&kpctl->opens);
		pthread_mutex_unlock(&kpctl->lock);
		finish_open(kpctl, job, admitted);
		pthread_mutex_lock(&kpctl->lock);
	}
	return 0;
}

/* ---- holding ----------------------------------------------------------------------------------
 */

int kpctl_thread_hold(struct kpctl_thread *kpctl, struct openfile *file, struct err *err)
{
	int ret = 0;

	pthread_mutex_lock(&kpctl->lock);
	if (kpctl->holder && kpctl->holder != file)
		ret = err_set(err, EBUSY, "another open file holds the run");
	else
		kpctl->holder = file;
	pthread_mutex_unlock(&kpctl->lock);
	return ret;
}

static bool holds(struct kpctl_thread *kpctl, struct openfile *file)
{
	bool held;

	pthread_mutex_lock(&kpctl->lock);
	held = kpctl->holder == file;
	pthread_mutex_unlock(&kpctl->lock);
	return held;
}

/* The holder's close, in the control thread. */
static void end_hold(struct kpctl_thread *kpctl)
{
	profiler_stop(kpctl->profiler, NULL);
	profiler_clear(kpctl->profiler, NULL);
	pthread_mutex_lock(&kpctl->lock);
	kpctl->holder = NULL;
	pthread_mutex_unlock(&kpctl->lock);
}

/* No command of the file is left: each was waited for, or taken back, before it could be closed. */
void kpctl_thread_release(struct kpctl_thread *kpctl, struct openfile *file)
{
	struct job *job;

	if (!holds(kpctl, file)) {
		openfile_put(file);
		return;
	}
	job = create_job(NULL, file, NULL);
	if (queue_job(kpctl, &kpctl->jobs, job))
		free_job(job); /* closing: the run is being stopped anyway */
}

/* ---- commands ---------------------------------------------------------------------------------
 */

void kpctl_thread_write(struct kpctl_thread *kpctl, struct fuse_req *req, struct openfile *file,
	const struct origin *origin, const char *data, size_t size)
{
	struct job *job = create_job(req, openfile_get(file), origin);
	int ret;

	job->data = g_memdup2(data, size);
	job->size = size;
	reply_on_interrupt(req, interrupt_job, kpctl);
	ret = queue_job(kpctl, &kpctl->jobs, job);
	if (ret) {
		reply_error(req, ret);
		free_job(job);
	}
}

static bool is_interrupted(void *arg)
{
	const struct job *job = arg;

	return reply_interrupted(job->req) && proc_is_interrupted(NULL, job->origin.pid);
}

static void carry_out(struct kpctl_thread *kpctl, struct job *job)
{
	const struct cancel cancel = { is_interrupted, job, -1 };
	int ret;

	if (!job->req) {
		end_hold(kpctl);
		return;
	}
	ret = openfile_write(job->file, &cancel, &job->origin, job->data, job->size);
	pthread_mutex_lock(&kpctl->lock);
	kpctl->current = NULL;
	while (kpctl->interrupting)
		pthread_cond_wait(&kpctl->wake, &kpctl->lock);
	pthread_mutex_unlock(&kpctl->lock);
	if (ret)
		reply_error(job->req, -ret);
	else
		reply_written(job->req, job->size);
}

/* Sleeps until something is to be done; with the lock held. due_ns: 0 for no timeout. */
static void wait_for_work(struct kpctl_thread *kpctl, uint64_t due_ns)
{
	if (due_ns)
		clock_wait_until(&kpctl->wake, &kpctl->lock, due_ns);
	else
		pthread_cond_wait(&kpctl->wake, &kpctl->lock);
}

/* Changes that the profiler must know of; with the lock held. false: there is none. */
static bool serve_news(struct kpctl_thread *kpctl)
{
	if (!kpctl->cpus_changed)
		return false;
	kpctl->cpus_changed = false;
	pthread_mutex_unlock(&kpctl->lock);
	profiler_cpus_changed(kpctl->profiler);
	pthread_mutex_lock(&kpctl->lock);
	return true;
}

/*
 * After `clear` often comes `start`. Without one the memory is freed; with the lock held, which is
 * released in between. Returns when that is due, or 0: nothing is.
 */
static uint64_t serve_spare(struct kpctl_thread *kpctl, uint64_t last_job_ns)
{
	const uint64_t due_ns = last_job_ns + KPCTL_THREAD_SPARE_KEPT_MS * NSEC_PER_MSEC;

	if (!profiler_has_spare(kpctl->profiler))
		return 0;
	if (clock_monotonic_ns() < due_ns)
		return due_ns;
	pthread_mutex_unlock(&kpctl->lock);
	profiler_trim(kpctl->profiler);
	pthread_mutex_lock(&kpctl->lock);
	return 0;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	if (!a_ns || !b_ns)
		return a_ns + b_ns;
	return a_ns < b_ns ? a_ns : b_ns;
}

static void *run_kpctl(void *arg)
{
	struct kpctl_thread *kpctl = arg;
	struct job *job;
	uint64_t due_ns, last_job_ns = 0;

	pthread_setname_np(pthread_self(), "kp-control");
	pthread_mutex_lock(&kpctl->lock);
	while (!kpctl->closing) {
		due_ns = earlier(serve_opens(kpctl), serve_spare(kpctl, last_job_ns));
		if (serve_news(kpctl))
			continue;
		job = g_queue_pop_head(&kpctl->jobs);
		if (!job) {
			if (!kpctl->closing) /* set while serve_opens() had released the lock? */
				wait_for_work(kpctl, due_ns);
			continue;
		}
		kpctl->current = job->req;
		kpctl->current_tid = job->origin.pid;
		pthread_mutex_unlock(&kpctl->lock);
		carry_out(kpctl, job);
		free_job(job);
		last_job_ns = clock_monotonic_ns();
		pthread_mutex_lock(&kpctl->lock);
	}
	pthread_mutex_unlock(&kpctl->lock);
	return NULL;
}

void kpctl_thread_cpus_changed(struct kpctl_thread *kpctl)
{
	pthread_mutex_lock(&kpctl->lock);
	kpctl->cpus_changed = true;
	pthread_cond_signal(&kpctl->wake);
	pthread_mutex_unlock(&kpctl->lock);
}

unsigned int kpctl_thread_waiting(struct kpctl_thread *kpctl)
{
	unsigned int waiting;

	pthread_mutex_lock(&kpctl->lock);
	waiting = kpctl->jobs.length + kpctl->opens.length;
	pthread_mutex_unlock(&kpctl->lock);
	return waiting;
}

/* ---- the thread -------------------------------------------------------------------------------
 */

int kpctl_thread_create(struct profiler *profiler, bool akaros, struct kpctl_thread **kpctl)
{
	struct kpctl_thread *c = g_new0(struct kpctl_thread, 1);
	int ret;

	c->profiler = profiler;
	c->akaros = akaros;
	g_queue_init(&c->jobs);
	g_queue_init(&c->opens);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	ret = pthread_create(&c->thread, NULL, run_kpctl, c);
	if (ret) {
		pthread_cond_destroy(&c->wake);
		pthread_mutex_destroy(&c->lock);
		g_free(c);
		return -ret;
	}
	*kpctl = c;
	return 0;
}

static void refuse_all(GQueue *queue)
{
	struct job *job;

	while ((job = g_queue_pop_head(queue))) {
		if (job->req)
			reply_error(job->req, ESHUTDOWN);
		free_job(job);
	}
}

void kpctl_thread_close(struct kpctl_thread *kpctl)
{
	GQueue jobs, opens;
	bool under_way;

	pthread_mutex_lock(&kpctl->lock);
	kpctl->closing = true;
	jobs = kpctl->jobs;
	opens = kpctl->opens;
	g_queue_init(&kpctl->jobs);
	g_queue_init(&kpctl->opens);
	under_way = kpctl->current != NULL;
	pthread_cond_signal(&kpctl->wake);
	pthread_mutex_unlock(&kpctl->lock);

	refuse_all(&jobs);
	refuse_all(&opens);
	if (under_way)
		profiler_interrupt(kpctl->profiler);
	pthread_join(kpctl->thread, NULL);
	profiler_stop(kpctl->profiler, NULL);
}

void kpctl_thread_destroy(struct kpctl_thread *kpctl)
{
	if (!kpctl)
		return;
	pthread_cond_destroy(&kpctl->wake);
	pthread_mutex_destroy(&kpctl->lock);
	g_free(kpctl);
}
