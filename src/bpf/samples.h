/* SPDX-License-Identifier: MIT */
/*
 * The samples that a program takes: it writes them to perf events of the kind BPF_OUTPUT, one for each
 * CPU, which add stacks. The programs come and go, and so do the perf events; what both refer to is
 * counted here. All functions but the last put may be called in any thread.
 */
#ifndef KPROFS_BPF_SAMPLES_H
#define KPROFS_BPF_SAMPLES_H

#include <stdint.h>

#include "base/err.h"
#include "bpf/code.h"

struct samples;

/* The counter of one CPU, in steps of a cache line. */
struct samples_slot {
	uint64_t taken; /* for which there was a perf event, also those that did not fit into its ring */
	uint64_t refused; /* by the condition */
	uint64_t reserved[6];
};

/* Whether a sample is taken, as a part of the program. */
struct samples_condition {
	/* Appends instructions that go to the label `refused` unless it is. R0 to R5 and R7 are lost. */
	void (*emit)(const void *arg, struct code *code, int refused);
	void (*destroy)(void *arg);
	void *arg;
};

/* The caller's reference. -ENOMEM, -EPERM and others of map_create() */
int samples_create(struct samples **samples, struct err *err);
/* Once, before a program is made. It is destroyed with the samples. */
void samples_set_condition(struct samples *samples, const struct samples_condition *condition);
struct samples *samples_get(struct samples *samples);
/* NULL is allowed. */
void samples_put(struct samples *samples);

/* What instructions refer to: the perf events by CPU, and an array of struct samples_slot. */
int samples_outputs(const struct samples *samples);
int samples_slots(const struct samples *samples);
/* The number of slots: a power of two. */
uint32_t samples_cpus(const struct samples *samples);

/* Instructions that add to the counter of this CPU. R0 to R2 are lost. */
void samples_emit_count(const struct samples *samples, int32_t by, struct code *code);
/*
 * Instructions that check the condition, if there is one: a sample that it refuses is counted as such, and
 * they go to the label `end`. R0 to R5 and R7 are lost.
 */
void samples_emit_check(const struct samples *samples, struct code *code, int end);

/* Samples of this CPU go to this perf event until it is removed. */
int samples_add_cpu(struct samples *samples, unsigned int cpu, int perf_event);
void samples_remove_cpu(struct samples *samples, unsigned int cpu);
uint64_t samples_taken(const struct samples *samples, unsigned int cpu);
uint64_t samples_refused(const struct samples *samples, unsigned int cpu);

#endif
