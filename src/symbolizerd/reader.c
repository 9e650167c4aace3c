/* SPDX-License-Identifier: MIT */
/*
 * The reader: reads /proc of other processes, and the build-ids of the files that they map.
 *
 * Reading the mappings of a process waits for its mmap lock, which it can hold for any time (in a
 * write-back to a FUSE server that does not reply). So worker threads do the work, and the main
 * thread checks their progress every TICK_MS. While all of them are blocked it starts more, so that
 * several hanging processes are waited for at the same time. A worker that is blocked for
 * PROCESS_TICKS is abandoned: what it had found is sent, marked as lacking mappings. After
 * TOTAL_TICKS with any worker blocked the other processes are read without mappings.
 *
 * Then this process exits, since its blocked threads would continue later, and the client starts
 * another one. SIGKILL ends a wait for an mmap lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "symbolizer/proto.h"
#include "symbolizerd/helper.h"
#include "sys/buildid.h"
#include "sys/clock.h"
#include "sys/confine.h"
#include "sys/proc.h"
#include "sys/proc_maps.h"
#include "sys/proc_wire.h"

#define TICK_MS 10
/* 200 ms for one process, 500 ms for all that hang together */
#define PROCESS_TICKS 20
#define TOTAL_TICKS 50
/* This many processes that hang can be waited for at the same time. */
#define WORKERS_MAX 32
/* The mount table is read again after this time. */
#define MOUNTS_NS NSEC_PER_SEC
/* Bytes kept of one process before they are sent: beyond this, mappings are left out. */
#define RECORDS_MAX (16 * MIB)

struct worker {
	struct reader *reader;
	pid_t tid;
	/* under reader.lock */
	pid_t at;          /* the process that it reads; 0 if it is idle */
	uint64_t progress; /* incremented at each step */
	bool abandoned;    /* abandoned: its results are discarded */
	unsigned char *records;
	size_t used, size;
	/* used by the main thread only */
	uint64_t seen;	    /* progress at the last tick */
	unsigned int ticks; /* ticks that it was blocked, without progress */
	/* used by the worker only */
	struct proc_reader *proc;
	bool users_only; /* what that was created for */
	struct proc_maps *maps;
	uint64_t maps_ns; /* when they were read */
};

struct reader {
	int fd;
	struct proto_message *request, *reply; /* reply under lock */
	pthread_mutex_t lock;
	pthread_cond_t work, progressed; /* for workers; for the main thread (CLOCK_MONOTONIC) */
	/* under lock */
	pid_t *pids;
	size_t count, capacity, next; /* of pids; the index of the next one to read */
	bool names_only;
	int failed; /* -errno of sending */
	struct worker *workers[WORKERS_MAX];
	unsigned int worker_count;
	bool hung; /* a worker was abandoned */
};

/* ---- results: under lock --------------------------------------------------------------------- */

static void flush_records(struct reader *reader)
{
	if (reader->reply->head.count && !reader->failed)
		reader->failed = proto_send(reader->fd, reader->reply, -1, NULL);
	proto_init(reader->reply, PROTO_RECORDS);
}

static void add_records(struct reader *reader, const unsigned char *records, size_t size)
{
	if (size > PROTO_BYTES_MAX - reader->reply->head.count)
		flush_records(reader);
	memcpy(reader->reply->tail.bytes + reader->reply->head.count, records, size);
	reader->reply->head.count += (uint32_t)size;
}

/* Sends what the worker has found, whole records at a time. */
static void take_records(struct reader *reader, struct worker *worker)
{
	uint64_t size;
	size_t at;

	/* each record follows its size */
	for (at = 0; at < worker->used; at += sizeof(size) + size) {
		memcpy(&size, worker->records + at, sizeof(size));
		add_records(reader, worker->records + at + sizeof(size), size);
	}
	worker->used = 0;
}

static void add_unreadable(struct reader *reader, pid_t pid)
{
	unsigned char record[PROC_WIRE_MAX];

	add_records(reader, record, proc_wire_unreadable(record, pid));
}

/* ---- what a worker finds --------------------------------------------------------------------- */

