/* SPDX-License-Identifier: MIT */
/* Kernel events without bpf(2). */
#include "kernel/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/tracepage.h"
#include "sys/clock.h"
#include "sys/lines.h"
#include "sys/tracing.h"
#include "sys/lockdown.h"

/* Threads that are remembered; all are forgotten beyond it. */
#define TASKS_MAX 65536
/* A format file is at most some 10 KiB. */
#define FORMAT_BYTES_MAX 65536
/* The common header of tracefs' records: type, flags, preemption, thread. */
#define COMMON_BYTES 8

static const char enter[] = "raw_syscalls/sys_enter", leave[] = "raw_syscalls/sys_exit";

/* A thread that was seen. */
struct instance_task {
	uint32_t tgid;
	char comm[KERNEL_COMM_BYTES];
	uint64_t begun_ns;  /* of the call that it is in; 0: none */
	uint64_t left_ns;   /* when the call before ended */
	uint64_t number;
	uint64_t args[KERNEL_CALL_ARGS];
};

/* What a type of tracefs' records is. */
struct instance_source {
	enum { SOURCE_NONE, SOURCE_POINT, SOURCE_ENTER, SOURCE_LEAVE } kind;
	uint32_t id;
	const struct point *point;
	struct point *watched; /* its fields, if it tells what threads there are; else NULL */
	bool renames;	       /* that they have other names; else that they were started */
};

/* The page of a CPU that was read, and its next event; NULL if there is none. */
struct instance_cpu {
	char *page;
	struct tracepage cursor;
	const char *event;
	size_t bytes;
};

/* l: under the lock; the rest is invariant */
struct instance {
	struct tracing *tracing;
	struct rings *rings;
	uint32_t own;
	uint32_t cpu_count;
	size_t page_bytes; /* of the kernel's buffers */
	pthread_mutex_t lock; /* outside rings.lock */
	GHashTable *sources;  /* l: type of a record -> struct instance_source */
	GHashTable *tasks;    /* l: thread -> struct instance_task */
	struct instance_cpu *cpus; /* l */
	uint64_t room[KERNEL_RECORD_MAX / 8]; /* l: the record that is being made */
};

/* ---- settings ----------------------------------------------------------------------------------- */

static int write_file(struct instance *instance, const char *event, const char *file, const char *text)
{
	g_autofree char *path = g_strdup_printf("events/%s/%s", event, file);

	return tracing_write(instance->tracing, path, text);
}

/* `event` is SUBSYSTEM/NAME. The filter is set before it is switched on. */
static int switch_event(struct instance *instance, const char *event, bool on, const char *filter,
	struct err *err)
{
	int ret = 0;

	if (on)
		ret = write_file(instance, event, "filter", filter ? filter : "0");
	if (ret)
		return err_set(err, EOPNOTSUPP,
			"without bpf(2) a filter is one of tracefs, which refuses '%s': %s", filter,
			g_strerror(-ret));
	ret = write_file(instance, event, "enable", on ? "1" : "0");
	if (ret == -EPERM && on && lockdown_is_confidential(NULL))
		return err_set(err, EOPNOTSUPP,
			"kernel lockdown (confidentiality) forbids tracefs, and without bpf(2) events of the "
			"kernel are recorded by it; " LOCKDOWN_REMEDY);
	if (ret && on)
		return err_set(err, -ret, "tracefs does not switch '%s' on: %s", event, g_strerror(-ret));
	return 0;
}

/* Without its filter. -ENOENT if there is no such event. */
static int read_point(struct instance *instance, const char *event, struct point **point)
{
	g_autofree char *path = g_strdup_printf("events/%s/format", event);
	g_autofree char *text = g_malloc0(FORMAT_BYTES_MAX);
	ssize_t got;
	int fd, ret = tracing_open(instance->tracing, path, &fd);

	if (ret)
		return ret;
	got = read(fd, text, FORMAT_BYTES_MAX - 1);
	ret = got < 0 ? -errno : 0;
	close(fd);
	return ret ? ret : point_parse(text, point, NULL);
}

