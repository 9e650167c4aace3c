/* SPDX-License-Identifier: MIT */
/* The newest of the trace, with texts: see marks.h. */
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
	struct trace_text *line;
	struct trace_annotations_missing missing;
	struct merge_item item;
	size_t at;     /* in a message: its next line */
	bool in_lines; /* the item is a message of which a line may be left */
	GString *program, *text;
};

struct counting {
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
	struct counting *counting = arg;

	counting->count += item->message ? count_lines(item) : 1;
	return !cancel_requested(counting->cancel);
}

/* The next line of a message, or else (*is_line) event. */
static bool advance(struct trace_annotations *marks, struct merge_line *line, bool *is_line)
{
	for (;;) {
		*is_line = marks->in_lines && merge_next_line(&marks->item, &marks->at, line);
		if (*is_line)
			return true;
		if (!merge_next(marks->merge, &marks->item))
			return false;
		marks->in_lines = marks->item.message != NULL;
		marks->at = 0;
		if (!marks->in_lines)
			return true;
	}
}

static int skip_old(
	struct trace_annotations *marks, uint64_t max, const struct cancel *cancel)
{
	struct counting counting = {0, cancel};
	struct merge_sums sums;
	struct merge_line line;
	bool is_line;
	uint64_t i;
	int ret = merge_each(marks->merge, count, &counting, &sums);

	if (ret)
		return ret;
	if (!counting.count)
		return -ENODATA;
	for (i = max; i < counting.count && advance(marks, &line, &is_line); i++)
		if (cancel_requested(cancel))
			return -EINTR;
	marks->missing.left_out += counting.count - MIN(max, counting.count);
	return 0;
}

int trace_annotations_create(struct readings *readings, uid_t reader, uint64_t max,
	const struct cancel *cancel, struct trace_annotations **marks)
{
	struct snapshot *snapshot;
	struct trace_annotations *m;
	int ret = readings_take(readings, reader, cancel, &snapshot);

	if (ret)
		return ret;
	m = g_new0(struct trace_annotations, 1);
	m->snapshot = snapshot;
	m->missing.left_out = snapshot->left_out;
	m->missing.lost = snapshot->overtaken;
	m->merge = merge_create(snapshot);
	m->line = trace_text_create();
	m->program = g_string_new(NULL);
	m->text = g_string_new(NULL);
	ret = m->merge ? skip_old(m, max, cancel) : -ENOMEM;
	if (ret)
		trace_annotations_destroy(m);
	else
		*marks = m;
	return ret;
}

void trace_annotations_destroy(struct trace_annotations *marks)
{
	if (!marks)
		return;
	merge_destroy(marks->merge);
	trace_text_destroy(marks->line);
	g_string_free(marks->program, TRUE);
	g_string_free(marks->text, TRUE);
	snapshot_destroy(marks->snapshot);
	g_free(marks);
}

static void set_text(GString *out, const char *text, size_t bytes, bool cut)
{
	size_t shown = MIN(bytes, TRACE_ANNOTATIONS_TEXT_MAX);

	g_string_truncate(out, 0);
	/* not within a character, of which no byte but the first is unlike 10xxxxxx */
	while (shown < bytes && shown && ((unsigned char)text[shown] & 0xc0) == 0x80)
		shown--;
	text_append_lines(out, text, shown);
	if (cut || shown < bytes)
		g_string_append(out, " [cut]");
}

static void show_line(struct trace_annotations *marks, const struct merge_line *line,
	struct trace_annotation *mark)
{
	*mark = (struct trace_annotation){
		.time_ns = marks->item.time_ns, .cpu = line->cpu, .name = ""};
	set_text(marks->text, line->text, line->bytes, false);
	mark->text = marks->text->str;
}

static void show_event(struct trace_annotations *marks, struct trace_annotation *mark)
{
	const struct trace_text_event *event = &marks->item.event;
	size_t bytes;
	bool cut;
	const char *text = trace_text_text(marks->line, event, &bytes, &cut);

	set_text(marks->program, event->program, strlen(event->program), false);
	set_text(marks->text, text, bytes, cut);
	*mark = (struct trace_annotation){
		.time_ns = event->time_ns,
		.cpu = event->cpu,
		.pid = event->pid,
		.tid = event->tid,
		.program = marks->program->str,
		.name = event->label,
		.text = marks->text->str,
	};
}

bool trace_annotations_next(struct trace_annotations *marks, struct trace_annotation *mark)
{
	struct merge_line line;
	bool is_line;

	if (!advance(marks, &line, &is_line))
		return false;
	if (is_line)
		show_line(marks, &line, mark);
	else
		show_event(marks, mark);
	return true;
}

void trace_annotations_get_missing(
	const struct trace_annotations *marks, struct trace_annotations_missing *missing)
{
	*missing = marks->missing;
}
