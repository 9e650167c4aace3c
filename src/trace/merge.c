/* SPDX-License-Identifier: MIT */
/*
 * A snapshot sorted by time: see merge.h.
 *
 * The events of each chunk are sorted (ring/read.h ensures that, whatever the producer wrote), so a
 * heap of all chunks' next events gives the order. Chunks of one thread follow each other, so the
 * top of the heap mostly stays the top, which costs two comparisons.
 */
#include "trace/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* A chunk that is being read; `record` is its next event. */
struct merge_stream {
	const struct snapshot_chunk *chunk; /* NULL for the kernel's events of a CPU: */
	struct merge_kernel_stream kernel;
	struct ring_walk walk;
	struct ring_record record;
	const struct producer_event *meaning;
	uint64_t found; /* events, shown or not */
};

/* The heap's key. `order` keeps equal times in a fixed order; 0 is the messages. */
struct merge_entry {
	uint64_t time_ns;
	uint32_t order;
};

struct merge {
	struct merge_walk walk;
	struct merge_stream *streams; /* order - 1 */
	struct merge_entry *heap;
	uint32_t count;	     /* in the heap */
	bool taken;	     /* the top was handed out */
	uint32_t message;    /* the next one */
};

enum merge_visibility merge_classify(const struct producer *producer,
	const struct ring_record *record, const struct producer_event **meaning)
{
	*meaning = producer_event(producer, record->id);
	if (!*meaning)
		return MERGE_UNKNOWN;
	if (record->flags & KPROF_RECORD_PROVISIONAL && !(*meaning)->show_provisional)
		return MERGE_HIDDEN;
	return MERGE_SHOWN;
}

static bool is_in(GHashTable *unknown, gint64 key)
{
	return g_hash_table_size(unknown) && g_hash_table_contains(unknown, &key);
}

/* An id without a meaning once stays unknown to this walk, so that each pass shows the same. */
static enum merge_visibility classify(struct merge_walk *walk, const struct producer *producer,
	const struct ring_record *record, const struct producer_event **meaning)
{
	gint64 key = (gint64)(producer->serial << 16 | record->id);
	enum merge_visibility visibility;

	if (is_in(walk->unknown, key) || is_in(walk->snapshot->unknown, key))
		return MERGE_UNKNOWN;
	visibility = merge_classify(producer, record, meaning);
	if (visibility == MERGE_UNKNOWN)
		g_hash_table_add(walk->unknown, g_memdup2(&key, sizeof(key)));
	return visibility;
}

/* Moves to the stream's next event that is shown. */
static bool advance(struct merge_walk *walk, struct merge_stream *stream, uint64_t *time_ns)
{
	const struct snapshot_chunk *chunk = stream->chunk;
	enum ring_item item;

	if (!chunk) {
		while (merge_kernel_next(walk->snapshot, &stream->kernel, time_ns)) {
			if (stream->kernel.meaning && *time_ns >= walk->snapshot->cleared_ns)
				return true;
			walk->sums.hidden += stream->kernel.meaning != NULL;
			walk->sums.unknown += stream->kernel.meaning == NULL;
		}
		return false;
	}
	while ((item = ring_walk_next(&stream->walk, &stream->record)) != RING_END) {
		enum merge_visibility visibility;

		if (item != RING_EVENT)
			continue;
		stream->found++;
		*time_ns = snapshot_ns(walk->snapshot, chunk->producer, stream->record.stamp);
		visibility = classify(walk, chunk->producer, &stream->record, &stream->meaning);
		if (visibility == MERGE_SHOWN && *time_ns >= walk->snapshot->cleared_ns)
			return true;
		walk->sums.hidden += visibility != MERGE_UNKNOWN;
		walk->sums.unknown += visibility == MERGE_UNKNOWN;
	}
	if (chunk->extent.count > stream->found)
		walk->sums.missing += chunk->extent.count - stream->found;
	return false;
}

static const struct snapshot_message *message_at(const struct snapshot *snapshot, uint32_t i)
{
	return &g_array_index(snapshot->messages, struct snapshot_message, i);
}

static bool advance_messages(struct merge *merge, uint64_t *time_ns)
{
	if (merge->message >= merge->walk.snapshot->messages->len)
		return false;
	*time_ns = message_at(merge->walk.snapshot, merge->message)->time_ns;
	return true;
}

static bool is_before(const struct merge_entry *a, const struct merge_entry *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->order < b->order);
}

static void sift_down(struct merge *merge, uint32_t at)
{
	struct merge_entry entry = merge->heap[at];
	uint32_t child;

	while ((child = 2 * at + 1) < merge->count) {
		if (child + 1 < merge->count &&
			is_before(&merge->heap[child + 1], &merge->heap[child]))
			child++;
		if (!is_before(&merge->heap[child], &entry))
			break;
		merge->heap[at] = merge->heap[child];
		at = child;
	}
	merge->heap[at] = entry;
}

/* The chunks come first, then the CPUs. */
static uint32_t count_streams(const struct snapshot *snapshot)
{
	return snapshot->chunks->len + snapshot->kernel->len;
}

