/* SPDX-License-Identifier: MIT */
/*
 * A snapshot: copies of the producers' chunks and of the messages at one moment, which are merged
 * and shown later.
 *
 * For each pool the end is fixed when its index is copied. Chunks are copied oldest first, since
 * those are the next to be overwritten. A chunk that is overwritten during the copy is missing in
 * this reading, and its events are counted. The copies of all readings together are bounded. If the
 * bound is too small, users and their producers get equal parts of it (fair_share.h), each its
 * newest events, and the events left out are counted.
 *
 * A snapshot belongs to one reader at a time. Taking one blocks for as long as copying takes; no
 * producer waits for it. Several threads copy if there is much to copy (snapshot_take.c).
 */
#ifndef KPROFS_TRACE_SNAPSHOT_H
#define KPROFS_TRACE_SNAPSHOT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"
#include "base/growing.h"
#include "kernel/kernel.h"
#include "kernel/kernel_names.h"
#include "ring/read.h"
#include "producers/producers.h"
#include "trace/clock_map.h"
#include "trace/snapshot_budget.h"
#include "trace/trace.h"

/* The name of the threads that help to copy and to measure what a reading holds. */
#define SNAPSHOT_THREADS "kp-snapshot"

/* A copied part of a chunk. */
struct snapshot_chunk {
	const struct producer *producer;
	struct ring_extent extent;
	char *data;    /* from the chunk's start up to extent.end */
	uint32_t from; /* the part begins here */
	/* state of the walk at `from`; unused if `from` is 0 */
	struct kprof_run run;
	uint64_t number, stamp;
};

/* A message, or several of one time. */
struct snapshot_message {
	uint64_t time_ns;
	size_t end; /* of its lines, in text */
};

struct snapshot {
	struct snapshot_budget *budget;
	uid_t reader;	      /* the user who reads */
	uint64_t bytes;	      /* taken from the budget */
	GPtrArray *producers; /* with references: they own names and formats */
	struct growing *chunks; /* of struct snapshot_chunk, by program and age */
	GString *text;	      /* lines of messages */
	struct growing *messages; /* of struct snapshot_message */
	struct kernel *source;	/* of the kernel's events; NULL if there is none */
	GArray *kernel;	      /* of struct rings_copy: what the CPUs' rings held */
	struct kernel_names *names; /* of addresses in these records; NULL if none were looked for, */
	bool has_names;	      /* and whether they are the snapshot's */
	GHashTable *kernel_events; /* kernel_meaning -> producer_event, of those that were shown */
	GHashTable *unknown; /* of int64: serial << 16 | id without a meaning at the first look */
	struct clock_map_copy *clock;
	uint64_t cleared_ns; /* events before this time are not shown */
	uint64_t left_out;   /* events for which there was no room */
	uint64_t overwritten;  /* events that were overwritten while they were copied */
};

/* An empty one; takes ownership of the array. `kernel` may be NULL; it must outlive the snapshot. */
struct snapshot *snapshot_create(struct snapshot_budget *budget, uid_t reader,
	GPtrArray *producers, struct kernel *kernel, uint64_t cleared_ns);
void snapshot_destroy(struct snapshot *snapshot);

/*
 * Copies what all its producers hold, and the messages of `trace`, which may be NULL. Returns
 * -EINTR if it was cancelled, or -ENOMEM. Producers whose pool can't be read are skipped.
 */
int snapshot_take(struct snapshot *snapshot, struct clock_map *clock_map, struct trace *trace,
	const struct cancel *cancel);

/*
 * For follow.c, which adds parts of chunks one by one: takes `bytes` from the budget for the chunk
 * that is added next, or -ENOMEM.
 */
int snapshot_reserve(struct snapshot *snapshot, uint64_t bytes);
/*
 * Takes ownership of chunk->data, whose bytes were reserved. Returns -ENOMEM; the caller then still
 * owns it.
 */
int snapshot_add(struct snapshot *snapshot, const struct snapshot_chunk *chunk);
/* Frees the chunks from `first` on. The caller counts their events and bytes. */
void snapshot_cut(struct snapshot *snapshot, guint first);
/*
 * The same for the kernel's events of one CPU from position `from` on; *copy is then the snapshot's. Returns
 * -ENOMEM; then there is no copy, and the caller counts what is missing.
 */
int snapshot_copy_ring(struct snapshot *snapshot, struct rings *rings, uint32_t cpu, uint64_t from,
	bool skip, struct rings_copy **copy);
/*
 * Adds calls under way (struct begun_thread), without those whose return is in the copies that there
 * are so far; what finds no memory is left out. Changes the array.
 */
void snapshot_add_begun(struct snapshot *snapshot, GArray *threads);
/*
 * Finds names for addresses that programs of probes/ print. Without it they are numbers. It may block for a
 * second: not in a worker.
 */
void snapshot_find_names(struct snapshot *snapshot, const struct cancel *cancel);
/* Frees the chunks from `first` to before `end`; their events count as left out. */
void snapshot_leave_out(struct snapshot *snapshot, guint first, guint end);

/* The time of a stamp of this producer, CLOCK_MONOTONIC. */
static inline uint64_t snapshot_ns(const struct snapshot *snapshot,
	const struct producer *producer, uint64_t stamp)
{
	return producer->reader.layout.clock == KPROF_CLOCK_COUNTER
		       ? clock_map_copy_ns(snapshot->clock, stamp)
		       : stamp;
}

#endif
