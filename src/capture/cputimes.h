/* SPDX-License-Identifier: MIT */
/*
 * The times of the CPUs during the runs of a capture, from its CPU_TIMES records. The latest record of
 * each run and CPU counts; the runs are summed. One thread at a time; thread-safe once filled.
 */
#ifndef KPROFS_CAPTURE_CPUTIMES_H
#define KPROFS_CAPTURE_CPUTIMES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "kprof/records.h"

/* Records of other CPUs are not counted: twice what Linux can be built for. */
#define CPUTIMES_CPUS_MAX 16384

enum cputimes_state {
	CPUTIMES_USER,
	CPUTIMES_KERN,
	CPUTIMES_IRQ,
	CPUTIMES_IDLE,
	CPUTIMES_STEAL,
	CPUTIMES_STATES,
};

struct cputimes_sum {
	uint64_t measured_ns; /* the length of the runs together */
	uint64_t ns[CPUTIMES_STATES];
};

struct cputimes {
	GArray *rows; /* by CPU */
};

void cputimes_init(struct cputimes *times);
void cputimes_fini(struct cputimes *times);

/* section: of the capture, in ascending order; the runs of a section are in order of time. */
void cputimes_add(struct cputimes *times, uint32_t section, const struct kprof_rec_cpu_times *record);

/* The number of the highest CPU with times, plus 1. */
uint32_t cputimes_cpus(const struct cputimes *times);
/* Returns false if the CPU has no times. */
bool cputimes_sum(const struct cputimes *times, uint32_t cpu, struct cputimes_sum *sum);

#endif
