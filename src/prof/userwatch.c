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
#include "base/units.h"
#include "prof/tasks.h"
#include "symbolizer/helpers.h"
#include "symbolizer/proto.h"
#include "sys/clock.h"
#include "sys/proc.h"
#include "sys/user_events.h"

/*
 * The thread pauses behind each reading of at most so many reports, so that a program that changes its user
 * all the time costs some per cent of a CPU; the socket has room for about as many.
 */
#define PAUSE_MS 10
#define READ_MAX 512u
/*
 * /proc is read at once when reports were lost, and then not before this time, and not before so many times
 * as long as it took: such a program costs some per cent of a CPU at most here as well.
 */
#define READING_PAUSE_NS NSEC_PER_SEC
#define READING_PAUSES 20u

struct userwatch {
	pthread_mutex_t starting; /* held while the thread is started and ended; `lock` is taken below it */
	pthread_mutex_t lock;
	/* under lock */
	GPtrArray *listeners; /* of struct tasks */
	uint64_t lost, readings;
	/* Reports were lost, and may be until the socket is found empty: the kernel says it once. */
	bool losing;
	bool must_read; /* some may have been lost since the last reading of /proc began */
	/* under starting, and invariant for the thread */
	int socket, stop_fd; /* -1: there are none */
	bool has_thread;
	pthread_t thread;
	/* of the thread */
	char *proc;
	struct helpers *helpers;
	struct proto_message *message;
	uint64_t next_reading_ns; /* no reading before */
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
		if (!ret) {
			tell(watch, &event);
		} else if (ret == -ENOBUFS) {
			watch->lost++;
			watch->losing = watch->must_read = true;
		} else if (ret == -EAGAIN && watch->losing) {
			watch->losing = false;
			watch->must_read = true;
		}
	}
}

/* ---- users from /proc ------------------------------------------------------------------------- */

static int found_process(void *arg, const struct proc_process *process)
{
	struct userwatch *watch = arg;
	const uint64_t now_ns = clock_monotonic_ns();
	const uint64_t start_ns = process->start_ticks ?
		clock_boot_ticks_to_monotonic_ns(process->start_ticks) : 0;

	if (process->real_uid == PROC_NO_USER)
		return 0;
	pthread_mutex_lock(&watch->lock);
	for (guint i = 0; i < watch->listeners->len; i++)
		tasks_add_user(g_ptr_array_index(watch->listeners, i), now_ns, (uint32_t)process->pid,
			start_ns, process->real_uid);
	pthread_mutex_unlock(&watch->lock);
	return 0;
}

/* An error leaves users out until the next reading, or the next start of a run. */
static void read_users(struct userwatch *watch)
{
	const struct proc_visitor visitor = { .process = found_process, .arg = watch };
	const uint64_t begin_ns = clock_monotonic_ns();
	uint64_t end_ns;
	int ret;

	pthread_mutex_lock(&watch->lock);
	watch->must_read = false;
	for (guint i = 0; i < watch->listeners->len; i++)
		tasks_begin_users(g_ptr_array_index(watch->listeners, i));
	pthread_mutex_unlock(&watch->lock);
	proto_init(watch->message, PROTO_READ_USERS);
	ret = proto_set_path(watch->message, watch->proc);
	if (!ret)
		ret = helpers_read(watch->helpers, watch->message, &visitor, NULL, watch->stop_fd);
	pthread_mutex_lock(&watch->lock);
	if (ret)
		watch->must_read = true; /* after the pause */
	else
		watch->readings++;
	pthread_mutex_unlock(&watch->lock);
	helpers_end_reader(watch->helpers, false);
	helpers_reap(watch->helpers);
	end_ns = clock_monotonic_ns();
	watch->next_reading_ns = end_ns + MAX(READING_PAUSE_NS, READING_PAUSES * (end_ns - begin_ns));
}

/* The time until a reading is due in ms; -1: none is. Under lock. */
static int reading_due(const struct userwatch *watch)
{
	const uint64_t now_ns = clock_monotonic_ns();

	if (!watch->must_read && !watch->losing)
		return -1;
	return now_ns < watch->next_reading_ns ? (int)((watch->next_reading_ns - now_ns) / NSEC_PER_MSEC) + 1
					       : 0;
}

static void *run_thread(void *arg)
{
	struct userwatch *watch = arg;
	struct pollfd fds[] = {
		{ .fd = watch->stop_fd, .events = POLLIN },
		{ .fd = watch->socket, .events = POLLIN },
	};
	int due_ms = -1;

	pthread_setname_np(pthread_self(), "kp-users");
	for (;;) {
		if (poll(fds, G_N_ELEMENTS(fds), due_ms) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		pthread_mutex_lock(&watch->lock);
		read_reports(watch);
		due_ms = reading_due(watch);
		pthread_mutex_unlock(&watch->lock);
		if (!due_ms) {
			read_users(watch);
			due_ms = -1;
		}
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
	watch->losing = watch->must_read = false;
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

/*
 * The kernel makes reports, also for no socket, until each listener has told it to stop: it does not notice
 * that a socket is closed. (Linux 6.8-rc1 and 6.6.11 did, and 6.8 and 6.6.18 do not.)
 */
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

struct userwatch *userwatch_create(const char *proc, const char *program)
{
	const struct helpers_options options = { .program = program };
	struct userwatch *watch = g_new0(struct userwatch, 1);

	pthread_mutex_init(&watch->starting, NULL);
	pthread_mutex_init(&watch->lock, NULL);
	watch->listeners = g_ptr_array_new();
	watch->socket = watch->stop_fd = -1;
	watch->proc = g_strdup(proc ? proc : "/proc");
	watch->helpers = helpers_create(&options);
	watch->message = g_new(struct proto_message, 1);
	return watch;
}

void userwatch_destroy(struct userwatch *watch)
{
	if (!watch)
		return;
	stop(watch);
	helpers_destroy(watch->helpers);
	g_free(watch->message);
	g_free(watch->proc);
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

uint64_t userwatch_readings(struct userwatch *watch)
{
	uint64_t readings;

	pthread_mutex_lock(&watch->lock);
	readings = watch->readings;
	pthread_mutex_unlock(&watch->lock);
	return readings;
}
