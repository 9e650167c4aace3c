/* SPDX-License-Identifier: MIT */
/* Records about tasks, in order of time: see taskevents.h. */
#include "prof/taskevents.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/growing.h"
#include "base/reserve.h"

#include "kprof/records.h"

/* Every record ends in sample_id: u32 pid, tid; u64 time. */
#define TRAILER_BYTES 16

struct taskevent {
	uint64_t time_ns;
	uint64_t order; /* of arrival, for records with the same time */
	struct perf_event_header *record; /* a copy */
};

struct taskevents {
	struct growing *waiting; /* of struct taskevent */
	uint64_t next_order;
};

/* The kernel's layouts (include/uapi/linux/perf_event.h, enum perf_event_type). */
struct task_record {
	struct perf_event_header header;
	uint32_t pid, parent_pid;
	uint32_t tid, parent_tid;
	uint64_t time_ns;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[]; /* NUL-terminated, padded */
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, size, offset;
	union {
		struct {
			uint32_t dev_major, dev_minor;
			uint64_t inode, generation;
		} file;
		/*
		 * PERF_RECORD_MISC_MMAP_BUILD_ID: not requested here, but Linux writes it for all
		 * listeners if another program requests it
		 */
		struct {
			uint8_t length;
			uint8_t reserved[3];
			uint8_t bytes[20];
		} build_id;
	};
	uint32_t protection, flags;
	char path[]; /* NUL-terminated, padded */
};

struct taskevents *taskevents_create(void)
{
	struct taskevents *events = g_new0(struct taskevents, 1);

	events->waiting = growing_create(sizeof(struct taskevent));
	return events;
}

static void drop_first(struct taskevents *events, guint count)
{
	guint i;

	for (i = 0; i < count; i++)
		free(g_array_index(events->waiting, struct taskevent, i).record);
	if (count < events->waiting->len) /* else there may be no array yet */
		memmove(events->waiting->data, events->waiting->data + count * sizeof(struct taskevent),
			(events->waiting->len - count) * sizeof(struct taskevent));
	growing_cut(events->waiting, events->waiting->len - count);
}

void taskevents_destroy(struct taskevents *events)
{
	drop_first(events, events->waiting->len);
	growing_destroy(events->waiting);
	g_free(events);
}

/* Whether there is a NUL between `text` and the trailer. */
static bool is_terminated(const struct perf_event_header *header, const char *text)
{
	const char *end = (const char *)header + header->size - TRAILER_BYTES;

	return text < end && memchr(text, 0, (size_t)(end - text));
}

static bool is_sound(const struct perf_event_header *header)
{
	const size_t inside = header->size - TRAILER_BYTES;

	if (header->size < sizeof(*header) + TRAILER_BYTES)
		return false;
	switch (header->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return inside >= sizeof(struct task_record);
	case PERF_RECORD_COMM:
		return inside > sizeof(struct comm_record) &&
		       is_terminated(header, ((const struct comm_record *)header)->name);
	case PERF_RECORD_MMAP2:
		return inside > sizeof(struct mmap2_record) &&
		       is_terminated(header, ((const struct mmap2_record *)header)->path);
	}
	return false;
}

bool taskevents_add(struct taskevents *events, const struct perf_event_header *header)
{
	struct taskevent event;

	if (!is_sound(header))
		return true;
	memcpy(&event.time_ns, (const char *)header + header->size - sizeof(event.time_ns),
		sizeof(event.time_ns));
	event.order = events->next_order++;
	event.record = reserve_is_whole() ? malloc(header->size) : NULL;
	if (!event.record || growing_add(events->waiting, &event)) {
		free(event.record);
		return false;
	}
	memcpy(event.record, header, header->size);
	return true;
}

static gint compare_events(gconstpointer a, gconstpointer b)
{
	const struct taskevent *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* The idle tasks, and tasks that are not visible in this pid namespace. */
static bool is_no_task(uint32_t pid)
{
	return pid == 0 || pid == UINT32_MAX;
}

static void apply_mapping(struct tasks *tasks, uint64_t time_ns, const struct mmap2_record *record)
{
	struct tasks_mapping mapping = {
		.addr = record->addr,
		.size = record->size,
		.offset = record->offset,
		.path = record->path,
	};

	if (!(record->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		mapping.file.dev_major = record->file.dev_major;
		mapping.file.dev_minor = record->file.dev_minor;
		mapping.file.inode = record->file.inode;
		mapping.file.generation = record->file.generation;
	} else if (record->build_id.length <= sizeof(record->build_id.bytes)) {
		mapping.build_id = record->build_id.bytes;
		mapping.build_id_length = record->build_id.length;
	}
	if (is_no_task(record->pid) || !(record->protection & PROT_EXEC))
		return;
	tasks_add_mapping(tasks, time_ns, record->pid, &mapping);
}

static void apply_event(struct tasks *tasks, const struct taskevent *event)
{
	const struct task_record *task = (const struct task_record *)event->record;
	const struct comm_record *comm = (const struct comm_record *)event->record;

	switch (event->record->type) {
	case PERF_RECORD_FORK:
		if (!is_no_task(task->pid))
			tasks_fork(tasks, event->time_ns, task->pid, task->tid, task->parent_pid,
				task->parent_tid);
		break;
	case PERF_RECORD_EXIT:
		if (!is_no_task(task->pid))
			tasks_exit(tasks, event->time_ns, task->pid, task->tid, task->parent_pid,
				task->parent_tid);
		break;
	case PERF_RECORD_COMM:
		if (!is_no_task(comm->pid))
			tasks_comm(tasks, event->time_ns, comm->pid, comm->tid, comm->name,
				comm->header.misc & PERF_RECORD_MISC_COMM_EXEC);
		break;
	case PERF_RECORD_MMAP2:
		apply_mapping(tasks, event->time_ns, (const struct mmap2_record *)event->record);
		break;
	}
}

void taskevents_apply(struct taskevents *events, struct tasks *tasks, uint64_t until_ns)
{
	guint done = 0;

	growing_sort(events->waiting, compare_events);
	while (done < events->waiting->len) {
		const struct taskevent *event =
			&g_array_index(events->waiting, struct taskevent, done);

		if (event->time_ns > until_ns)
			break;
		apply_event(tasks, event);
		done++;
	}
	drop_first(events, done);
}
