/* SPDX-License-Identifier: MIT */
/* Spans of programs from a snapshot: see trace_spans.h. */
#include "trace/trace_spans.h"

#include <errno.h>
#include <string.h>

#include "trace/merge.h"
#include "trace/reading.h"
#include "trace/snapshot.h"

/*
 * Spans with one label, while the events are read in any order: each begin as a span without an end, each
 * end as the whole span, since it has the time of its begin.
 */
struct taking {
	const char *label;
	const struct cancel *cancel;
	struct growing *spans;
	int ret;
};

static bool see(void *arg, const struct merge_item *item)
{
	struct taking *taking = arg;
	struct trace_span span = { .pid = item->event.pid, .tid = item->event.tid };

	if (cancel_requested(taking->cancel))
		taking->ret = -EINTR;
	if (taking->ret || item->message || strcmp(item->event.label, taking->label) != 0)
		return !taking->ret;
	if (item->meaning->kind == PRODUCER_SPAN_END) {
		span.begin_ns = item->time_ns - item->duration_ns;
		span.end_ns = item->time_ns;
	} else if (item->meaning->kind == KPROF_KIND_SPAN) {
		span.begin_ns = item->time_ns;
		span.end_ns = UINT64_MAX;
	} else {
		return true;
	}
	taking->ret = growing_add(taking->spans, &span);
	return !taking->ret;
}

/* By thread, begin and end. */
static gint compare(gconstpointer a, gconstpointer b)
{
	const struct trace_span *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Leaves out the begins whose ends are there, which stand before them. */
static void join(struct growing *spans)
{
	guint kept = 0, i;

	for (i = 0; i < spans->len; i++) {
		const struct trace_span span = g_array_index(spans, struct trace_span, i);
		const struct trace_span *last =
			kept ? &g_array_index(spans, struct trace_span, kept - 1) : NULL;

		if (last && span.end_ns == UINT64_MAX && last->pid == span.pid && last->tid == span.tid &&
			last->begin_ns == span.begin_ns)
			continue;
		g_array_index(spans, struct trace_span, kept++) = span;
	}
	growing_cut(spans, kept);
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
	taking.spans = growing_create(sizeof(struct trace_span));
	merge = merge_create(snapshot);
	if (!merge)
		taking.ret = -ENOMEM;
	else
		(void)merge_each(merge, see, &taking, &sums); /* taking.ret is the reason */
	merge_destroy(merge);
	snapshot_destroy(snapshot);
	if (taking.ret) {
		growing_destroy(taking.spans);
		return taking.ret;
	}
	growing_sort(taking.spans, compare);
	join(taking.spans);
	*spans = taking.spans;
	return 0;
}
