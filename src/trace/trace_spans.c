/* SPDX-License-Identifier: MIT */
/* Spans of programs from a snapshot: see trace_spans.h. */
#include "trace/trace_spans.h"

#include <errno.h>
#include <string.h>

#include "trace/merge.h"
#include "trace/reading.h"
#include "trace/snapshot.h"

/* A span with the label, or the begin of one. */
struct found {
	struct trace_span span; /* of a begin: up to the end of its program, or without an end */
	bool is_begin;
};

/* Begins and ends are read in any order; an end has the time of its begin. */
struct taking {
	const char *label;
	const struct cancel *cancel;
	struct growing *found;
	int ret;
};

/* A thread that has its number later is not in the span. */
static uint64_t end_without_record(const struct merge_item *item)
{
	return item->program.ended_ns ? MAX(item->program.ended_ns, item->time_ns) : UINT64_MAX;
}

static bool see(void *arg, const struct merge_item *item)
{
	struct taking *taking = arg;
	struct found found = { .span = { .pid = item->event.pid, .tid = item->event.tid } };

	if (cancel_requested(taking->cancel))
		taking->ret = -EINTR;
	if (taking->ret || item->message || strcmp(item->event.label, taking->label) != 0)
		return !taking->ret;
	if (item->meaning->kind == PRODUCER_SPAN_END) {
		found.span.begin_ns = item->time_ns - item->duration_ns;
		found.span.end_ns = item->time_ns;
	} else if (item->meaning->kind == KPROF_KIND_SPAN) {
		found.span.begin_ns = item->time_ns;
		found.span.end_ns = end_without_record(item);
		found.is_begin = true;
	} else {
		return true;
	}
	taking->ret = growing_add(taking->found, &found);
	return !taking->ret;
}

/* By thread and begin, whole spans before begins. */
static gint compare(gconstpointer a, gconstpointer b)
{
	const struct found *f = a, *g = b;
	const struct trace_span *x = &f->span, *y = &g->span;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (f->is_begin != g->is_begin)
		return f->is_begin ? 1 : -1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Without the begins whose ends are there. */
static int join(const struct growing *found, struct growing *spans)
{
	const struct trace_span *last = NULL;
	int ret = 0;

	for (guint i = 0; !ret && i < found->len; i++) {
		const struct found *next = &g_array_index(found, struct found, i);
		const struct trace_span *span = &next->span;

		if (next->is_begin && last && last->pid == span->pid && last->tid == span->tid &&
			last->begin_ns == span->begin_ns)
			continue;
		last = span;
		ret = growing_add(spans, span);
	}
	return ret;
}

int trace_spans_take(struct readings *readings, uid_t reader, const char *label, const struct cancel *cancel,
	struct growing **spans)
{
	struct taking taking = { .label = label, .cancel = cancel };
	struct snapshot *snapshot;
	struct merge_sums sums;
	struct merge *merge;
	int ret = readings_take(readings, reader, cancel, &snapshot);

	if (ret)
		return ret;
	taking.found = growing_create(sizeof(struct found));
	merge = merge_create(snapshot);
	if (!merge)
		taking.ret = -ENOMEM;
	else
		(void)merge_each(merge, see, &taking, &sums); /* taking.ret is the reason */
	merge_destroy(merge);
	snapshot_destroy(snapshot);
	*spans = growing_create(sizeof(struct trace_span));
	if (!taking.ret) {
		growing_sort(taking.found, compare);
		taking.ret = join(taking.found, *spans);
	}
	growing_destroy(taking.found);
	if (taking.ret)
		growing_destroy(*spans);
	return taking.ret;
}
