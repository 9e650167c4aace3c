/* SPDX-License-Identifier: MIT */
/*
 * Writes that wait for programs: see switches.h.
 *
 * A parked write is also in the queue of the listener (sync_rounds.h). The thread that removes it
 * from there answers it: the listener's thread, or the worker in which an interrupt arrives.
 */
#include "fs/switches.h"

#include <glib.h>
#include <pthread.h>
#include <stddef.h>

#include "base/atomic.h"
#include "fs/kperr.h"
#include "fs/openfile.h"
#include "fs/parked.h"
#include "fs/reply.h"
#include "sys/proc.h"
#include "producers/listener.h"
#include "producers/sync_rounds.h"

struct switch_write {
	struct parked parked; /* first, so that one is the other */
	struct sync_waiter waiter;
	struct switches *switches;
	struct listener *listener;
	struct openfile *file; /* a reference */
	struct origin origin;
	size_t size;	       /* that was written */
	int ret;	       /* of what was written: 0 or -errno */
	char *written;	       /* of it as much as kperr shows */
	size_t written_size;
};

struct switches {
	pthread_mutex_t lock;	  /* > the listener's queue; inside libfuse's lock of a request */
	struct parked_list writes; /* (lock) */
	_Atomic uint64_t changes; /* so that a write which changed nothing does not wait */
};

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
static void finish(struct switch_write *write)
{
	/*
	 * before the answer: behind it the kernel may close the file and forget the node, and its
	 * row
	 */
	openfile_put(write->file);
	reply(write->parked.req, write->size, write->ret);
	g_free(write->written);
	g_free(write);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void on_synced(struct sync_waiter *waiter, const char *late)
{
	struct switch_write *write =
		(struct switch_write *)((char *)waiter - offsetof(struct switch_write, waiter));

	pthread_mutex_lock(&write->switches->lock);
	parked_end(&write->parked);
	pthread_mutex_unlock(&write->switches->lock);
	if (late)
		openfile_note(write->file, &write->origin, write->written, write->written_size, late);
	finish(write);
}

/* Returns false if on_synced() handles it, or will. */
static bool take_out(struct parked *parked)
{
	struct switch_write *write = (struct switch_write *)parked;

	return listener_sync_cancel(write->listener, &write->waiter);
}

/* The change stays in effect. */
static void answer(struct parked *parked, int code)
{
	finish((struct switch_write *)parked);
}

/* As for commands: only a signal that ends the writer, or that it waits for, ends the wait. */
static const struct parked_ops write_ops = {
	.ends_wait = proc_is_interrupted,
	.take_out = take_out,
	.answer = answer,
};

struct switches *switches_create(void)
{
	struct switches *switches = g_new0(struct switches, 1);

	pthread_mutex_init(&switches->lock, NULL);
	parked_list_init(&switches->writes, &write_ops, &switches->lock);
	return switches;
}

/* Returns false if there is no producer to wait for. */
static bool park(struct switches *switches, struct switch_write *write)
{
	bool waits;

	pthread_mutex_lock(&switches->lock);
	waits = !parked_add(&switches->writes, &write->parked);
	if (waits && !listener_sync(write->listener, &write->waiter)) {
		parked_end(&write->parked);
		waits = false;
	}
	pthread_mutex_unlock(&switches->lock);
	return waits;
}

void switches_write(struct switches *switches, struct listener *listener, struct fuse_req *req,
	struct openfile *file, const struct origin *origin, const char *data, size_t size)
{
	uint64_t before = atomic_read_relaxed(&switches->changes); /* see switches_changed */
	int ret = openfile_write(file, NULL, origin, data, size);
	struct switch_write *write;

	if (!listener || atomic_read_relaxed(&switches->changes) == before) {
		reply(req, size, ret);
		return;
	}
	write = g_new0(struct switch_write, 1);
	write->waiter.done = on_synced;
	write->switches = switches;
	write->listener = listener;
	write->file = openfile_get(file);
	write->origin = *origin;
	write->size = size;
	write->ret = ret;
	write->written_size = MIN(size, (size_t)KPERR_WRITTEN_MAX);
	write->written = g_memdup2(data, write->written_size);
	parked_init(&switches->writes, &write->parked, req, origin->pid);
	if (!park(switches, write))
		finish(write);
}
