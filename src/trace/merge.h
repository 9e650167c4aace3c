/* SPDX-License-Identifier: MIT */
/*
 * A snapshot's events and messages, sorted by time. Of equal times the messages come first, then
 * the producers in the order in which they attached, each in the order in which it wrote. The same
 * snapshot gives the same items each time.
 *
 * One thread at a time; the snapshot must outlive it.
 */
#ifndef KPROFS_TRACE_MERGE_H
#define KPROFS_TRACE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/merge_state.h"
#include "trace/snapshot.h"
#include "trace/trace_text.h"

struct merge;

/*
 * The id of the kernel's events: only `meaning` tells what they are, since the records of one event can have
 * different formats. That of a call which failed has another one than that of a call which did not.
 */
#define MERGE_ID_OF_MEANING 0xfffeu

#define MERGE_NO_UID ((uid_t)-1)

/* Whose event it is. */
struct merge_program {
	uint64_t serial; /* of a producer; of a process with kernel events its own, see merge_kernel.c */
	pid_t pid;
	uid_t uid; /* MERGE_NO_UID: not known, as of kernel events */
	const char *name;
	uint64_t ended_ns; /* when it was seen to end, or to execute another program; 0: not known */
};

/*
 * All pointers are into the snapshot; those of a kernel event, and the arguments of the end of a span, are
 * valid until the next item.
 */
struct merge_item {
	uint64_t time_ns;
	const char *message; /* whole lines; NULL for an event */
	size_t message_bytes;
	struct merge_program program;
	const struct producer_event *meaning;
	struct trace_text_event event;
	const char *args; /* as in the record: a text has its format before its arguments */
	uint32_t args_bytes;
	uint64_t thread; /* serial of the thread in its process; 0 if it is not known */
	uint64_t number; /* of the event in its slot; not exact after a torn event */
	uint32_t slot;
	bool is_span; /* it lasted for duration_ns, and ended at time_ns */
	uint64_t duration_ns;
	/* below KPROF_ID_FIRST: a text that carries its format; or MERGE_ID_OF_MEANING */
	uint16_t id;
};

/* Events since the beginning of the merge. */
struct merge_sums {
	uint64_t shown;	  /* events handed out */
	uint64_t hidden;  /* cleared, or written while their switch-off was not known yet */
	uint64_t unknown; /* the producer did not say what they mean */
	uint64_t missing; /* begun and not in the copy: torn, or still uncommitted */
};

/* NULL if there is not enough memory. */
struct merge *merge_create(const struct snapshot *snapshot);
void merge_destroy(struct merge *merge);
/* Returns false after the last item. */
bool merge_next(struct merge *merge, struct merge_item *item);
void merge_restart(struct merge *merge);
/*
 * Calls `see` with all messages and events in any order, which is faster than merge_next; *sums is
 * of all of them. Then restarts. Returns -EINTR if `see` returned false; the merge can then only be
 * destroyed.
 */
int merge_each(struct merge *merge, bool (*see)(void *arg, const struct merge_item *item),
	void *arg, struct merge_sums *sums);
/* Of the items since the beginning, or the last restart. */
void merge_get_sums(const struct merge *merge, struct merge_sums *sums);

/*
 * The messages, or the events of single chunks, where their order does not matter. Several threads may
 * each have a walk of the same snapshot, if no thread changes the snapshot meanwhile. Each walk finds
 * out for itself which ids are unknown, beyond those of the snapshot.
 */
struct merge_walk {
	const struct snapshot *snapshot;
	GHashTable *unknown; /* as in struct snapshot */
	GString *args;	     /* of the kernel event or end of a span that is shown */
	char name[MERGE_KERNEL_NAME_BYTES]; /* its program */
	struct merge_sums sums;
};

void merge_walk_init(struct merge_walk *walk, const struct snapshot *snapshot);
void merge_walk_fini(struct merge_walk *walk);
/* Calls `see` with all messages. Returns false if `see` returned false. */
bool merge_walk_messages(const struct merge_walk *walk,
	bool (*see)(void *arg, const struct merge_item *item), void *arg);
/*
 * Calls `see` with the events of one chunk of the snapshot, and adds to the sums. Texts that carry
 * their format are not split (trace_text.h), which saves time where only their length is needed.
 * Returns false if `see` returned false.
 */
bool merge_walk_chunk(struct merge_walk *walk, uint32_t i,
	bool (*see)(void *arg, const struct merge_item *item), void *arg);
/*
 * The same for the kernel's events of one CPU; `i` is below snapshot->kernel->len. Only one walk at a
 * time may do this: it adds to snapshot->kernel_events.
 */
bool merge_walk_cpu(struct merge_walk *walk, uint32_t i,
	bool (*see)(void *arg, const struct merge_item *item), void *arg);

/* A line of a message without its header and newline. */
struct merge_line {
	uint32_t cpu;
	const char *text;
	size_t bytes;
};
/*
 * Finds the line that begins at *at of the message, and moves *at behind it. Returns false if no
 * line begins there, as at the end of the message.
 */
bool merge_next_line(const struct merge_item *item, size_t *at, struct merge_line *line);

/* Whether an event is shown, apart from its time, and what it means. */
enum merge_visibility { MERGE_SHOWN, MERGE_HIDDEN, MERGE_UNKNOWN };
enum merge_visibility merge_classify(const struct producer *producer,
	const struct ring_record *record, const struct producer_event **meaning);

#endif