static void set_source(struct instance *instance, uint32_t number, struct instance_source source)
{
	pthread_mutex_lock(&instance->lock);
	g_hash_table_insert(instance->sources, GUINT_TO_POINTER(number), g_memdup2(&source, sizeof(source)));
	pthread_mutex_unlock(&instance->lock);
}

/* What tells the threads that are started, and their names. */
static const char *const watched[] = { "task/task_newtask", "task/task_rename" };

static bool is_watched(const char *event)
{
	return strcmp(event, watched[0]) == 0 || strcmp(event, watched[1]) == 0;
}

/* Names and processes of threads that start from now on. Without it those that have ended have none. */
static void watch_tasks(struct instance *instance)
{
	for (int i = 0; i < 2; i++) {
		struct point *point;

		if (read_point(instance, watched[i], &point))
			continue;
		set_source(instance, (uint32_t)point->event,
			(struct instance_source){ .watched = point, .renames = i });
		write_file(instance, watched[i], "enable", "1");
	}
}

static uint32_t number_of(struct instance *instance, const char *event)
{
	g_autofree char *path = g_strdup_printf("events/%s/id", event);
	char text[24] = "";
	int fd;

	if (tracing_open(instance->tracing, path, &fd))
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return (uint32_t)strtoul(text, NULL, 10);
}

/* False if the event is watched besides, so that it stays on and can't have a filter. */
static bool change_point(struct instance *instance, uint32_t number, const struct point *point, uint32_t id)
{
	struct instance_source *source;
	bool is_watched;

	pthread_mutex_lock(&instance->lock);
	source = g_hash_table_lookup(instance->sources, GUINT_TO_POINTER(number));
	if (!source) {
		source = g_new0(struct instance_source, 1);
		g_hash_table_insert(instance->sources, GUINT_TO_POINTER(number), source);
	}
	source->kind = point ? SOURCE_POINT : SOURCE_NONE;
	source->point = point;
	source->id = id;
	is_watched = source->watched != NULL;
	pthread_mutex_unlock(&instance->lock);
	return !is_watched;
}

int instance_set_point(struct instance *instance, const char *name, const struct point *point, uint32_t id,
	const char *filter, struct err *err)
{
	g_autofree char *event = g_strdelimit(g_strdup(name), ":", '/');
	uint32_t number;

	/* what was recorded before has the id from before */
	instance_gather(instance);
	number = number_of(instance, event);
	if (filter && is_watched(event))
		return err_set(err, EOPNOTSUPP, "without bpf(2) '%s' can't have a filter", name);
	if (!change_point(instance, number, point, id))
		return 0;
	return switch_event(instance, event, point != NULL, filter, err);
}

int instance_set_calls(struct instance *instance, bool on, const char *filter, struct err *err)
{
	uint32_t entering = number_of(instance, enter), leaving = number_of(instance, leave);
	int ret;

	if (!entering || !leaving)
		return err_set(
			err, EOPNOTSUPP, "this kernel has no tracepoints of system calls (raw_syscalls)");
	instance_gather(instance);
	set_source(instance, entering, (struct instance_source){ .kind = SOURCE_ENTER });
	set_source(instance, leaving, (struct instance_source){ .kind = SOURCE_LEAVE });
	/* the return first, so that a call whose entry was seen has its record */
	ret = switch_event(instance, leave, on, filter, err);
	return ret ? ret : switch_event(instance, enter, on, filter, err);
}

void instance_enable(struct instance *instance, bool on)
{
	tracing_write(instance->tracing, "tracing_on", on ? "1" : "0");
}

/* ---- threads ------------------------------------------------------------------------------------ */

/* A number behind "Tgid:", and the name, which do not wait for the memory of the process. */
static void look_up(uint32_t tid, struct instance_task *task)
{
	char path[64], text[512] = "", *found;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	if (lines_read_first(AT_FDCWD, path, text, KERNEL_COMM_BYTES))
		return;
	memcpy(task->comm, text, strnlen(text, sizeof(task->comm) - 1));
	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0 && (found = strstr(text, "\nTgid:")))
		task->tgid = (uint32_t)strtoul(found + strlen("\nTgid:"), NULL, 10);
	close(fd);
}

