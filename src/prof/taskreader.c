/* SPDX-License-Identifier: MIT */
/*
 * Reads processes from /proc through helper processes: see taskreader.h.
 *
 * There are two sets of helpers, each of one process at most: one for the commands, and one for
 * the thread, so that a command never waits for a request of the thread.
 */
#include "prof/taskreader.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bell.h"
#include "base/reserve.h"
#include "base/units.h"
#include "symbolizer/helpers.h"
#include "symbolizer/proto.h"
#include "sys/clock.h"

/* The time until a process that could not be read is read again, at first and at most. */
#define RETRY_NS NSEC_PER_SEC
#define RETRY_MAX_NS (30 * NSEC_PER_SEC)
/* At most this many are kept. Further ones are not read again. */
#define WAITING_MAX 4096

/* A process that could not be read. */
struct waiting {
	uint32_t pid;
	uint64_t due_ns, pause_ns;
};

/* One of the two: the state of its requests, and its helpers. */
struct requester {
	struct taskreader *reader;
	struct helpers *helpers;
	struct proto_message *message;
	int cancel_fd; /* readable: cancel */
	const _Atomic bool *stop;
	bool retry;	 /* the process is known to be unreadable */
	bool unreadable; /* the process of the last answer */
};

struct taskreader {
	/* i: invariant; t: the kp-tasks thread only */
	struct tasks *tasks; /* i */
	char *proc;	     /* i */
	struct helpers *second; /* i: one of the two sets */
	struct requester command; /* of the commands' thread */
	struct requester requester; /* t */
	int wanted_fd;	      /* i: readable if build-ids are wanted */
	pthread_t thread;
	bool has_thread; /* of the commands' thread */
	pthread_mutex_t lock; /* protects what follows; no other lock is taken under it */
	pthread_cond_t idle;  /* CLOCK_MONOTONIC */
	bool busy;	      /* the thread has taken, or is about to take, a file */
	GArray *waiting;      /* struct waiting */
	uint64_t unreadable;
	struct helpers_counts helpers[2]; /* of the two requesters, as of the last request */
};

/* ---- what the helper answers ----------------------------------------------------------------- */

static int add_process(void *arg, const struct proc_process *process)
{
	struct requester *requester = arg;
	uint64_t start_ns;

	if (requester->stop && atomic_read_relaxed(requester->stop))
		return -ECANCELED;
	if (!reserve_is_whole())
		return -ENOMEM;
	start_ns = process->start_ticks ? clock_boot_ticks_to_monotonic_ns(process->start_ticks) : 0;
	tasks_add_process(requester->reader->tasks, clock_monotonic_ns(), (uint32_t)process->pid, start_ns,
		process->exe);
	if (process->real_uid != PROC_NO_USER)
		tasks_add_user(requester->reader->tasks, clock_monotonic_ns(), (uint32_t)process->pid,
			start_ns, process->real_uid);
	return 0;
}

static int add_thread(void *arg, const struct proc_thread *thread)
{
	const struct requester *requester = arg;

	tasks_add_thread(requester->reader->tasks, clock_monotonic_ns(), (uint32_t)thread->pid,
		(uint32_t)thread->tid, thread->comm);
	return 0;
}

static int add_mapping(void *arg, const struct proc_mapping *mapping)
{
	const struct requester *requester = arg;
	const struct tasks_mapping m = {
		.addr = mapping->start,
		.size = mapping->size,
		.offset = mapping->offset,
		.path = mapping->path,
		.build_id = mapping->build_id,
		.build_id_length = mapping->build_id_length,
		.build_id_requested = mapping->build_id_known,
		.file = { mapping->dev_major, mapping->dev_minor, mapping->inode, 0 },
	};

	if (!reserve_is_whole())
		return -ENOMEM;
	tasks_add_mapping(requester->reader->tasks, clock_monotonic_ns(), (uint32_t)mapping->pid, &m);
	return 0;
}

