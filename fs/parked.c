/* SPDX-License-Identifier: MIT */
/* Parked requests: see parked.h. */
#include "fs/parked.h"

#include <errno.h>

#include "base/atomic.h"
#include "fs/reply.h"
#include "sys/clock.h"

void parked_list_init(struct parked_list *list, const struct parked_ops *ops, pthread_mutex_t *lock)
{
	*list = (struct parked_list){ .ops = ops, .lock = lock };
	g_queue_init(&list->waiting);
	g_queue_init(&list->current);
}

static GQueue *queue_of(struct parked *parked)
{
	return parked->current ? &parked->list->current : &parked->list->waiting;
}

static void move(struct parked *parked, bool current)
{
	g_queue_unlink(queue_of(parked), &parked->link);
	parked->current = current;
	g_queue_push_tail_link(queue_of(parked), &parked->link);
}

/* The newest first: one that was answered may still be queued, and a new one may have its address. */
static struct parked *find_in(const GQueue *queue, const struct fuse_req *req)
{
	GList *link;

	for (link = queue->tail; link; link = link->prev) {
		struct parked *parked = link->data;

		if (parked->req == req)
			return parked;
	}
	return NULL;
}

/*
 * The current ones are compared last: a request that has just been answered can match a new one at the same
 * address, which is then among those that wait, or finds itself interrupted in parked_add().
 */
static struct parked *find(const struct parked_list *list, const struct fuse_req *req)
{
	struct parked *parked = find_in(&list->waiting, req);

	return parked ? parked : find_in(&list->current, req);
}

/*
 * The kernel interrupts a request for any signal. Not every signal ends the wait: a background job that
 * ends would make a shell's `echo start` fail. /proc is read without the lock.
 */
static bool ends_wait(struct parked_list *list, const struct fuse_req *req)
{
	struct parked *parked;
	pid_t tid = 0;

	pthread_mutex_lock(list->lock);
	parked = find(list, req);
	if (parked) {
		tid = parked->tid;
		atomic_write_relaxed(&parked->signalled, true);
	}
	pthread_mutex_unlock(list->lock);
	return parked && (!tid || list->ops->ends_wait(NULL, tid));
}

/* With the lock. */
static void stop(struct parked *parked)
{
	atomic_write_relaxed(&parked->interrupted, true);
	if (parked->list->ops->stop)
		parked->list->ops->stop(parked);
}

/* Removes a waiting request. Called with the lock. Returns false if another thread answers it. */
static bool take(struct parked *parked)
{
	const struct parked_ops *ops = parked->list->ops;

	if (ops->take_out && !ops->take_out(parked))
		return false;
	parked_end(parked);
	return true;
}

/*
 * Called in a worker. A request that is not in the list yet is found interrupted in parked_add().
 */
static void on_interrupt(struct fuse_req *req, void *arg)
{
	struct parked_list *list = arg;
	struct parked *parked;
	bool taken = false;

	if (!ends_wait(list, req))
		return;
	pthread_mutex_lock(list->lock);
	parked = find(list, req);
	if (parked && parked->current)
		stop(parked);
	else if (parked)
		taken = take(parked);
	pthread_mutex_unlock(list->lock);
	if (taken)
		list->ops->answer(parked, EINTR);
}

void parked_init(struct parked_list *list, struct parked *parked, struct fuse_req *req, pid_t tid)
{
	parked->list = list;
	parked->req = req;
	parked->tid = tid;
	parked->link.data = parked;
	if (req)
		reply_on_interrupt(req, on_interrupt, list);
}

static bool was_interrupted(struct parked *parked)
{
	if (!parked->req || !reply_interrupted(parked->req))
		return false;
	atomic_write_relaxed(&parked->signalled, true);
	return !parked->tid || parked->list->ops->ends_wait(NULL, parked->tid);
}

int parked_add(struct parked_list *list, struct parked *parked)
{
	if (list->closed)
		return ESHUTDOWN;
	if (was_interrupted(parked))
		return EINTR;
	g_queue_push_tail_link(&list->waiting, &parked->link);
	return 0;
}

struct parked *parked_first(const struct parked_list *list)
{
	return list->waiting.head ? list->waiting.head->data : NULL;
}

void parked_begin(struct parked *parked)
{
	move(parked, true);
}

void parked_return(struct parked *parked)
{
	move(parked, false);
}

void parked_end(struct parked *parked)
{
	g_queue_unlink(queue_of(parked), &parked->link);
}

unsigned int parked_count(const struct parked_list *list)
{
	return list->waiting.length + list->current.length;
}

void parked_close(struct parked_list *list)
{
	list->closed = true;
}

void parked_refuse_all(struct parked_list *list)
{
	GQueue taken = G_QUEUE_INIT;
	struct parked *parked;
	GList *link, *next;

	pthread_mutex_lock(list->lock);
	for (link = list->current.head; link; link = link->next)
		stop(link->data);
	for (link = list->waiting.head; link; link = next) {
		next = link->next;
		if (take(link->data))
			g_queue_push_tail_link(&taken, link);
	}
	pthread_mutex_unlock(list->lock);
	while ((link = g_queue_pop_head_link(&taken))) {
		parked = link->data;
		list->ops->answer(parked, ESHUTDOWN);
	}
}

/* One whose first signal did not end its wait may have got another, which the kernel does not report. */
static bool look_again(struct parked *parked)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < parked->look_ns)
		return false;
	parked->look_ns = now_ns + PARKED_LOOK_NS;
	return parked->list->ops->ends_wait(NULL, parked->tid);
}

bool parked_is_interrupted(void *arg)
{
	struct parked *parked = arg;

	if (!atomic_read_relaxed(&parked->interrupted) && parked->tid &&
		atomic_read_relaxed(&parked->signalled) && look_again(parked))
		atomic_write_relaxed(&parked->interrupted, true);
	return atomic_read_relaxed(&parked->interrupted);
}