static int keep_record(struct worker *worker, const unsigned char *record, size_t size)
{
	const size_t needed = worker->used + sizeof(uint64_t) + size;
	const uint64_t length = size;
	int ret = 0;

	pthread_mutex_lock(&worker->reader->lock);
	worker->progress++;
	if (worker->abandoned || needed > RECORDS_MAX) {
		ret = -ECANCELED;
	} else if (needed > worker->size) {
		void *larger = realloc(worker->records, 2 * needed);

		if (larger) {
			worker->records = larger;
			worker->size = 2 * needed;
		} else {
			ret = -ENOMEM;
		}
	}
	if (!ret) {
		memcpy(worker->records + worker->used, &length, sizeof(length));
		memcpy(worker->records + worker->used + sizeof(length), record, size);
		worker->used = needed;
	}
	pthread_mutex_unlock(&worker->reader->lock);
	return ret;
}

static int found_process(void *arg, const struct proc_process *process)
{
	unsigned char record[PROC_WIRE_MAX];

	return keep_record(arg, record, proc_wire_process(record, process));
}

static int found_thread(void *arg, const struct proc_thread *thread)
{
	unsigned char record[PROC_WIRE_MAX];

	return keep_record(arg, record, proc_wire_thread(record, thread));
}

static int found_mapping(void *arg, const struct proc_mapping *mapping)
{
	unsigned char record[PROC_WIRE_MAX];

	return keep_record(arg, record, proc_wire_mapping(record, mapping));
}

/* ---- work ------------------------------------------------------------------------------------ */

static void visit(struct worker *worker, pid_t pid, bool with_mappings)
{
	const bool users_only = worker->reader->request->head.type == PROTO_READ_USERS;
	const struct proc_visitor visitor = {
		.process = found_process,
		.thread = users_only ? NULL : found_thread,
		.mapping = found_mapping,
		.arg = worker,
	};

	if (worker->users_only != users_only) {
		proc_reader_destroy(worker->proc);
		worker->proc = NULL;
		worker->users_only = users_only;
	}
	if (!worker->proc &&
		proc_reader_create(worker->reader->request->tail.path, &visitor, &worker->proc)) {
		worker->proc = NULL;
		return;
	}
	(void)proc_reader_visit(worker->proc, pid, with_mappings);
}

/* The result is written to the reply: there is one worker and one request. */
static void find_build_id(struct worker *worker)
{
	const struct proto_message *request = worker->reader->request;
	const struct buildid_mapping mapping = {
		.pid = request->pid,
		.start = request->start,
		.end = request->end,
		.inode = request->inode,
		.dev_major = request->dev_major,
		.dev_minor = request->dev_minor,
		.time_ns = request->time_ns,
		.path = request->tail.path,
	};
	const uint64_t now_ns = clock_monotonic_ns();
	unsigned char build_id[PROC_BUILD_ID_MAX];
	struct buildid_content content = { 0 };
	int ret;

	if (!worker->maps)
		worker->maps = calloc(1, sizeof(*worker->maps));
	if (worker->maps && (!worker->maps_ns || now_ns - worker->maps_ns > MOUNTS_NS)) {
		proc_maps_init(worker->maps, "/proc");
		worker->maps_ns = now_ns;
	}
	ret = worker->maps ? buildid_of_mapping(worker->maps, &mapping, build_id, &content)
			   : -ENOMEM;
	pthread_mutex_lock(&worker->reader->lock);
	if (!worker->abandoned) {
		worker->reader->reply->head.error = ret < 0 ? ret : 0;
		if (ret > 0)
			proto_set_build_id(worker->reader->reply, build_id, (size_t)ret);
		worker->reader->reply->id.size = content.size;
		worker->reader->reply->id.mtime_ns = content.mtime_ns;
	}
	pthread_mutex_unlock(&worker->reader->lock);
}

/* Does one piece of work. Called with the lock held; releases it in between. */
static void do_next(struct worker *worker)
{
	struct reader *reader = worker->reader;
	const bool with_mappings = !reader->names_only;
	const pid_t pid = reader->pids[reader->next++];

	worker->at = pid;
	worker->progress++;
	pthread_mutex_unlock(&reader->lock);
	if (reader->request->head.type == PROTO_BUILD_ID)
		find_build_id(worker);
	else
		visit(worker, pid, with_mappings);
	pthread_mutex_lock(&reader->lock);
	worker->progress++;
	if (worker->abandoned)
		return;
	if (reader->request->head.type != PROTO_BUILD_ID) {
		take_records(reader, worker);
		if (!with_mappings)
			add_unreadable(reader, pid);
	}
	worker->at = 0;
}

