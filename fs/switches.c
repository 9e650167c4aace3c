/* SPDX-License-Identifier: MIT */
/*
 * Writes that wait for programs: see switches.h.
 *
 * A parked write is in the queue of the listener too. The one that takes it out of there answers it: the
 * listener's thread, or the worker in which an interrupt arrives.
 */
#include "fs/switches.h"

#include <glib.h>
#include <pthread.h>

#include "base/atomic.h"
#include "fs/kperr.h"
#include "fs/openfile.h"
#include "fs/reply.h"
#include "sys/proc.h"
#include "producers/listener.h"
#include "producers/sync_rounds.h"

struct parked {
	struct sync_waiter waiter; /* first, so that one is the other */
	struct switches *switches;
	struct listener *listener;
	struct fuse_req *req;
	struct openfile *file; /* a reference */
	struct origin origin;
	size_t size;	       /* that was written */
	int ret;	       /* of what was written: 0 or -errno */
	char *written;	       /* of it as much as kperr shows */
	size_t written_size;
	GList link;
};

struct switches {
	pthread_mutex_t lock;	  /* > the listener's queue; inside libfuse's lock of a request */
	GQueue parked;		  /* (lock) of struct parked */
	_Atomic uint64_t changes; /* so that a write which changed nothing does not wait */
};

struct switches *switches_create(void)
{
	struct switches *switches = g_new0(struct switches, 1);

	pthread_mutex_init(&switches->lock, NULL);
	g_queue_init(&switches->parked);
	return switches;
}

void switches_destroy(struct switches *switches)
{
	if (!switches)
		return;
	pthread_mutex_destroy(&switches->lock);
	g_free(switches);
}

void switches_changed(struct switches *switches, struct listener *listener)
{
	/* relaxed: a write compares the value in the thread that changed something */
	atomic_add_relaxed(&switches->changes, 1);
	if (listener)
		listener_kick(listener);
}

static void reply(struct fuse_req *req, size_t size, int ret)
{
	if (ret)
		reply_error(req, -ret);
	else
		reply_written(req, size);
}

/* It is in no queue any more. */
static void finish(struct parked *parked)
{
	/*
	 * before the answer: behind it the kernel may close the file and forget the node, and its
	 * row
	 */
	openfile_put(parked->file);
	reply(parked->req, parked->size, parked->ret);
	g_free(parked->written);
	g_free(parked);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void on_synced(struct sync_waiter *waiter, const char *late)
{
	struct parked *parked = (struct parked *)waiter;
	struct switches *switches = parked->switches;

	pthread_mutex_lock(&switches->lock);
	g_queue_unlink(&switches->parked, &parked->link);
	pthread_mutex_unlock(&switches->lock);
	if (late)
		openfile_note(parked->file, &parked->origin, parked->written,
			parked->written_size, late);
	finish(parked);
}

/* With the lock held. */
static struct parked *find(struct switches *switches, const struct fuse_req *req)
{
	for (GList *link = switches->parked.head; link; link = link->next) {
		struct parked *parked = link->data;

		if (parked->req == req)
			return parked;
	}
	return NULL;
}

/* As for commands: only a signal that ends the writer ends the wait. */
static bool is_serious(struct switches *switches, const struct fuse_req *req)
{
	struct parked *parked;
	pid_t tid = 0;

	pthread_mutex_lock(&switches->lock);
	parked = find(switches, req);
	if (parked)
		tid = parked->origin.pid;
	pthread_mutex_unlock(&switches->lock);
	return tid && proc_is_interrupted(NULL, tid);
}

static void on_interrupt(struct fuse_req *req, void *arg)
{
	struct switches *switches = arg;
	struct parked *parked;

	if (!is_serious(switches, req))
		return;
	pthread_mutex_lock(&switches->lock);
	parked = find(switches, req);
	if (parked && listener_sync_cancel(parked->listener, &parked->waiter))
		g_queue_unlink(&switches->parked, &parked->link);
	else
		parked = NULL; /* on_synced has it, or will */
	pthread_mutex_unlock(&switches->lock);
	if (parked)
		finish(parked);
}

/* false: there is no producer to wait for. */
static bool park(struct switches *switches, struct parked *parked)
{
	bool waits;

	pthread_mutex_lock(&switches->lock);
	g_queue_push_tail_link(&switches->parked, &parked->link);
	waits = !(reply_interrupted(parked->req) && proc_is_interrupted(NULL, parked->origin.pid)) &&
		listener_sync(parked->listener, &parked->waiter);
	if (!waits)
		g_queue_unlink(&switches->parked, &parked->link);
	pthread_mutex_unlock(&switches->lock);
	return waits;
}

void switches_write(struct switches *switches, struct listener *listener, struct fuse_req *req,
	struct openfile *file, const struct origin *origin, const char *data, size_t size)
{
	uint64_t before = atomic_read_relaxed(&switches->changes); /* see switches_changed */
	int ret = openfile_write(file, NULL, origin, data, size);
	struct parked *parked;

	if (!listener || atomic_read_relaxed(&switches->changes) == before) {
		reply(req, size, ret);
		return;
	}
	parked = g_new0(struct parked, 1);
	parked->waiter.done = on_synced;
	parked->switches = switches;
	parked->listener = listener;
	parked->req = req;
	parked->file = openfile_get(file);
	parked->origin = *origin;
	parked->size = size;
	parked->ret = ret;
	parked->written_size = MIN(size, (size_t)KPERR_WRITTEN_MAX);
	parked->written = g_memdup2(data, parked->written_size);
	parked->link.data = parked;
	reply_on_interrupt(req, on_interrupt, switches);
	if (!park(switches, parked))
		finish(parked);
}
