/* SPDX-License-Identifier: MIT */
/*
 * A capture cut down to one process and its descendants: which of its records belong there.
 *
 * Two passes over the records, since a process may be told of after its child:
 * process_filter_learn() takes what is said about forks, process_filter_wants() answers for each
 * record in turn. What the remaining samples need is kept: the kernel's mappings, events, periods,
 * threads; and every loss, since nobody can say whose samples those were.
 *
 * A pid belongs while the last FORK of it came from a process that belonged at that time. One
 * thread at a time.
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
	uint64_t gone;      /* of tasks that were gone already: whose is not known. Not kept */
	uint64_t processes; /* that belong, with or without samples */
	uint64_t lost[PROFILE_LOST_REASONS]; /* samples, by reason; [0] is any other */
};

struct process_filter;

/*
 * root: the process; KPROF_PID_KERNEL: everything belongs. begin: of the records in front of this
 * offset only what tells of processes and events is wanted, since the samples are of an earlier
 * run.
 */
struct process_filter *process_filter_create(uint32_t root, uint64_t begin);
void process_filter_destroy(struct process_filter *subset);

void process_filter_learn(struct process_filter *subset, const struct decode_record *record);
/* After the last process_filter_learn(), for each record once and in order. Counts it. */
bool process_filter_wants(struct process_filter *subset, const struct decode_record *record);

const struct process_filter_counts *process_filter_counts(const struct process_filter *subset);

#endif