/* Begins to read a chunk, or the kernel's events of a CPU. Returns false if it has no event that is shown. */
static bool start_stream(
	struct merge_walk *walk, uint32_t i, struct merge_stream *stream, uint64_t *time_ns)
{
	const guint chunks = walk->snapshot->chunks->len;
	const struct snapshot_chunk *chunk;

	if (i >= chunks) {
		stream->chunk = NULL;
		merge_kernel_begin(walk->snapshot, i - chunks, &stream->kernel);
		return advance(walk, stream, time_ns);
	}
	chunk = &g_array_index(walk->snapshot->chunks, struct snapshot_chunk, i);
	stream->chunk = chunk;
	stream->found = 0;
	ring_walk_begin(&stream->walk, &chunk->extent, chunk->data, chunk->from);
	if (chunk->from) {
		stream->walk.run = chunk->run;
		stream->walk.number = chunk->number;
		stream->walk.stamp = MAX(stream->walk.stamp, chunk->stamp);
	}
	return advance(walk, stream, time_ns);
}

static void show_message(const struct snapshot *snapshot, uint32_t i, struct merge_item *item)
{
	size_t begin = i ? message_at(snapshot, i - 1)->end : 0;

	item->message = snapshot->text->str + begin;
	item->message_bytes = message_at(snapshot, i)->end - begin;
}

/* The argument of the end of a span: the record has the timestamp of its begin. */
static void show_duration(struct merge_walk *walk, const struct merge_stream *stream, struct merge_item *item)
{
	const struct ring_record *record = &stream->record;
	uint64_t stamp, begun_ns;
	double duration_us;

	if (record->args_bytes < sizeof(stamp))
		return; /* the text says that it is missing */
	memcpy(&stamp, record->args, sizeof(stamp));
	begun_ns = snapshot_ns(walk->snapshot, stream->chunk->producer, stamp);
	item->is_span = true;
	item->duration_ns = item->time_ns > begun_ns ? item->time_ns - begun_ns : 0;
	duration_us = (double)item->duration_ns / NSEC_PER_USEC;
	g_string_truncate(walk->args, 0);
	g_string_append_len(walk->args, (const char *)&duration_us, sizeof(duration_us));
	item->event.args = item->args = walk->args->str;
	item->event.args_bytes = item->args_bytes = (uint32_t)walk->args->len;
}

/* split: texts that carry their format are split. */
static void show_producer_event(struct merge_walk *walk, const struct merge_stream *stream, bool split,
	struct merge_item *item)
{
	const struct producer *producer = stream->chunk->producer;
	const struct producer_event *meaning = stream->meaning;
	const struct ring_record *record = &stream->record;
	struct trace_text_event *event = &item->event;

	item->message = NULL;
	item->message_bytes = 0;
	/* relaxed: a number that nothing else goes with */
	item->program = (struct merge_program){ producer->serial, producer->pid, producer->uid,
		producer->program, atomic_read_relaxed(&producer->ended_ns) };
	item->thread = stream->walk.run.serial;
	item->slot = stream->walk.run.slot;
	item->number = record->number;
	item->is_span = false;
	item->duration_ns = 0;
	event->time_ns = item->time_ns;
	event->cpu = record->cpu;
	event->pid = (uint32_t)producer->pid;
	event->tid = item->thread ? stream->walk.run.tid : event->pid;
	event->flags = record->flags;
	event->program = producer->program;
	event->args = item->args = record->args;
	event->args_bytes = item->args_bytes = record->args_bytes;
	item->meaning = meaning;
	item->id = record->id;
	event->label = meaning->label;
	event->format = meaning->format;
	event->format_bytes = meaning->format_bytes;
	event->stays = true;
	if (meaning->kind == PRODUCER_SPAN_END)
		show_duration(walk, stream, item);
	if (record->id >= KPROF_ID_FIRST)
		return;
	event->format = NULL;
	if (split)
		trace_text_split(event);
}

static void show_event(struct merge_walk *walk, const struct merge_stream *stream, bool split,
	struct merge_item *item)
{
	if (stream->chunk)
		show_producer_event(walk, stream, split, item);
	else
		merge_kernel_show(walk->snapshot, &stream->kernel, walk->name, walk->args, item);
}

