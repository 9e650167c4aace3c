/* SPDX-License-Identifier: MIT */
/*
 * The times in which spans of programs (KPROF_SPAN) were open, as far as the trace still has their ends or
 * their begins. Thread-safe.
 */
#ifndef KPROFS_TRACE_TRACE_SPANS_H
#define KPROFS_TRACE_TRACE_SPANS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"
#include "base/growing.h"

struct readings;

struct trace_span {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end_ns is UINT64_MAX if it has not ended, */
				   /* or when its program was seen to end, or to execute another one */
	uint32_t pid, tid;
};

/*
 * All spans with this label, for `reader` (a user id), sorted by thread and begin, as an array of struct
 * trace_span that the caller destroys. Returns -EINTR if it was cancelled, -ENOMEM. Blocks for as long as
 * copying the trace takes.
 */
int trace_spans_take(struct readings *readings, uid_t reader, const char *label, const struct cancel *cancel,
	struct growing **spans);

#endif
