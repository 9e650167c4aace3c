/* SPDX-License-Identifier: MIT */
/* The newest events and lines of the trace: see trace_annotations.h. */
#include "trace/trace_annotations.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "base/text.h"
#include "trace/trace_text.h"
#include "trace/merge.h"
#include "trace/reading.h"
#include "trace/snapshot.h"

struct trace_annotations {
	struct snapshot *snapshot;
	struct merge *merge;
	struct trace_text *trace_text;
	struct trace_annotations_missing missing;
	struct merge_item item;
	size_t at;     /* of the next line in a message */
	bool in_lines; /* the item is a message that may have more lines */
	GString *program, *text;
	uint64_t stack[TRACE_ANNOTATIONS_STACK_MAX];
};

struct annotation_count {
	uint64_t count;
	const struct cancel *cancel;
};

static uint64_t count_lines(const struct merge_item *item)
{
	struct merge_line line;
	size_t at = 0;
	uint64_t count = 0;

	while (merge_next_line(item, &at, &line))
		count++;
	return count;
}

static bool count(void *arg, const struct merge_item *item)
{
	struct annotation_count *counting = arg;

	counting->count += item->message ? count_lines(item) : 1;
	return !cancel_requested(counting->cancel);
}

/* The next line of a message (*is_line is true), or the next event. */
static bool advance(struct trace_annotations *annotations, struct merge_line *line, bool *is_line)
{
	for (;;) {
		*is_line = annotations->in_lines &&
			   merge_next_line(&annotations->item, &annotations->at, line);
		if (*is_line)
			return true;
		if (!merge_next(annotations->merge, &annotations->item))
			return false;
		annotations->in_lines = annotations->item.message != NULL;
		annotations->at = 0;
		if (!annotations->in_lines)
			return true;
	}
}

static int skip_old(
	struct trace_annotations *annotations, uint64_t max, const struct cancel *cancel)
{
	struct annotation_count counting = {0, cancel};
	struct merge_sums sums;
	struct merge_line line;
	bool is_line;
	uint64_t i;
	int ret = merge_each(annotations->merge, count, &counting, &sums);

	if (ret)
		return ret;
	if (!counting.count)
		return -ENODATA;
	for (i = max; i < counting.count && advance(annotations, &line, &is_line); i++)
		if (cancel_requested(cancel))
			return -EINTR;
	annotations->missing.left_out += counting.count - MIN(max, counting.count);
	return 0;
}

int trace_annotations_create(struct readings *readings, uid_t reader, uint64_t max,
	const struct cancel *cancel, struct trace_annotations **annotations)
{
	struct snapshot *snapshot;
	struct trace_annotations *m;
	int ret = readings_take(readings, reader, cancel, &snapshot);

	if (ret)
		return ret;
	snapshot_find_names(snapshot, cancel);
	m = g_new0(struct trace_annotations, 1);
	m->snapshot = snapshot;
	m->missing.left_out = snapshot->left_out;
	m->missing.lost = snapshot->overwritten;
	m->merge = merge_create(snapshot);
	m->trace_text = trace_text_create();
	m->program = g_string_new(NULL);
	m->text = g_string_new(NULL);
	ret = m->merge ? skip_old(m, max, cancel) : -ENOMEM;
	if (ret)
		trace_annotations_destroy(m);
	else
		*annotations = m;
	return ret;
}

void trace_annotations_destroy(struct trace_annotations *annotations)
{
	if (!annotations)
		return;
	merge_destroy(annotations->merge);
	trace_text_destroy(annotations->trace_text);
	g_string_free(annotations->program, TRUE);
	g_string_free(annotations->text, TRUE);
	snapshot_destroy(annotations->snapshot);
	g_free(annotations);
}

static void set_text(GString *out, const char *text, size_t bytes, bool cut)
{
	size_t shown = MIN(bytes, TRACE_ANNOTATIONS_TEXT_MAX);

	g_string_truncate(out, 0);
	/* not within a UTF-8 character: its bytes after the first are 10xxxxxx */
	while (shown < bytes && shown && ((unsigned char)text[shown] & 0xc0) == 0x80)
		shown--;
	text_append_lines(out, text, shown);
	if (cut || shown < bytes)
		g_string_append(out, " [cut]");
}

static void show_line(struct trace_annotations *annotations, const struct merge_line *line,
	struct trace_annotation *annotation)
{
	*annotation = (struct trace_annotation){
		.time_ns = annotations->item.time_ns, .cpu = line->cpu, .name = ""};
	set_text(annotations->text, line->text, line->bytes, false);
	annotation->text = annotations->text->str;
}

static enum trace_annotation_kind kind_of(const struct merge_item *item)
{
	if (item->is_span)
		return TRACE_ANNOTATION_SPAN;
	if (item->meaning->kind == KPROF_KIND_SPAN)
		return TRACE_ANNOTATION_BEGIN;
	return item->meaning->kind == KPROF_KIND_COUNTER ? TRACE_ANNOTATION_COUNTER
							 : TRACE_ANNOTATION_EVENT;
}

static void show_event(struct trace_annotations *annotations, struct trace_annotation *annotation)
{
	struct trace_text_event *event = &annotations->item.event;
	const uint32_t stack_count =
		trace_text_take_stack(event, annotations->stack, TRACE_ANNOTATIONS_STACK_MAX);
	size_t bytes;
	bool cut;
	const char *text = trace_text_format(annotations->trace_text, event, &bytes, &cut);

	set_text(annotations->program, event->program, strlen(event->program), false);
	set_text(annotations->text, text, bytes, cut);
	*annotation = (struct trace_annotation){
		.time_ns = event->time_ns,
		.cpu = event->cpu,
		.pid = event->pid,
		.tid = event->tid,
		.uid = annotations->item.program.uid,
		.program = annotations->program->str,
		.name = event->label,
		.text = annotations->text->str,
		.kind = kind_of(&annotations->item),
		.duration_ns = annotations->item.duration_ns,
		.stack = annotations->stack,
		.stack_count = stack_count,
	};
}

bool trace_annotations_next(
	struct trace_annotations *annotations, struct trace_annotation *annotation)
{
	struct merge_line line;
	bool is_line;

	if (!advance(annotations, &line, &is_line))
		return false;
	if (is_line)
		show_line(annotations, &line, annotation);
	else
		show_event(annotations, annotation);
	return true;
}

void trace_annotations_get_missing(
	const struct trace_annotations *annotations, struct trace_annotations_missing *missing)
{
	*missing = annotations->missing;
}