/* One that was there before its events were recorded is looked up when it is seen first. */
static struct instance_task *find_task(struct instance *instance, uint32_t tid)
{
	struct instance_task *task = g_hash_table_lookup(instance->tasks, GUINT_TO_POINTER(tid));

	if (task)
		return task;
	if (g_hash_table_size(instance->tasks) >= TASKS_MAX)
		g_hash_table_remove_all(instance->tasks);
	task = g_new0(struct instance_task, 1);
	g_hash_table_insert(instance->tasks, GUINT_TO_POINTER(tid), task);
	if (tid) {
		look_up(tid, task);
		if (!task->tgid)
			task->tgid = tid;
	}
	return task;
}

/* The number of a field of so many bytes, 0 if the event has none. */
static uint64_t read_field(const struct point *point, const char *name, const char *event, size_t bytes)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < point->count; i++) {
		const struct point_field *field = &point->fields[i];

		if (strcmp(field->name, name) == 0 && field->bytes <= sizeof(value) &&
			field->offset + field->bytes <= bytes)
			memcpy(&value, event + field->offset, field->bytes);
	}
	return value;
}

static void read_comm(const struct point *point, const char *name, const char *event, size_t bytes,
	struct instance_task *task)
{
	for (uint32_t i = 0; i < point->count; i++) {
		const struct point_field *field = &point->fields[i];

		if (strcmp(field->name, name) == 0 && field->bytes == sizeof(task->comm) &&
			field->offset + field->bytes <= bytes)
			memcpy(task->comm, event + field->offset, sizeof(task->comm));
	}
}

/* A thread was started by `tid`, or has another name. */
static void take_task(struct instance *instance, const struct instance_source *source, uint32_t tid,
	const char *event, size_t bytes)
{
	const struct point *point = source->watched;
	uint32_t named = (uint32_t)read_field(point, "pid", event, bytes);
	uint32_t tgid = find_task(instance, tid)->tgid;
	struct instance_task *task;

	if (source->renames) {
		/* newer kernels tell only the thread itself */
		read_comm(point, "newcomm", event, bytes, find_task(instance, named ? named : tid));
		return;
	}
	/* its number may be that of a thread that has ended */
	g_hash_table_remove(instance->tasks, GUINT_TO_POINTER(named));
	if (g_hash_table_size(instance->tasks) >= TASKS_MAX)
		g_hash_table_remove_all(instance->tasks);
	task = g_new0(struct instance_task, 1);
	task->tgid = read_field(point, "clone_flags", event, bytes) & CLONE_THREAD ? tgid : named;
	read_comm(point, "comm", event, bytes, task);
	g_hash_table_insert(instance->tasks, GUINT_TO_POINTER(named), task);
}

/* ---- records ------------------------------------------------------------------------------------ */

static struct kernel_record *begin(struct instance *instance, uint64_t time_ns, uint32_t tid,
	const struct instance_task *task)
{
	struct kernel_record *record = (struct kernel_record *)(void *)instance->room;

	*record = (struct kernel_record){ .time_ns = time_ns, .tgid = task->tgid, .tid = tid };
	memcpy(record->comm, task->comm, sizeof(record->comm));
	return record;
}

static void write_call(struct instance *instance, uint32_t cpu, uint64_t time_ns, uint32_t tid,
	const struct instance_task *task, uint64_t number, int64_t result, uint32_t flags)
{
	struct kernel_record *record = begin(instance, time_ns, tid, task);
	struct kernel_call *call = (struct kernel_call *)(void *)(record + 1);
	const bool has_entry = !(flags & KERNEL_RECORD_NO_ENTRY);

	*call = (struct kernel_call){ .result = result };
	if (has_entry) {
		memcpy(call->args, task->args, sizeof(call->args));
		if (!(flags & KERNEL_RECORD_NO_RESULT))
			call->duration_ns = time_ns - task->begun_ns;
	}
	rings_write(instance->rings, cpu, record, sizeof(*record) + sizeof(*call), (uint32_t)number, flags);
}