void merge_walk_init(struct merge_walk *walk, const struct snapshot *snapshot)
{
	*walk = (struct merge_walk){ .snapshot = snapshot, .args = g_string_new(NULL) };
	walk->unknown = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

void merge_walk_fini(struct merge_walk *walk)
{
	g_string_free(walk->args, TRUE);
	g_hash_table_unref(walk->unknown);
}

bool merge_walk_messages(const struct merge_walk *walk,
	bool (*see)(void *arg, const struct merge_item *item), void *arg)
{
	struct merge_item item;
	bool more = true;

	for (uint32_t i = 0; more && i < walk->snapshot->messages->len; i++) {
		item.time_ns = message_at(walk->snapshot, i)->time_ns;
		show_message(walk->snapshot, i, &item);
		more = see(arg, &item);
	}
	return more;
}

static bool each_event(struct merge_walk *walk, uint32_t i, bool split,
	bool (*see)(void *arg, const struct merge_item *item), void *arg)
{
	struct merge_stream stream;
	struct merge_item item;
	bool more = true, shown = start_stream(walk, i, &stream, &item.time_ns);

	for (; more && shown; shown = more && advance(walk, &stream, &item.time_ns)) {
		show_event(walk, &stream, split, &item);
		more = see(arg, &item);
		walk->sums.shown++;
	}
	return more;
}

bool merge_walk_chunk(struct merge_walk *walk, uint32_t i,
	bool (*see)(void *arg, const struct merge_item *item), void *arg)
{
	return each_event(walk, i, false, see, arg);
}

bool merge_walk_cpu(struct merge_walk *walk, uint32_t i,
	bool (*see)(void *arg, const struct merge_item *item), void *arg)
{
	return each_event(walk, walk->snapshot->chunks->len + i, false, see, arg);
}

int merge_each(struct merge *merge, bool (*see)(void *arg, const struct merge_item *item),
	void *arg, struct merge_sums *sums)
{
	bool more;

	merge->walk.sums = (struct merge_sums){ 0 };
	more = merge_walk_messages(&merge->walk, see, arg);
	for (uint32_t i = 0; more && i < count_streams(merge->walk.snapshot); i++)
		more = each_event(&merge->walk, i, true, see, arg);
	*sums = merge->walk.sums;
	if (!more)
		return -EINTR;
	merge_restart(merge);
	return 0;
}

void merge_restart(struct merge *merge)
{
	struct merge_entry messages = { .order = 0 };
	uint32_t i;

	merge->count = 0;
	merge->taken = false;
	merge->message = 0;
	merge->walk.sums = (struct merge_sums){ 0 };
	if (advance_messages(merge, &messages.time_ns))
		merge->heap[merge->count++] = messages;
	for (i = 0; i < count_streams(merge->walk.snapshot); i++) {
		struct merge_entry entry = { .order = i + 1 };

		if (start_stream(&merge->walk, i, &merge->streams[i], &entry.time_ns))
			merge->heap[merge->count++] = entry;
	}
	for (i = merge->count / 2; i-- > 0;)
		sift_down(merge, i);
}

struct merge *merge_create(const struct snapshot *snapshot)
{
	struct merge *merge = g_new0(struct merge, 1);

	/* what is unknown here stays so for all that is made of the snapshot */
	merge->walk = (struct merge_walk){ .snapshot = snapshot, .unknown = snapshot->unknown,
		.args = g_string_new(NULL) };
	/* at least one: of none, g_try_new0 returns NULL */
	merge->streams = g_try_new0(struct merge_stream, count_streams(snapshot) + 1);
	merge->heap = g_try_new(struct merge_entry, count_streams(snapshot) + 1);
	if (!merge->streams || !merge->heap) {
		merge_destroy(merge);
		return NULL;
	}
	merge_restart(merge);
	return merge;
}

void merge_destroy(struct merge *merge)
{
	if (!merge)
		return;
	g_string_free(merge->walk.args, TRUE);
	g_free(merge->heap);
	g_free(merge->streams);
	g_free(merge);
}

/* The top was handed out: the next item of its stream replaces it. */
static void pass_top(struct merge *merge)
{
	struct merge_entry *top = &merge->heap[0];
	bool more;

	if (top->order) {
		more = advance(&merge->walk, &merge->streams[top->order - 1], &top->time_ns);
	} else {
		merge->message++;
		more = advance_messages(merge, &top->time_ns);
	}
	if (!more)
		*top = merge->heap[--merge->count];
	if (merge->count)
		sift_down(merge, 0);
}

bool merge_next(struct merge *merge, struct merge_item *item)
{
	if (merge->taken)
		pass_top(merge);
	merge->taken = merge->count > 0;
	if (!merge->taken)
		return false;
	item->time_ns = merge->heap[0].time_ns;
	merge->walk.sums.shown += merge->heap[0].order != 0;
	if (merge->heap[0].order)
		show_event(&merge->walk, &merge->streams[merge->heap[0].order - 1], true, item);
	else
		show_message(merge->walk.snapshot, merge->message, item);
	return true;
}

/* Lines as trace.c makes them: "[T]:cpuN: TEXT\n" each. */
bool merge_next_line(const struct merge_item *item, size_t *at, struct merge_line *line)
{
	static const char mark[] = "]:cpu";
	const char *begin = item->message + *at;
	const char *end = memchr(begin, '\n', item->message_bytes - *at);
	const char *header = end ? memmem(begin, (size_t)(end - begin), mark, strlen(mark)) : NULL;
	const char *rest;

	if (!header)
		return false;
	line->cpu = 0;
	for (rest = header + strlen(mark); g_ascii_isdigit(*rest); rest++)
		line->cpu = line->cpu * 10 + (uint32_t)(*rest - '0');
	if (end - rest < 2 || rest[0] != ':' || rest[1] != ' ')
		return false;
	line->text = rest + strlen(": ");
	line->bytes = (size_t)(end - line->text);
	*at += (size_t)(end + 1 - begin);
	return true;
}

void merge_get_sums(const struct merge *merge, struct merge_sums *sums)
{
	*sums = merge->walk.sums;
}
