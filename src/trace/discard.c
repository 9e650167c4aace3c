/* SPDX-License-Identifier: MIT */
/* Closing strangers' descriptors: see discard.h. */
#include "trace/discard.h"

#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <unistd.h>

#ifndef F_GET_SEALS
#define F_GET_SEALS 1034
#endif

struct job {
	struct discard *discard; /* a reference */
	uid_t uid;
	int fd; /* -1: this place is free */
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
	for (size_t i = 0; i < DISCARD_MAX; i++)
		discard->jobs[i].fd = -1;
	return discard;
}

/* Ends a job, or with NULL the listener's use. */
static void put(struct discard *discard, struct job *job)
{
	bool last;

	pthread_mutex_lock(&discard->lock);
	if (job)
		job->fd = -1;
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

bool discard_may(struct discard *discard, uid_t uid)
{
	unsigned int ours = 0, all = 0;

	pthread_mutex_lock(&discard->lock);
	for (size_t i = 0; i < DISCARD_MAX; i++) {
		all += discard->jobs[i].fd >= 0;
		ours += discard->jobs[i].fd >= 0 && discard->jobs[i].uid == uid;
	}
	pthread_mutex_unlock(&discard->lock);
	return ours < DISCARD_USER_MAX && all < DISCARD_MAX;
}

static void *run_close(void *arg)
{
	struct job *job = arg;

	pthread_setname_np(pthread_self(), "kp-close");
	close(job->fd);
	put(job->discard, job);
	return NULL;
}

static struct job *begin_job(struct discard *discard, uid_t uid, int fd)
{
	struct job *job = NULL;

	pthread_mutex_lock(&discard->lock);
	for (size_t i = 0; i < DISCARD_MAX && !job; i++)
		if (discard->jobs[i].fd < 0)
			job = &discard->jobs[i];
	if (job) {
		*job = (struct job){ discard, uid, fd };
		discard->references++;
	}
	pthread_mutex_unlock(&discard->lock);
	return job;
}

void discard_close(struct discard *discard, uid_t uid, int fd)
{
	struct job *job;
	pthread_attr_t attr;
	pthread_t thread;

	/* a memfd's close waits for nobody */
	job = fcntl(fd, F_GET_SEALS) < 0 ? begin_job(discard, uid, fd) : NULL;
	if (!job) {
		close(fd);
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, run_close, job)) {
		put(discard, job);
		close(fd);
	}
	pthread_attr_destroy(&attr);
}
