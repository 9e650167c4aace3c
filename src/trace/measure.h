/* SPDX-License-Identifier: MIT */
/*
 * How many bytes a snapshot makes as text, or as records of one CPU, without making them.
 *
 * The text of each producer is bounded in proportion to its memory, since a format of a few bytes
 * can make lines of thousands of bytes. Older chunks for whose text there is no room are left out.
 */
#ifndef KPROFS_TRACE_MEASURE_H
#define KPROFS_TRACE_MEASURE_H

#include <stdint.h>

#include "base/cancel.h"
#include "trace/snapshot.h"
#include "trace/trace_records.h"

struct measured {
	uint64_t bytes;	  /* of all messages and events, without the header */
	uint64_t unknown; /* events without a meaning */
};

/*
 * Measures, and removes from the snapshot the chunks that are left out; their events are counted in
 * snapshot->left_out. Several threads measure text if there is much of it; they have ended when this
 * returns. Returns -EINTR if it was cancelled, or -ENOMEM. Blocks for as long as measuring takes.
 */
int measure_snapshot(struct snapshot *snapshot, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, struct measured *measured);

#endif
