/* SPDX-License-Identifier: MIT */
/* The kernel's events of one CPU in a merge: for merge.c; merge_kernel.c has the functions. */
#ifndef KPROFS_TRACE_MERGE_STATE_H
#define KPROFS_TRACE_MERGE_STATE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/kernel.h"

struct merge_item;
struct snapshot;

/* The longest name of a task, with its NUL. */
#define MERGE_KERNEL_NAME_BYTES (KERNEL_COMM_BYTES + 1)

/*
 * A program that is interrupted between the time of its event and its place in the ring has a place
 * behind the events of the interrupt, which are later. So many of a CPU are put into order; more than
 * an interrupt has.
 */
#define MERGE_KERNEL_WINDOW 64u

struct merge_kernel_stream {
	const struct rings_copy *copy;
	uint64_t at; /* of the first record that is not in the window */
	/* the next ones by their times, from `head` on, round */
	const struct kernel_record *window[MERGE_KERNEL_WINDOW];
	uint32_t head, count;
	const struct kernel_record *record;
	const struct kernel_meaning *meaning; /* NULL: the record means nothing */
};

void merge_kernel_begin(const struct snapshot *snapshot, uint32_t i, struct merge_kernel_stream *stream);
/* Moves to the next record and sets its time. False: there is none. */
bool merge_kernel_next(const struct snapshot *snapshot, struct merge_kernel_stream *stream,
	uint64_t *time_ns);
/* Sets the item to the stream's record; its arguments are put into `args`, its program into `name`. */
void merge_kernel_show(const struct snapshot *snapshot, const struct merge_kernel_stream *stream,
	char name[MERGE_KERNEL_NAME_BYTES], GString *args, struct merge_item *item);

#endif
