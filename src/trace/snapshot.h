/* SPDX-License-Identifier: MIT */
/*
 * What the trace holds at one moment: copies of the programs' chunks and of the messages, to be
 * merged and shown at the reader's leisure.
 *
 * For each program an end is fixed: what its pool says of itself when its turn comes. Chunks are
 * copied oldest first, since those are the next to be overwritten; one that is overtaken all the
 * same is lost to this reading and counted. Copies of all readings together are bounded; beyond
 * that users and their programs get equal parts of what there is (shares.h), each of them its
 * newest events; how many are left out is known.
 *
 * A snapshot belongs to one reader at a time. Taking one blocks for as long as copying takes;
 * nobody that writes waits for it.
 */
#ifndef KPROFS_TRACE_SNAPSHOT_H
#define KPROFS_TRACE_SNAPSHOT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"
#include "base/growing.h"
#include "ring/read.h"
#include "producers/producers.h"
#include "trace/clock_map.h"
#include "trace/trace.h"

/* Copies of all readings together, unless the mount says otherwise. */
#define SNAPSHOT_BYTES_DEFAULT ((uint64_t)64 << 20)
#define SNAPSHOT_BYTES_MIN ((uint64_t)1 << 20)
#define SNAPSHOT_BYTES_MAX ((uint64_t)4 << 30)

/* What all readings share: the bound on their copies. Thread-safe. */
struct snapshot_budget;
/*
 * owner: like root in no other bound; of other users each may have half, all together three
 * fourths.
 */
struct snapshot_budget *snapshot_budget_create(uint64_t max_bytes, uid_t owner);
void snapshot_budget_destroy(struct snapshot_budget *budget);
uint64_t snapshot_budget_max(const struct snapshot_budget *budget);
uint64_t snapshot_budget_used(struct snapshot_budget *budget);

/* A stretch of a chunk that was copied. */
struct snapshot_chunk {
	const struct producer *producer;
	struct ring_extent extent;
	char *data;    /* from the chunk's start up to extent.end */
	uint32_t from; /* the stretch begins here */
	/* what a walk knows when it comes there; from 0: nothing */
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
	uid_t reader;	      /* for whom */
	uint64_t bytes;	      /* taken from the budget */
	GPtrArray *producers; /* with references: names and formats are theirs */
	struct growing *chunks; /* of struct snapshot_chunk, by program and age */
	GString *text;	      /* lines of messages */
	struct growing *messages; /* of struct snapshot_message */
	GHashTable *unknown;  /* of int64: serial << 16 | id that had no meaning when it was looked at */
	struct clock_map_map *map;
	uint64_t cleared_ns; /* events stamped before are not shown */
	uint64_t left_out;   /* events for which there was no room */
	uint64_t overtaken;  /* events that were overwritten while they were copied */
};

/* An empty one; takes the array. */
struct snapshot *snapshot_create(struct snapshot_budget *budget, uid_t reader,
	GPtrArray *producers, uint64_t cleared_ns);
void snapshot_destroy(struct snapshot *snapshot);

/*
 * Copies what all its programs hold, and the messages of `trace` (NULL: none). -EINTR: `cancelled`
 * (NULL: never) said so; -ENOMEM. Programs whose memory can't be read are passed over.
 */
int snapshot_take(struct snapshot *snapshot, struct clock_map *stamps, struct trace *trace,
	const struct cancel *cancel);

/*
 * For who collects stretches one by one (follow.c): room for so many bytes, or -ENOMEM. What a
 * chunk is given to the snapshot is counted with it; scratch is of 2 * KPROF_CHUNK_BYTES_MAX.
 */
int snapshot_reserve(struct snapshot *snapshot, uint64_t bytes);
/* Takes the memory of chunk->data, for which there is room; -ENOMEM: it is still the caller's. */
int snapshot_add(struct snapshot *snapshot, const struct snapshot_chunk *chunk);
/* Forgets the chunks from `first` to before `end`; their events are left out. */
void snapshot_leave_out(struct snapshot *snapshot, guint first, guint end);

/* The time of a stamp of this program, CLOCK_MONOTONIC. */
static inline uint64_t snapshot_ns(const struct snapshot *snapshot,
	const struct producer *producer, uint64_t stamp)
{
	return producer->reader.layout.clock == KPROF_CLOCK_COUNTER
		       ? clock_map_map_ns(snapshot->map, stamp)
		       : stamp;
}

#endif