static void take_enter(struct instance *instance, uint32_t cpu, uint64_t time_ns, uint32_t tid,
	struct instance_task *task, const uint64_t *fields)
{
	/* one that came late, after its return */
	if (time_ns < task->left_ns)
		return;
	task->begun_ns = time_ns;
	task->number = fields[0];
	memcpy(task->args, fields + 1, sizeof(task->args));
	/* as in callprogram.c */
	if (task->number == SYS_exit || task->number == SYS_exit_group || task->number == SYS_rt_sigreturn) {
		write_call(instance, cpu, time_ns, tid, task, task->number, 0, KERNEL_RECORD_NO_RESULT);
		task->begun_ns = 0;
	}
}

static void take_leave(struct instance *instance, uint32_t cpu, uint64_t time_ns, uint32_t tid,
	struct instance_task *task, const uint64_t *fields)
{
	const bool has_entry = task->begun_ns && task->number == fields[0];

	/* -1 is the return of rt_sigreturn, whose record is there */
	if ((int64_t)fields[0] >= 0 && fields[0] < KERNEL_ID_TRACEPOINTS && fields[0] != SYS_rt_sigreturn)
		write_call(instance, cpu, time_ns, tid, task, fields[0], (int64_t)fields[1],
			has_entry ? 0 : KERNEL_RECORD_NO_ENTRY);
	task->begun_ns = 0;
	task->left_ns = time_ns;
}

/* Appends a text of the tracefs record as struct kernel_string. Returns the bytes that it takes. */
static size_t add_text(char *at, const char *event, size_t bytes, uint32_t offset)
{
	uint32_t location;
	struct kernel_string string = { 0 };
	size_t place;

	memcpy(&location, event + offset, sizeof(location));
	place = location & 0xffff;
	if (place < bytes)
		string.bytes = MIN(strnlen(event + place, bytes - place) + 1, KERNEL_STRING_BYTES / 2);
	if (place + string.bytes > bytes)
		string.bytes = 0;
	memcpy(at, &string, sizeof(string));
	memcpy(at + sizeof(string), event + place, string.bytes);
	if (string.bytes)
		at[sizeof(string) + string.bytes - 1] = '\0';
	return sizeof(string) + (string.bytes + 7) / 8 * 8;
}

static void take_point(struct instance *instance, uint32_t cpu, uint64_t time_ns, uint32_t tid,
	const struct instance_task *task, const struct instance_source *source, const char *event,
	size_t bytes)
{
	struct kernel_record *record = begin(instance, time_ns, tid, task);
	const struct point *point = source->point;
	char *at = (char *)(record + 1);
	size_t made = (point->body + 7) / 8 * 8;

	if (bytes < COMMON_BYTES + point->body)
		return;
	memcpy(at, event + COMMON_BYTES, point->body);
	for (uint32_t i = 0; i < point->count; i++)
		if (point->fields[i].string >= 0)
			made += add_text(at + made, event, bytes, point->fields[i].offset);
	rings_write(instance->rings, cpu, record, sizeof(*record) + made, source->id, 0);
}

/* ---- gathering ---------------------------------------------------------------------------------- */

static void take_event(struct instance *instance, uint32_t cpu, uint64_t time_ns, const char *event,
	size_t bytes)
{
	const struct instance_source *source;
	struct instance_task *task;
	uint64_t fields[1 + KERNEL_CALL_ARGS];
	uint16_t type;
	uint32_t tid;

	if (bytes < COMMON_BYTES)
		return;
	memcpy(&type, event, sizeof(type));
	memcpy(&tid, event + 4, sizeof(tid));
	source = g_hash_table_lookup(instance->sources, GUINT_TO_POINTER(type));
	if (!source)
		return;
	if (source->watched)
		take_task(instance, source, tid, event, bytes);
	if (source->kind == SOURCE_NONE)
		return;
	task = find_task(instance, tid);
	if (task->tgid == instance->own)
		return;
	if (source->kind == SOURCE_POINT) {
		take_point(instance, cpu, time_ns, tid, task, source, event, bytes);
		return;
	}
	memset(fields, 0, sizeof(fields));
	memcpy(fields, event + COMMON_BYTES, MIN(bytes - COMMON_BYTES, sizeof(fields)));
	if (source->kind == SOURCE_ENTER)
		take_enter(instance, cpu, time_ns, tid, task, fields);
	else
		take_leave(instance, cpu, time_ns, tid, task, fields);
}

