/* SPDX-License-Identifier: MIT */
/* Queued commands, and the open file that holds the run: see kpctl_thread.h. */
#include "fs/kpctl_thread.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>

#include "base/units.h"
#include "fs/open_reply.h"
#include "fs/openfile.h"
#include "fs/parked.h"
#include "fs/reply.h"
#include "prof/profiler.h"
#include "sys/clock.h"
#include "sys/proc.h"

/* A job for the thread: an open that waits for the holder, a write, or a close. */
struct job {
	struct parked parked;  /* first, so that one is the other; without a request: the holder's close */
	struct kpctl_thread *kpctl;
	struct openfile *file; /* a reference */
	struct origin origin;
	uint64_t deadline_ns; /* of an open; CLOCK_MONOTONIC */
	char *data;           /* of a write; NULL: a flush */
	struct quota_share share; /* of a write */
	size_t size;
};

struct kpctl_thread {
	struct kpctl_thread_options options; /* invariant */
	pthread_t thread;
	pthread_mutex_t lock;      /* never held while the profiler may block or a file is used */
	pthread_cond_t wake;       /* the thread's */
	struct parked_list jobs;   /* (lock) writes, and the holder's close */
	struct parked_list opens;  /* (lock) opens that wait for a holder */
	struct openfile *holder;   /* (lock) it holds the run until its close */
	bool cpus_changed;         /* (lock) */
	bool woken;                /* (lock) `serve` is to be called */
	bool closing;              /* (lock) */
};

static struct job *create_job(struct openfile *file, const struct origin *origin)
{
	struct job *job = g_new0(struct job, 1);

	job->file = file;
	if (origin)
		job->origin = *origin;
	return job;
}

static void free_job(struct job *job)
{
	if (job->share.taken[QUOTA_COMMANDS])
		openfile_return(job->file, &job->share);
	if (job->file)
		openfile_put(job->file);
	g_free(job->data);
	g_free(job);
}

static void answer_job(struct parked *parked, int code)
{
	if (parked->req)
		reply_error(parked->req, code);
	free_job((struct job *)parked);
}

/* Cancels a `start` of a write. */
static void stop_job(struct parked *parked)
{
	profiler_interrupt(((struct job *)parked)->kpctl->options.profiler);
}

/* All waits here are short: only a signal that ends the program, or that it waits for, ends them. */
static const struct parked_ops job_ops = {
	.ends_wait = proc_is_interrupted,
	.stop = stop_job,
	.answer = answer_job,
};

static const struct parked_ops open_ops = {
	.ends_wait = proc_is_interrupted,
	.answer = answer_job,
};

/* Parks the job, or answers it. */
static void add_job(struct kpctl_thread *kpctl, struct parked_list *list, struct fuse_req *req,
	struct job *job)
{
	int code;