static int add_unreadable(void *arg, pid_t pid)
{
	struct requester *requester = arg;
	struct taskreader *reader = requester->reader;
	struct waiting waiting = {
		.pid = (uint32_t)pid,
		.due_ns = clock_monotonic_ns() + RETRY_NS,
		.pause_ns = RETRY_NS,
	};
	guint i;

	requester->unreadable = true;
	if (requester->retry)
		return 0;
	pthread_mutex_lock(&reader->lock);
	for (i = 0; i < reader->waiting->len; i++)
		if (g_array_index(reader->waiting, struct waiting, i).pid == waiting.pid)
			break;
	if (i == reader->waiting->len) {
		reader->unreadable++;
		if (i < WAITING_MAX)
			g_array_append_val(reader->waiting, waiting);
	}
	pthread_mutex_unlock(&reader->lock);
	return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void note_counts(struct requester *requester)
{
	struct taskreader *reader = requester->reader;

	pthread_mutex_lock(&reader->lock);
	helpers_count(requester->helpers, &reader->helpers[requester->helpers == reader->second]);
	pthread_mutex_unlock(&reader->lock);
}

/* A command that must not be interrupted waits for the helper, which has its own timeouts. */
static int request(struct requester *requester)
{
	const struct proc_visitor visitor = {
		.process = add_process,
		.thread = add_thread,
		.mapping = add_mapping,
		.arg = requester,
	};
	const int cancel_fd = requester->retry || requester->stop ? requester->cancel_fd : -1;
	int ret = helpers_read(
		requester->helpers, requester->message, &visitor, add_unreadable, cancel_fd);

	note_counts(requester);
	return ret;
}

static int request_processes(struct requester *requester, enum proto_type type, uint32_t pid,
	const _Atomic bool *stop)
{
	int ret;

	proto_init(requester->message, type);
	requester->message->pid = pid;
	requester->unreadable = false;
	requester->stop = stop;
	ret = proto_set_path(requester->message, requester->reader->proc);
	if (!ret)
		ret = request(requester);
	requester->stop = NULL;
	return ret == -ECANCELED || (stop && atomic_read_relaxed(stop)) ? -ECANCELED : ret;
}

int taskreader_walk(struct taskreader *reader, const _Atomic bool *stop)
{
	return request_processes(&reader->command, PROTO_READ_ALL, 0, stop);
}

int taskreader_visit(struct taskreader *reader, uint32_t pid, const _Atomic bool *stop)
{
	int ret = request_processes(&reader->command, PROTO_READ_ONE, pid, stop);

	return !ret && reader->command.unreadable ? -ETIMEDOUT : ret;
}

void taskreader_visit_later(struct taskreader *reader, uint32_t pid)
{
	add_unreadable(&reader->command, (pid_t)pid);
}

void taskreader_interrupt(struct taskreader *reader)
{
	bell_ring(reader->command.cancel_fd);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static int request_build_id(struct requester *requester, const struct tasks_wanted *wanted)
{
	struct proto_message *message = requester->message;
	int ret;

	proto_init(message, PROTO_BUILD_ID);
	message->pid = wanted->pid;
	message->start = wanted->addr;
	message->end = wanted->addr + wanted->size;
	message->inode = wanted->file.inode;
	message->dev_major = wanted->file.dev_major;
	message->dev_minor = wanted->file.dev_minor;
	message->time_ns = wanted->time_ns;
	ret = proto_set_path(message, wanted->path);
	if (!ret)
		ret = request(requester);
	return ret ? ret : message->head.error;
}

/* One file; false if none is wanted. */
static bool serve_wanted(struct taskreader *reader)
{
	const struct proto_message *message = reader->requester.message;
	struct tasks_wanted *wanted = tasks_take_wanted(reader->tasks);
	int ret;

	if (!wanted)
		return false;
	ret = request_build_id(&reader->requester, wanted);
	if (!ret) {
		wanted->file.size = message->id.size;
		wanted->file.mtime_ns = message->id.mtime_ns;
	}
	tasks_settle_wanted(reader->tasks, wanted, message->build_id,
		ret ? 0 : (uint8_t)MIN(message->build_id_length, PROC_BUILD_ID_MAX), ret != 0);
	return true;
}

/* The process that is due first; false if there is none. */
static bool next_waiting(struct taskreader *reader, struct waiting *next)
{
	bool found = false;
	guint i;

	pthread_mutex_lock(&reader->lock);
	for (i = 0; i < reader->waiting->len; i++) {
		const struct waiting *w = &g_array_index(reader->waiting, struct waiting, i);

		if (!found || w->due_ns < next->due_ns)
			*next = *w;
		found = true;
	}
	pthread_mutex_unlock(&reader->lock);
	return found;
}

static void settle_waiting(struct taskreader *reader, uint32_t pid, bool again)
{
	guint i;

	pthread_mutex_lock(&reader->lock);
	for (i = 0; i < reader->waiting->len; i++) {
		struct waiting *w = &g_array_index(reader->waiting, struct waiting, i);

		if (w->pid != pid)
			continue;
		if (again) {
			w->pause_ns = MIN(2 * w->pause_ns, RETRY_MAX_NS);
			w->due_ns = clock_monotonic_ns() + w->pause_ns;
		} else {
			g_array_remove_index_fast(reader->waiting, i);
		}
		break;
	}
	pthread_mutex_unlock(&reader->lock);
}

/*
 * Reads one process that is due. Returns the time until the next one is, in ms; -1 if there is
 * none.
 */
static int serve_waiting(struct taskreader *reader)
{
	const uint64_t now_ns = clock_monotonic_ns();
	struct waiting next;
	int ret;

	if (!next_waiting(reader, &next))
		return -1;
	if (next.due_ns > now_ns)
		return (int)((next.due_ns - now_ns) / NSEC_PER_MSEC) + 1;
	ret = request_processes(&reader->requester, PROTO_READ_ONE, next.pid, NULL);
	if (ret != -ECANCELED)
		settle_waiting(reader, next.pid, ret || reader->requester.unreadable);
	return 0;
}

static void set_busy(struct taskreader *reader, bool busy)
{
	pthread_mutex_lock(&reader->lock);
	reader->busy = busy;
	if (!busy)
		pthread_cond_broadcast(&reader->idle);
	pthread_mutex_unlock(&reader->lock);
}

static void *run_thread(void *arg)
{
	struct taskreader *reader = arg;
	struct pollfd fds[] = {
		{ .fd = reader->requester.cancel_fd, .events = POLLIN },
		{ .fd = reader->wanted_fd, .events = POLLIN },
	};
	int timeout_ms;

	pthread_setname_np(pthread_self(), "kp-tasks");
	for (;;) {
		timeout_ms = serve_waiting(reader);
		if (poll(fds, G_N_ELEMENTS(fds), timeout_ms) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		if (!fds[1].revents)
			continue;
		bell_take(reader->wanted_fd);
		set_busy(reader, true);
		while (poll(fds, 1, 0) <= 0 && serve_wanted(reader))
			;
		set_busy(reader, false);
	}
}

void taskreader_start(struct taskreader *reader)
{
	struct helpers *begun = reader->command.helpers;

	if (reader->has_thread || reader->wanted_fd < 0 || reader->requester.cancel_fd < 0)
		return;
	/* the helper that began the run becomes the thread's; a later command starts another one */
	reader->command.helpers = reader->requester.helpers;
	reader->requester.helpers = begun;
	reader->has_thread = !pthread_create(&reader->thread, NULL, run_thread, reader);
}

void taskreader_begin(struct taskreader *reader)
{
	pthread_mutex_lock(&reader->lock);
	g_array_set_size(reader->waiting, 0);
	pthread_mutex_unlock(&reader->lock);
	bell_take(reader->command.cancel_fd);
	bell_take(reader->requester.cancel_fd);
	bell_take(reader->wanted_fd);
	tasks_watch_wanted(reader->tasks, reader->wanted_fd);
	helpers_prepare_reader(reader->command.helpers);
}

void taskreader_stop(struct taskreader *reader)
{
	tasks_watch_wanted(reader->tasks, -1);
	if (reader->has_thread) {
		bell_ring(reader->requester.cancel_fd);
		pthread_join(reader->thread, NULL);
		reader->has_thread = false;
	}
	helpers_end_reader(reader->command.helpers, false);
	helpers_end_reader(reader->requester.helpers, false);
	helpers_reap(reader->command.helpers);
	helpers_reap(reader->requester.helpers);
	note_counts(&reader->command);
	note_counts(&reader->requester);
	pthread_mutex_lock(&reader->lock);
	g_array_set_size(reader->waiting, 0);
	pthread_mutex_unlock(&reader->lock);
}

void taskreader_wait(struct taskreader *reader, uint64_t ns)
{
	const uint64_t until_ns = clock_monotonic_ns() + ns;
	bool early = true;

	if (!reader->has_thread)
		return;
	pthread_mutex_lock(&reader->lock);
	while (early && (reader->busy || tasks_has_wanted(reader->tasks)))
		early = clock_wait_until(&reader->idle, &reader->lock, until_ns);
	pthread_mutex_unlock(&reader->lock);
}

bool taskreader_can_read(struct taskreader *reader)
{
	struct helpers_counts counts;

	helpers_count(reader->command.helpers, &counts);
	return counts.started;
}

/* ---- create, destroy ------------------------------------------------------------------------- */

static void init_requester(struct taskreader *reader, struct requester *requester, const char *program)
{
	const struct helpers_options options = { .program = program };

	requester->reader = reader;
	requester->helpers = helpers_create(&options);
	requester->message = g_new(struct proto_message, 1);
	requester->cancel_fd = bell_open();
}

struct taskreader *taskreader_create(struct tasks *tasks, const char *proc, const char *program)
{
	struct taskreader *reader = g_new0(struct taskreader, 1);

	reader->tasks = tasks;
	reader->proc = g_strdup(proc ? proc : "/proc");
	reader->waiting = g_array_new(FALSE, FALSE, sizeof(struct waiting));
	reader->wanted_fd = bell_open();
	pthread_mutex_init(&reader->lock, NULL);
	pthread_cond_init(&reader->idle, NULL);
	init_requester(reader, &reader->command, program);
	init_requester(reader, &reader->requester, program);
	reader->requester.retry = true;
	reader->second = reader->requester.helpers;
	return reader;
}

static void fini_requester(struct requester *requester)
{
	helpers_destroy(requester->helpers);
	g_free(requester->message);
	if (requester->cancel_fd >= 0)
		close(requester->cancel_fd);
}

void taskreader_destroy(struct taskreader *reader)
{
	if (!reader)
		return;
	taskreader_stop(reader);
	fini_requester(&reader->command);
	fini_requester(&reader->requester);
	if (reader->wanted_fd >= 0)
		close(reader->wanted_fd);
	pthread_cond_destroy(&reader->idle);
	pthread_mutex_destroy(&reader->lock);
	g_array_free(reader->waiting, TRUE);
	g_free(reader->proc);
	g_free(reader);
}

void taskreader_count(struct taskreader *reader, struct taskreader_counts *counts)
{
	pthread_mutex_lock(&reader->lock);
	*counts = (struct taskreader_counts){
		.unreadable = reader->unreadable,
		.waiting = reader->waiting->len,
		.started = reader->helpers[0].started + reader->helpers[1].started,
		.killed = reader->helpers[0].killed + reader->helpers[1].killed,
		.hung = reader->helpers[0].hung + reader->helpers[1].hung,
		.missing = tasks_missing_build_ids(reader->tasks),
	};
	pthread_mutex_unlock(&reader->lock);
}