static void *run_worker(void *arg)
{
	struct worker *worker = arg;
	struct reader *reader = worker->reader;

	pthread_mutex_lock(&reader->lock);
	worker->tid = gettid();
	while (!worker->abandoned) {
		if (reader->next < reader->count)
			do_next(worker);
		else {
			/* the next request may be for another /proc, and other mounts */
			proc_reader_destroy(worker->proc);
			worker->proc = NULL;
			pthread_cond_signal(&reader->progressed);
			pthread_cond_wait(&reader->work, &reader->lock);
		}
	}
	pthread_mutex_unlock(&reader->lock);
	return NULL;
}

/* ---- the main thread: with the lock held ----------------------------------------------------- */

static int start_worker(struct reader *reader)
{
	struct worker *worker;
	pthread_t thread;
	int ret;

	if (reader->worker_count == WORKERS_MAX)
		return -EAGAIN;
	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return -ENOMEM;
	worker->reader = reader;
	ret = pthread_create(&thread, NULL, run_worker, worker);
	if (ret) {
		free(worker);
		return -ret;
	}
	pthread_detach(thread);
	reader->workers[reader->worker_count++] = worker;
	return 0;
}

/*
 * Is the thread blocked in the kernel, neither running nor runnable? Reading the state of a thread
 * of this process does not block.
 */
static bool is_blocked(const struct worker *worker)
{
	char path[64], text[512];
	const char *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)worker->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	state = strrchr(text, ')');
	return !state || state[1] != ' ' || state[2] != 'R';
}

/* Discards its results, which would be late. */
static void abandon(struct reader *reader, struct worker *worker)
{
	worker->abandoned = true;
	reader->hung = true;
	if (reader->request->head.type == PROTO_BUILD_ID) {
		reader->reply->head.error = -ETIMEDOUT;
	} else {
		take_records(reader, worker);
		add_unreadable(reader, worker->at);
	}
}

/* Checks all workers. Returns how many are blocked by a process. */
static unsigned int look(struct reader *reader)
{
	unsigned int blocked = 0, i;

	for (i = 0; i < reader->worker_count; i++) {
		struct worker *worker = reader->workers[i];

		if (!worker->at || worker->progress != worker->seen || !is_blocked(worker)) {
			worker->seen = worker->progress;
			worker->ticks = 0;
			continue;
		}
		worker->ticks++;
		blocked++;
	}
	return blocked;
}

/* Their threads continue in the kernel; the reader no longer tracks them. */
static void abandon_blocked(struct reader *reader, unsigned int ticks)
{
	unsigned int i = 0;

	while (i < reader->worker_count) {
		struct worker *worker = reader->workers[i];

		if (worker->ticks < ticks) {
			i++;
			continue;
		}
		abandon(reader, worker);
		reader->workers[i] = reader->workers[--reader->worker_count];
	}
}

/* Waits until a worker becomes idle, or a tick has passed. */
static void wait_tick(struct reader *reader)
{
	clock_wait_until(
		&reader->progressed, &reader->lock, clock_monotonic_ns() + TICK_MS * NSEC_PER_MSEC);
}

static bool is_done(const struct reader *reader)
{
	unsigned int i;

	if (reader->next < reader->count)
		return false;
	for (i = 0; i < reader->worker_count; i++)
		if (reader->workers[i]->at)
			return false;
	return true;
}

static bool all_blocked(const struct reader *reader)
{
	unsigned int i;

	for (i = 0; i < reader->worker_count; i++)
		if (!reader->workers[i]->ticks)
			return false;
	return true;
}

