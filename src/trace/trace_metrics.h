/* SPDX-License-Identifier: MIT */
/*
 * Spans and counters of programs as metrics. The durations of spans are counted when the metrics are read,
 * each once: what programs have overwritten by then, or `clear` has removed, is not counted
 * (trace.overwritten). An end is counted when it is a second old, since an event may still be uncommitted
 * before. Thread-safe; one reading at a time.
 */
#ifndef KPROFS_TRACE_TRACE_METRICS_H
#define KPROFS_TRACE_TRACE_METRICS_H

#include <sys/types.h>

#include "base/cancel.h"
#include "base/openmetrics.h"

struct readings;
struct trace_metrics;

/* Different spans that are counted, and values of counters in one reading: programs choose their names. */
#define TRACE_METRICS_SPANS_MAX	   4096u
#define TRACE_METRICS_COUNTERS_MAX 16384u

struct trace_metrics *trace_metrics_create(void);
/* NULL is allowed. */
void trace_metrics_destroy(struct trace_metrics *metrics);

/*
 * Counts what is new, for `reader` (a user id), and adds the histograms span_seconds{span=...}, the last
 * values program_value{counter=...,program=...,pid=...}, and how many names and values had no room. readings:
 * NULL if there is nothing new. Blocks for as long as copying the trace takes. -EINTR if it was cancelled,
 * -ENOMEM; then nothing was added or counted.
 */
int trace_metrics_add(struct trace_metrics *metrics, struct readings *readings, uid_t reader,
	const struct cancel *cancel, struct openmetrics *out);

#endif
