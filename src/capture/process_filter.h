/* SPDX-License-Identifier: MIT */
/*
 * Filters the records of a capture for processes and their descendants, or for threads.
 *
 * It takes two passes over the records, since a process may be announced after its child:
 * process_filter_learn() reads the forks, then process_filter_matches() decides for each record.
 * Records that the remaining samples need are kept: the kernel's mappings, events, periods,
 * threads, and what is known of processes that woke others, for the stacks of wakers. Every loss is
 * kept too, since it is not known which process the lost samples were of.
 *
 * A pid belongs to the filter while its last FORK came from a process that belonged at that time.
 * One thread at a time.
 */
#ifndef KPROFS_CAPTURE_PROCESS_FILTER_H
#define KPROFS_CAPTURE_PROCESS_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/decode.h"
#include "capture/profile.h"

struct process_filter_counts {
	uint64_t samples;   /* that belong */
	uint64_t others;    /* that don't */
	uint64_t early;     /* before the time of process_filter_begin_at(); of all processes */
	uint64_t gone;      /* of tasks that had exited: their process is not known. Not kept */
	uint64_t processes; /* that belong, with or without samples */
	uint64_t lost[PROFILE_LOST_REASONS]; /* samples, by reason; [0] is any other */
};

struct process_filter;

/* As the root: only processes that are added belong to the filter. */
#define PROCESS_FILTER_NO_ROOT KPROF_PID_GONE

/*
 * root: the process; KPROF_PID_KERNEL: everything belongs. begin: of the records before this offset
 * only those about processes and events are kept, since the samples are of an earlier run.
 */
struct process_filter *process_filter_create(uint32_t root, uint64_t begin);
void process_filter_destroy(struct process_filter *filter);

/* Before the first learn: another root; a thread, without its process; the time of the first sample. */
void process_filter_add_process(struct process_filter *filter, uint32_t pid);
void process_filter_add_thread(struct process_filter *filter, uint32_t tid);
void process_filter_begin_at(struct process_filter *filter, uint64_t time_ns);

void process_filter_learn(struct process_filter *filter, const struct decode_record *record);
/*
 * Returns whether to keep the record, and counts it. Called once for each record, in order, after
 * the last learn.
 */
bool process_filter_matches(struct process_filter *filter, const struct decode_record *record);

const struct process_filter_counts *process_filter_counts(const struct process_filter *filter);

#endif