/* Runs at each tick. Starts one more worker for each blocked one. */
static int help_blocked(struct reader *reader, unsigned int *total)
{
	unsigned int more, i;
	int ret = 0;

	*total += look(reader) > 0;
	reader->names_only |= *total >= TOTAL_TICKS;
	abandon_blocked(reader, reader->names_only ? 1 : PROCESS_TICKS);
	if (reader->next == reader->count || !all_blocked(reader))
		return 0;
	more = reader->worker_count ? reader->worker_count : 1;
	for (i = 0; !ret && i < more; i++)
		ret = start_worker(reader);
	return reader->worker_count ? 0 : ret;
}

/* Reads all of pids; with the lock held. */
static int work(struct reader *reader)
{
	uint64_t next_ns = clock_monotonic_ns() + TICK_MS * NSEC_PER_MSEC;
	unsigned int total = 0;
	int ret = reader->worker_count ? 0 : start_worker(reader);

	pthread_cond_broadcast(&reader->work);
	while (!ret && !reader->failed && !is_done(reader)) {
		wait_tick(reader);
		if (clock_monotonic_ns() < next_ns)
			continue;
		ret = help_blocked(reader, &total);
		next_ns = clock_monotonic_ns() + TICK_MS * NSEC_PER_MSEC;
	}
	return ret;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int add_pid(void *arg, pid_t pid)
{
	struct reader *reader = arg;

	if (reader->count == reader->capacity) {
		const size_t larger = reader->capacity ? 2 * reader->capacity : 1024;
		pid_t *pids = realloc(reader->pids, larger * sizeof(*pids));

		if (!pids)
			return -ENOMEM;
		reader->pids = pids;
		reader->capacity = larger;
	}
	reader->pids[reader->count++] = pid;
	return 0;
}

static int read_processes(struct reader *reader)
{
	const struct proto_message *request = reader->request;
	int ret;

	proto_init(reader->reply, PROTO_RECORDS);
	if (request->head.type != PROTO_READ_ONE)
		ret = proc_list(request->tail.path, add_pid, reader);
	else
		ret = add_pid(reader, (pid_t)request->pid);
	if (!ret)
		ret = work(reader);
	flush_records(reader);
	proto_init(reader->reply, PROTO_READ_DONE);
	reader->reply->head.error = ret;
	return reader->failed;
}

static int read_build_id(struct reader *reader)
{
	int ret = add_pid(reader, (pid_t)reader->request->pid);

	proto_init(reader->reply, PROTO_READ_DONE);
	if (!ret)
		ret = work(reader);
	if (ret)
		reader->reply->head.error = ret;
	return 0;
}

static int serve_request(struct reader *reader)
{
	int ret;

	reader->count = reader->next = 0;
	reader->names_only = reader->request->head.type == PROTO_READ_USERS;
	switch ((enum proto_type)reader->request->head.type) {
	case PROTO_READ_ALL:
	case PROTO_READ_ONE:
	case PROTO_READ_USERS:
		ret = read_processes(reader);
		break;
	case PROTO_BUILD_ID:
		ret = read_build_id(reader);
		break;
	default:
		ret = -EINVAL;
		break;
	}
	reader->reply->head.flags = reader->hung ? PROTO_HUNG : 0;
	return ret ? ret : proto_send(reader->fd, reader->reply, -1, NULL);
}

static int serve(struct reader *reader)
{
	int ret = 0;

	pthread_mutex_lock(&reader->lock);
	while (!ret && !reader->hung) {
		pthread_mutex_unlock(&reader->lock);
		ret = proto_receive(reader->fd, reader->request, NULL, NULL);
		pthread_mutex_lock(&reader->lock);
		if (!ret)
			ret = serve_request(reader);
	}
	return ret;
}

int reader_serve(int fd)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	int ret;

	if (!reader)
		return 1;
	reader->fd = fd;
	reader->request = calloc(1, sizeof(*reader->request));
	reader->reply = calloc(1, sizeof(*reader->reply));
	pthread_mutex_init(&reader->lock, NULL);
	pthread_cond_init(&reader->work, NULL);
	pthread_cond_init(&reader->progressed, NULL);
	if (!reader->request || !reader->reply || chdir("/") || confine_reader())
		return 1;
	ret = serve(reader);
	/* exit_group: ends all threads, also those blocked in the kernel, without exit handlers */
	_exit(ret == 0 || ret == -EPIPE ? 0 : 1);
}