	job->kpctl = kpctl;
	parked_init(list, &job->parked, req, job->origin.pid);
	pthread_mutex_lock(&kpctl->lock);
	code = parked_add(list, &job->parked);
	pthread_cond_signal(&kpctl->wake);
	pthread_mutex_unlock(&kpctl->lock);
	if (code)
		answer_job(&job->parked, code);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

/*
 * Returns whether the file may be open beside the holder, and makes it the holder. Called with the
 * lock held.
 */
static bool admit(struct kpctl_thread *kpctl, struct openfile *file)
{
	if (kpctl->holder && (kpctl->options.akaros || openfile_writes(file)))
		return false;
	if (kpctl->options.akaros)
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
	bool contends = kpctl->options.akaros || openfile_writes(file);
	struct job *job;
	bool admitted;

	pthread_mutex_lock(&kpctl->lock);
	admitted = (!contends || !parked_first(&kpctl->opens)) && admit(kpctl, file);
	pthread_mutex_unlock(&kpctl->lock);
	if (admitted) {
		fill_and_open(kpctl, req, file, origin);
		return;
	}
	job = create_job(file, origin);
	job->deadline_ns = clock_monotonic_ns() + KPCTL_THREAD_OPEN_WAIT_MS * NSEC_PER_MSEC;
	add_job(kpctl, &kpctl->opens, req, job);
}

static void finish_open(struct kpctl_thread *kpctl, struct job *job, bool admitted)
{
	if (admitted) {
		fill_and_open(kpctl, job->parked.req, g_steal_pointer(&job->file), &job->origin);
	} else {
		openfile_refuse(job->file, &job->origin, EBUSY,
			"another open file holds the run; it ends when that file is closed");
		reply_error(job->parked.req, EBUSY);
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

	while ((job = (struct job *)parked_first(&kpctl->opens))) {
		bool admitted = admit(kpctl, job->file);

		if (!admitted && clock_monotonic_ns() < job->deadline_ns)
			return job->deadline_ns;
		parked_end(&job->parked);
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
	profiler_stop(kpctl->options.profiler, NULL);
	profiler_clear(kpctl->options.profiler, NULL);
	pthread_mutex_lock(&kpctl->lock);
	kpctl->holder = NULL;
	pthread_mutex_unlock(&kpctl->lock);
	kpctl->options.hold_ended(kpctl->options.arg);
}

/* No command of the file is left: each has ended or was cancelled before it could be closed. */
void kpctl_thread_release(struct kpctl_thread *kpctl, struct openfile *file)
{
	if (!holds(kpctl, file))
		openfile_put(file);
	else /* if that is refused the server is ending, and the run is being stopped */
		add_job(kpctl, &kpctl->jobs, NULL, create_job(file, NULL));
}

/* ---- commands ---------------------------------------------------------------------------------
 */

void kpctl_thread_write(struct kpctl_thread *kpctl, struct fuse_req *req, struct openfile *file,
	const struct origin *origin, const char *data, size_t size)
{
	struct quota_share share;
	int ret = openfile_take(file, origin, QUOTA_COMMANDS, &share);
	struct job *job;

	if (ret) {
		reply_error(req, -ret);
		return;
	}
	job = create_job(openfile_get(file), origin);
	job->share = share;
	job->data = g_memdup2(data, size);
	job->size = size;
	add_job(kpctl, &kpctl->jobs, req, job);
}

void kpctl_thread_flush(struct kpctl_thread *kpctl, struct fuse_req *req, struct openfile *file,
	const struct origin *origin)
{
	add_job(kpctl, &kpctl->jobs, req, create_job(openfile_get(file), origin));
}

/* Before its answer, so that no interrupt of a later request at the same address finds it. */
static void end_job(struct kpctl_thread *kpctl, struct job *job)
{
	pthread_mutex_lock(&kpctl->lock);
	parked_end(&job->parked);
	pthread_mutex_unlock(&kpctl->lock);
}

static void carry_out(struct kpctl_thread *kpctl, struct job *job)
{
	const struct cancel cancel = { parked_is_interrupted, &job->parked, -1 };
	int ret;

	if (!job->parked.req) {
		end_hold(kpctl);
		end_job(kpctl, job);
		return;
	}
	if (job->data)
		ret = openfile_write(job->file, &cancel, &job->origin, job->data, job->size);
	else
		ret = openfile_flush(job->file, &job->origin);
	end_job(kpctl, job);
	if (ret || !job->data)
		reply_error(job->parked.req, -ret);
	else
		reply_written(job->parked.req, job->size);
}

/* Sleeps until something is to be done; with the lock held. due_ns: 0 for no timeout. */
static void wait_for_work(struct kpctl_thread *kpctl, uint64_t due_ns)
{
	if (due_ns)
		clock_wait_until(&kpctl->wake, &kpctl->lock, due_ns);
	else
		pthread_cond_wait(&kpctl->wake, &kpctl->lock);
}

/*
 * Passes changes of CPUs to the profiler. Called with the lock held. Returns false if there is
 * none.
 */
static bool serve_news(struct kpctl_thread *kpctl)
{
	if (!kpctl->cpus_changed)
		return false;
	kpctl->cpus_changed = false;
	pthread_mutex_unlock(&kpctl->lock);
	profiler_cpus_changed(kpctl->options.profiler);
	pthread_mutex_lock(&kpctl->lock);
	return true;
}

/*
 * Frees the memory that `clear` has kept, if no `start` has followed in time. Called with the lock
 * held, which is released in between. Returns the time when this is due, or 0 if there is nothing
 * to free.
 */
static uint64_t serve_spare(struct kpctl_thread *kpctl, uint64_t last_job_ns)
{
	const uint64_t due_ns = last_job_ns + KPCTL_THREAD_SPARE_KEPT_MS * NSEC_PER_MSEC;

	if (!profiler_has_spare(kpctl->options.profiler))
		return 0;
	if (clock_monotonic_ns() < due_ns)
		return due_ns;
	pthread_mutex_unlock(&kpctl->lock);
	profiler_trim(kpctl->options.profiler);
	pthread_mutex_lock(&kpctl->lock);
	return 0;
}

/* Called with the lock held, which is released in between. */
static uint64_t serve_due(struct kpctl_thread *kpctl)
{
	uint64_t due_ns;

	kpctl->woken = false;
	if (!kpctl->options.serve || kpctl->closing)
		return 0;
	pthread_mutex_unlock(&kpctl->lock);
	due_ns = kpctl->options.serve(kpctl->options.arg);
	pthread_mutex_lock(&kpctl->lock);
	return due_ns;
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
		due_ns = earlier(serve_due(kpctl), serve_spare(kpctl, last_job_ns));
		due_ns = earlier(due_ns, serve_opens(kpctl));
		if (serve_news(kpctl))
			continue;
		job = (struct job *)parked_first(&kpctl->jobs);
		if (!job) {
			/* they may have been set while a function above had released the lock */
			if (!kpctl->closing && !kpctl->woken)
				wait_for_work(kpctl, due_ns);
			continue;
		}
		parked_begin(&job->parked);
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

void kpctl_thread_wake(struct kpctl_thread *kpctl)
{
	pthread_mutex_lock(&kpctl->lock);
	kpctl->woken = true;
	pthread_cond_signal(&kpctl->wake);
	pthread_mutex_unlock(&kpctl->lock);
}

unsigned int kpctl_thread_waiting(struct kpctl_thread *kpctl)
{
	unsigned int waiting;

	pthread_mutex_lock(&kpctl->lock);
	waiting = kpctl->jobs.waiting.length + kpctl->opens.waiting.length;
	pthread_mutex_unlock(&kpctl->lock);
	return waiting;
}

/* ---- the thread -------------------------------------------------------------------------------
 */

int kpctl_thread_create(const struct kpctl_thread_options *options, struct kpctl_thread **kpctl)
{
	struct kpctl_thread *c = g_new0(struct kpctl_thread, 1);
	int ret;

	c->options = *options;
	pthread_mutex_init(&c->lock, NULL);
	parked_list_init(&c->jobs, &job_ops, &c->lock);
	parked_list_init(&c->opens, &open_ops, &c->lock);
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

void kpctl_thread_close(struct kpctl_thread *kpctl)
{
	pthread_mutex_lock(&kpctl->lock);
	kpctl->closing = true;
	parked_close(&kpctl->jobs);
	parked_close(&kpctl->opens);
	pthread_cond_signal(&kpctl->wake);
	pthread_mutex_unlock(&kpctl->lock);

	parked_refuse_all(&kpctl->jobs);
	parked_refuse_all(&kpctl->opens);
	pthread_join(kpctl->thread, NULL);
	profiler_stop(kpctl->options.profiler, NULL);
}

void kpctl_thread_destroy(struct kpctl_thread *kpctl)
{
	if (!kpctl)
		return;
	pthread_cond_destroy(&kpctl->wake);
	pthread_mutex_destroy(&kpctl->lock);
	g_free(kpctl);
}