/* The next event of a CPU, from the next page if need be. */
static void advance(struct instance *instance, uint32_t cpu)
{
	struct instance_cpu *of = &instance->cpus[cpu];
	ssize_t got;

	while (!(of->event = tracepage_next(&of->cursor, &of->bytes))) {
		got = tracing_read_page(instance->tracing, cpu, of->page, instance->page_bytes);
		if (got <= 0)
			return;
		tracepage_begin(&of->cursor, of->page, (size_t)got);
	}
}

/* The CPU with the earliest event up to a time; -1 if there is none. */
static int choose_cpu(const struct instance *instance, uint64_t until_ns)
{
	int chosen = -1;

	for (uint32_t cpu = 0; cpu < instance->cpu_count; cpu++) {
		const struct instance_cpu *of = &instance->cpus[cpu];

		if (of->event && of->cursor.time_ns <= until_ns &&
			(chosen < 0 || of->cursor.time_ns < instance->cpus[chosen].cursor.time_ns))
			chosen = (int)cpu;
	}
	return chosen;
}

/*
 * In the order of time, since a call may return on another CPU than it began on. What is newer than the
 * beginning stays for the next time: so it ends, and no CPU is ahead of the others.
 */
void instance_gather(struct instance *instance)
{
	const uint64_t now_ns = clock_monotonic_ns();
	int cpu;

	pthread_mutex_lock(&instance->lock);
	for (uint32_t i = 0; i < instance->cpu_count; i++) {
		rings_set_missed(instance->rings, i, tracing_lost(instance->tracing, i));
		if (!instance->cpus[i].event)
			advance(instance, i);
	}
	while ((cpu = choose_cpu(instance, now_ns)) >= 0) {
		const struct instance_cpu *of = &instance->cpus[cpu];

		take_event(instance, (uint32_t)cpu, of->cursor.time_ns, of->event, of->bytes);
		advance(instance, (uint32_t)cpu);
	}
	pthread_mutex_unlock(&instance->lock);
}

static void free_source(void *data)
{
	struct instance_source *source = data;

	point_destroy(source->watched);
	g_free(source);
}

/* ---- beginning and end -------------------------------------------------------------------------- */

int instance_create(const char *path, uint32_t kb, struct instance **instance, struct err *err)
{
	struct instance *made = g_new0(struct instance, 1);
	int ret;

	made->own = (uint32_t)getpid();
	made->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	made->sources = g_hash_table_new_full(NULL, NULL, NULL, free_source);
	made->tasks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	pthread_mutex_init(&made->lock, NULL);
	ret = rings_create_private(kb, &made->rings, err);
	if (!ret)
		ret = tracing_create(path, kb, &made->tracing, err);
	if (ret) {
		rings_destroy(made->rings);
		instance_destroy(made);
		return ret;
	}
	made->cpu_count = MIN(tracing_cpus(made->tracing), rings_cpus(made->rings));
	made->cpus = g_new0(struct instance_cpu, made->cpu_count);
	for (uint32_t i = 0; i < made->cpu_count; i++)
		made->cpus[i].page = g_malloc0(made->page_bytes);
	watch_tasks(made);
	*instance = made;
	return 0;
}

void instance_destroy(struct instance *instance)
{
	if (!instance)
		return;
	tracing_destroy(instance->tracing);
	g_hash_table_unref(instance->sources);
	g_hash_table_unref(instance->tasks);
	pthread_mutex_destroy(&instance->lock);
	for (uint32_t i = 0; i < instance->cpu_count; i++)
		g_free(instance->cpus[i].page);
	g_free(instance->cpus);
	g_free(instance);
}

struct rings *instance_rings(struct instance *instance)
{
	return instance->rings;
}
