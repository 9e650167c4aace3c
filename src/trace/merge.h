/* SPDX-License-Identifier: MIT */
/*
 * A snapshot's events and messages in the order of their times. Of equal times the messages come
 * first, then the programs as they came, each in the order in which it wrote. The same snapshot
 * gives the same items each time it is gone through.
 *
 * One thread at a time; the snapshot must outlive it.
 */
#ifndef KPROFS_TRACE_MERGE_H
#define KPROFS_TRACE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace_text.h"
#include "trace/snapshot.h"

struct merge;

/* What it points to is the snapshot's. */
struct merge_item {
	uint64_t time_ns;
	const char *message; /* whole lines; NULL: an event */
	size_t message_bytes;
	const struct producer *producer;
	const struct producer_event *meaning;
	struct trace_text_event event;
	const char *args; /* as in the record: of a text with its format in front */
	uint32_t args_bytes;
	uint64_t thread; /* its serial in its program; 0: not known */
	uint64_t number; /* of the event in its slot, unless one before it is torn */
	uint32_t slot;
	uint16_t id; /* below KPROF_ID_FIRST: a text that carried its format */
};

/* Of what has been gone through since the beginning. */
struct merge_sums {
	uint64_t shown;	  /* events handed out */
	uint64_t hidden;  /* cleared, or written before they were known to be off */
	uint64_t unknown; /* nobody said what they mean */
	uint64_t missing; /* begun and not there: torn, or not finished when they were copied */
};

/* NULL: there is not enough memory. */
struct merge *merge_create(const struct snapshot *snapshot);
void merge_destroy(struct merge *merge);
/* false: there is no more. */
bool merge_next(struct merge *merge, struct merge_item *item);
void merge_restart(struct merge *merge);
/*
 * All messages and events in any order, which is quicker; sums are theirs. Then restarts. -EINTR:
 * see returned false; it is only good to be destroyed then.
 */
int merge_each(struct merge *merge, bool (*see)(void *arg, const struct merge_item *item),
	void *arg, struct merge_sums *sums);
/*
 * The parts of merge_each: all messages, which begins the sums, and the events of a chunk of the
 * snapshot. false: see returned false. merge_restart() afterwards.
 */
bool merge_messages(struct merge *merge, bool (*see)(void *arg, const struct merge_item *item),
	void *arg);
bool merge_chunk(struct merge *merge, uint32_t i,
	bool (*see)(void *arg, const struct merge_item *item), void *arg);
void merge_get_sums(const struct merge *merge, struct merge_sums *sums);

/* A line of a message without its header and newline. */
struct merge_line {
	uint32_t cpu;
	const char *text;
	size_t bytes;
};
/*
 * The one that begins at *at of the message, which goes on behind it. false: none does, as at its
 * end.
 */
bool merge_next_line(const struct merge_item *item, size_t *at, struct merge_line *line);

/* Whether an event may be seen, whenever it was written, and what it means. */
enum merge_sight { MERGE_SHOWN, MERGE_HIDDEN, MERGE_UNKNOWN };
enum merge_sight merge_look(const struct producer *producer, const struct ring_record *record,
	const struct producer_event **meaning);

#endif
