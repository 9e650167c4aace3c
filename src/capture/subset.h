/* SPDX-License-Identifier: MIT */
/*
 * A capture cut down to one process and its descendants: which of its records belong there.
 *
 * Two passes over the records, since a process may be told of after its child: subset_learn() takes
 * what is said about forks, subset_wants() answers for each record in turn. What the remaining
 * samples need is kept: the kernel's mappings, events, periods, threads; and every loss, since
 * nobody can say whose samples those were.
 *
 * A pid belongs while the last FORK of it came from a process that belonged at that time. One
 * thread at a time.
 */
#ifndef KPROFS_CAPTURE_SUBSET_H
#define KPROFS_CAPTURE_SUBSET_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/decode.h"
#include "capture/profile.h"

struct subset_counts {
	uint64_t samples;   /* that belong */
	uint64_t others;    /* that don't */
	uint64_t gone;	    /* of tasks that were gone already: whose is not known. Not kept */
	uint64_t processes; /* that belong, with or without samples */
	uint64_t lost[PROFILE_LOST_REASONS]; /* samples, by reason; [0] is any other */
};

struct subset;

/*
 * root: the process; KPROF_PID_KERNEL: everything belongs. begin: of the records in front of this
 * offset only what tells of processes and events is wanted, since the samples are of an earlier
 * run.
 */
struct subset *subset_create(uint32_t root, uint64_t begin);
void subset_destroy(struct subset *subset);

void subset_learn(struct subset *subset, const struct decode_record *record);
/* After the last subset_learn(), for each record once and in order. Counts it. */
bool subset_wants(struct subset *subset, const struct decode_record *record);

const struct subset_counts *subset_counts(const struct subset *subset);

#endif
