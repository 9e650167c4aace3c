/* SPDX-License-Identifier: MIT */
/*
 * The source of the event `offcpu`, and of that side of `wall`: programs in the kernel at the switches of
 * tasks. They write samples into perf's rings, each by an event of the kind BPF_OUTPUT (rings.h), so
 * that draining, losses and stacks are those of all events. offcpu_code.h says what they do.
 *
 * Opened and closed by the control thread; the counts may be read by any thread. Programs run from
 * offcpu_attach() until offcpu_close(), or until the server ends; they write a sample only where the
 * perf event of that CPU is enabled.
 */
#ifndef KPROFS_PROF_OFFCPU_H
#define KPROFS_PROF_OFFCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "prof/offcpu_code.h"

struct offcpu;

/* What each sample needs; the defaults of the text of an event. */
struct offcpu_options {
	uint64_t min_ns;
	bool waker;
	bool user;       /* user stacks, or user registers */
	unsigned int depth;
	const struct only *only; /* samples of these tasks; NULL: of all */
};

/* A stack at every switch costs 28..31 % of tbench; at this one hardly anything. */
#define OFFCPU_MIN_US_DEFAULT 100
#define OFFCPU_MIN_US_MAX (3600ull * 1000000)

/*
 * Makes maps and programs: 20..40 ms. -EOPNOTSUPP: the kernel, or the server's rights, do not allow it; the
 * sentence says what is missing. -ENOMEM. proc: NULL for "/proc".
 */
int offcpu_open(const struct offcpu_options *options, const char *proc, struct offcpu **offcpu,
	struct err *err);
/* Attaches them; the sentence of an error as above. */
int offcpu_attach(struct offcpu *offcpu, struct err *err);
/* Detaches them and gives everything back. NULL is allowed. */
void offcpu_close(struct offcpu *offcpu);
/* Whether all that is needed is there, tried by loading the programs. The errors of offcpu_open(). */
int offcpu_try(struct err *err);

/* Samples of this CPU go to this perf event, which is of the kind BPF_OUTPUT, until it is removed. */
int offcpu_add_cpu(struct offcpu *offcpu, unsigned int cpu, int perf_event);
void offcpu_remove_cpu(struct offcpu *offcpu, unsigned int cpu);

/* Counts since offcpu_open(): see struct offcpu_slot. */
struct offcpu_counts {
	uint64_t taken, shorter, unseen, refused;
};
void offcpu_count(const struct offcpu *offcpu, unsigned int cpu, struct offcpu_counts *counts);
/* How often a program did not run, since it was running on that CPU already. */
uint64_t offcpu_missed(const struct offcpu *offcpu);

/*
 * Leaves out the innermost frames of a kernel stack that are the scheduler's own (__schedule, schedule,
 * schedule_timeout, ...): every stack has them. Returns how many; at least one frame is left. NULL: none is.
 */
uint32_t offcpu_scheduler_frames(const struct offcpu *offcpu, const uint64_t *frames, uint32_t count);
/* The same for the stack of a waker: its own program and try_to_wake_up. */
uint32_t offcpu_waking_frames(const struct offcpu *offcpu, const uint64_t *frames, uint32_t count);

#endif
