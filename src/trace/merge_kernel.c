/* SPDX-License-Identifier: MIT */
/*
 * The kernel's events of one CPU in a merge. A record becomes an item as a program's event is one: the
 * program is the task's process, and the arguments are made in the form of ring_abi.h.
 */
#include "trace/merge_state.h"

#include <string.h>

#include "trace/merge.h"
#include "trace/snapshot.h"

/* Serials of processes are above those of producers. */
#define FIRST_SERIAL 0x80000000u

void merge_kernel_begin(const struct snapshot *snapshot, uint32_t i, struct merge_kernel_stream *stream)
{
	stream->copy = &g_array_index(snapshot->kernel, struct rings_copy, i);
	stream->at = stream->copy->begin;
	stream->head = stream->count = 0;
}

static const struct kernel_record **window_at(struct merge_kernel_stream *stream, uint32_t i)
{
	return &stream->window[(stream->head + i) % MERGE_KERNEL_WINDOW];
}

/* Nearly all are later than those before them. Of equal times that which was written first comes first. */
static void fill_window(struct merge_kernel_stream *stream)
{
	const struct kernel_record *record;

	while (stream->count < MERGE_KERNEL_WINDOW && (record = rings_next(stream->copy, &stream->at))) {
		uint32_t i = stream->count++;

		for (; i && (*window_at(stream, i - 1))->time_ns > record->time_ns; i--)
			*window_at(stream, i) = *window_at(stream, i - 1);
		*window_at(stream, i) = record;
	}
}

bool merge_kernel_next(const struct snapshot *snapshot, struct merge_kernel_stream *stream,
	uint64_t *time_ns)
{
	fill_window(stream);
	if (!stream->count)
		return false;
	stream->record = *window_at(stream, 0);
	stream->head = (stream->head + 1) % MERGE_KERNEL_WINDOW;
	stream->count--;
	*time_ns = stream->record->time_ns;
	stream->meaning = kernel_meaning(snapshot->source, stream->record);
	return true;
}

/* The meaning as other readers of the trace have it; it stays as long as the snapshot. */
static const struct producer_event *find_event(const struct snapshot *snapshot,
	const struct kernel_meaning *meaning)
{
	struct producer_event *event = g_hash_table_lookup(snapshot->kernel_events, meaning);

	if (event)
		return event;
	event = g_new0(struct producer_event, 1);
	event->label = meaning->label;
	event->format = meaning->format;
	event->format_bytes = meaning->format_bytes;
	g_hash_table_insert(snapshot->kernel_events, (gpointer)meaning, event);
	return event;
}

/* A task's name is any bytes. The idle task has none. */
static void copy_name(const struct kernel_record *record, char name[MERGE_KERNEL_NAME_BYTES])
{
	size_t i;

	for (i = 0; i < KERNEL_COMM_BYTES && record->comm[i] && record->tid; i++)
		name[i] = g_ascii_iscntrl(record->comm[i]) ? '?' : record->comm[i];
	name[i] = '\0';
}

/* The same for each record of a process as long as it has this name. */
static uint32_t make_serial(uint32_t tgid, const char *name)
{
	uint32_t hash = g_str_hash(name);

	return FIRST_SERIAL | ((hash ^ tgid * 2654435761u) & ~FIRST_SERIAL);
}

void merge_kernel_show(const struct snapshot *snapshot, const struct merge_kernel_stream *stream,
	char name[MERGE_KERNEL_NAME_BYTES], GString *args, struct merge_item *item)
{
	const struct kernel_record *record = stream->record;
	const struct producer_event *meaning = find_event(snapshot, stream->meaning);
	struct trace_text_event *event = &item->event;
	const struct value_names names = kernel_names_values(snapshot->names);
	uint32_t flags;

	copy_name(record, name);
	g_string_truncate(args, 0);
	flags = kernel_describe(stream->meaning, record, &names, args);
	item->message = NULL;
	item->message_bytes = 0;
	item->program = (struct merge_program){ .serial = make_serial(record->tgid, name),
		.pid = (pid_t)record->tgid, .uid = MERGE_NO_UID, .name = name };
	item->meaning = meaning;
	item->id = MERGE_ID_OF_MEANING;
	item->thread = record->tid;
	item->slot = stream->copy->cpu;
	item->number = record->seq;
	item->is_span = kernel_duration(stream->meaning, record, &item->duration_ns);
	item->args = args->str;
	item->args_bytes = (uint32_t)args->len;
	*event = (struct trace_text_event){
		.time_ns = item->time_ns,
		.cpu = stream->copy->cpu,
		.pid = record->tgid,
		.tid = record->tid,
		.flags = flags,
		.program = name,
		.label = meaning->label,
		.format = meaning->format,
		.format_bytes = meaning->format_bytes,
		.args = args->str,
		.args_bytes = (uint32_t)args->len,
	};
}
