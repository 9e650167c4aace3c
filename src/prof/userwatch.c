/* SPDX-License-Identifier: MIT */
/* Changes of the users of processes: see userwatch.h. */
#include "prof/userwatch.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/bell.h"
#include "prof/tasks.h"
#include "sys/proc.h"
#include "sys/user_events.h"

/*
 * The thread pauses behind each reading of at most so many reports, so that a program that changes its user
 * all the time costs some per cent of a CPU; the socket has room for about as many.
 */
#define PAUSE_MS 10
#define READ_MAX 512u

struct userwatch {
	pthread_mutex_t starting; /* held while the thread is started and ended; `lock` is taken below it */
	pthread_mutex_t lock;
	/* under lock */
	GPtrArray *listeners; /* of struct tasks */
	uint64_t lost;
	/* under starting, and invariant for the thread */
	int socket, stop_fd; /* -1: there are none */
	bool has_thread;
	pthread_t thread;
};

/* Under lock. */
static void tell(const struct userwatch *watch, const struct user_event *event)
{
	/* a process has the user of its first thread */
	if (event->pid != event->tid)
		return;
	for (guint i = 0; i < watch->listeners->len; i++)
		tasks_user_changed(g_ptr_array_index(watch->listeners, i), event->time_ns, event->pid,
			event->uid);
}

/* Under lock. */
static void read_reports(struct userwatch *watch)
{
	struct user_event event;
	int ret = 0;

	for (unsigned int i = 0; ret != -EAGAIN && i < READ_MAX; i++) {
		ret = user_events_read(watch->socket, &event);
		if (!ret)
			tell(watch, &event);
		else if (ret == -ENOBUFS)
			watch->lost++;
	}
}

static void *run_thread(void *arg)
{
	struct userwatch *watch = arg;
	struct pollfd fds[] = {
		{ .fd = watch->stop_fd, .events = POLLIN },
		{ .fd = watch->socket, .events = POLLIN },
	};

	pthread_setname_np(pthread_self(), "kp-users");
	for (;;) {
		if (poll(fds, G_N_ELEMENTS(fds), -1) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		pthread_mutex_lock(&watch->lock);
		read_reports(watch);
		pthread_mutex_unlock(&watch->lock);
		(void)poll(fds, 1, PAUSE_MS);
	}
}

/* ---- start and end ---------------------------------------------------------------------------- */

static void close_fds(struct userwatch *watch)
{
	if (watch->socket >= 0)
		close(watch->socket);
	if (watch->stop_fd >= 0)
		close(watch->stop_fd);
	watch->socket = watch->stop_fd = -1;
}

/* Under starting, as stop(). */
static int start(struct userwatch *watch)
{
	int ret;

	if (!proc_in_first_pid_namespace(NULL) || !proc_in_first_user_namespace(NULL))
		return -EPROTONOSUPPORT; /* reports have other numbers */
	ret = user_events_open(&watch->socket);
	if (!ret) {
		watch->stop_fd = bell_open();
		ret = watch->stop_fd < 0 ? -EMFILE : user_events_listen(watch->socket, true);
	}
	if (!ret) {
		ret = -pthread_create(&watch->thread, NULL, run_thread, watch);
		if (ret)
			(void)user_events_listen(watch->socket, false);
	}
	if (ret)
		close_fds(watch);
	watch->has_thread = !ret;
	return ret;
}

/* The kernel stops reporting for a socket that is closed only from Linux 6.6 on. */
static void stop(struct userwatch *watch)
{
	if (!watch->has_thread)
		return;
	bell_ring(watch->stop_fd);
	pthread_join(watch->thread, NULL);
	watch->has_thread = false;
	(void)user_events_listen(watch->socket, false);
	close_fds(watch);
}

struct userwatch *userwatch_create(void)
{
	struct userwatch *watch = g_new0(struct userwatch, 1);

	pthread_mutex_init(&watch->starting, NULL);
	pthread_mutex_init(&watch->lock, NULL);
	watch->listeners = g_ptr_array_new();
	watch->socket = watch->stop_fd = -1;
	return watch;
}

void userwatch_destroy(struct userwatch *watch)
{
	if (!watch)
		return;
	stop(watch);
	g_ptr_array_free(watch->listeners, TRUE);
	pthread_mutex_destroy(&watch->lock);
	pthread_mutex_destroy(&watch->starting);
	g_free(watch);
}

int userwatch_listen(struct userwatch *watch, struct tasks *tasks)
{
	int ret;

	pthread_mutex_lock(&watch->starting);
	ret = watch->has_thread ? 0 : start(watch);
	if (!ret) {
		pthread_mutex_lock(&watch->lock);
		g_ptr_array_add(watch->listeners, tasks);
		pthread_mutex_unlock(&watch->lock);
	}
	pthread_mutex_unlock(&watch->starting);
	return ret;
}

void userwatch_leave(struct userwatch *watch, struct tasks *tasks)
{
	bool is_last = false;

	pthread_mutex_lock(&watch->starting);
	pthread_mutex_lock(&watch->lock);
	if (watch->has_thread && g_ptr_array_find(watch->listeners, tasks, NULL)) {
		read_reports(watch);
		g_ptr_array_remove_fast(watch->listeners, tasks);
		is_last = !watch->listeners->len;
	}
	pthread_mutex_unlock(&watch->lock);
	if (is_last)
		stop(watch);
	pthread_mutex_unlock(&watch->starting);
}

uint64_t userwatch_lost(struct userwatch *watch)
{
	uint64_t lost;

	pthread_mutex_lock(&watch->lock);
	lost = watch->lost;
	pthread_mutex_unlock(&watch->lock);
	return lost;
}
