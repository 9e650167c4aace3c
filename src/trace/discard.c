/* SPDX-License-Identifier: MIT */
/* Closing strangers' descriptors: see discard.h. */
#include "trace/discard.h"

#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "trace/receive.h"

#ifndef F_GET_SEALS
#define F_GET_SEALS 1034
#endif

struct job {
	struct discard *discard; /* a reference */
	struct discard_owner owner;
	unsigned int count; /* 0: this place is free */
	int fds[RECEIVE_DESCRIPTORS_MAX];
};

/* Outlives the listener while a close hangs. */
struct discard {
	pthread_mutex_t lock;	      /* a leaf */
	unsigned int references;      /* (lock) the listener's, and one for each close under way */
	struct job jobs[DISCARD_MAX]; /* (lock) */
};

struct discard *discard_create(void)
{
	struct discard *discard = g_new0(struct discard, 1);

	pthread_mutex_init(&discard->lock, NULL);
	discard->references = 1;
	return discard;
}

/* Ends a job, or with NULL the listener's use. */
static void put(struct discard *discard, struct job *job)
{
	bool last;

	pthread_mutex_lock(&discard->lock);
	if (job)
		job->count = 0;
	last = --discard->references == 0;
	pthread_mutex_unlock(&discard->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&discard->lock);
	g_free(discard);
}

void discard_destroy(struct discard *discard)
{
	put(discard, NULL);
}

bool discard_may(struct discard *discard, const struct discard_owner *owner)
{
	unsigned int process = 0, user = 0, all = 0;

	pthread_mutex_lock(&discard->lock);
	for (size_t i = 0; i < DISCARD_MAX; i++) {
		const struct job *job = &discard->jobs[i];

		if (!job->count)
			continue;
		all++;
		user += job->owner.uid == owner->uid;
		process += owner->pid && job->owner.pid == owner->pid;
	}
	pthread_mutex_unlock(&discard->lock);
	return process < DISCARD_PROCESS_MAX && user < DISCARD_USER_MAX && all < DISCARD_MAX;
}

static void close_all(const int *fds, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
}

static void *run_close(void *arg)
{
	struct job *job = arg;

	pthread_setname_np(pthread_self(), "kp-close");
	close_all(job->fds, job->count);
	put(job->discard, job);
	return NULL;
}

static struct job *begin_job(struct discard *discard, const struct discard_owner *owner)
{
	struct job *job = NULL;

	pthread_mutex_lock(&discard->lock);
	for (size_t i = 0; i < DISCARD_MAX && !job; i++)
		if (!discard->jobs[i].count)
			job = &discard->jobs[i];
	if (job) {
		job->discard = discard;
		job->owner = *owner;
		job->count = 1;
		discard->references++;
	}
	pthread_mutex_unlock(&discard->lock);
	return job;
}

/* Closes those that wait for nobody, as memfds do; returns how many are left, in `slow`. */
static unsigned int close_quick(const int *fds, unsigned int count, int *slow)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < count; i++) {
		if (fcntl(fds[i], F_GET_SEALS) < 0)
			slow[left++] = fds[i];
		else
			close(fds[i]);
	}
	return left;
}

void discard_close(struct discard *discard, const struct discard_owner *owner, const int *fds,
	unsigned int count)
{
	int slow[RECEIVE_DESCRIPTORS_MAX];
	struct job *job;
	pthread_attr_t attr;
	pthread_t thread;

	count = close_quick(fds, count, slow);
	if (!count)
		return;
	job = begin_job(discard, owner);
	if (!job) {
		close_all(slow, count);
		return;
	}
	/* ours until the thread is there; that it is more than none is all that others look at */
	memcpy(job->fds, slow, count * sizeof(slow[0]));
	pthread_mutex_lock(&discard->lock);
	job->count = count;
	pthread_mutex_unlock(&discard->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, run_close, job)) {
		close_all(slow, count);
		put(discard, job);
	}
	pthread_attr_destroy(&attr);
}
