/* SPDX-License-Identifier: MIT */
/* The measured times of one CPU, as exact.h has them and rows take them. */
#ifndef KPROFS_ACCT_EXACT_TIMES_H
#define KPROFS_ACCT_EXACT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum exact_state {
	EXACT_IRQ,
	EXACT_SOFTIRQ,
	EXACT_IDLE,
	EXACT_TASK, /* with `divided` only the kernel for a task */
	EXACT_USER, /* 0 unless `divided` */
	EXACT_STATES
};

struct exact_times {
	uint64_t at_ns; /* CLOCK_MONOTONIC; the times of all states add up to a constant less */
	uint64_t ns[EXACT_STATES];
	bool divided; /* the boundary of system calls was measured */
	bool counted; /* cycles were: since measuring began */
	uint64_t user_cycles, kern_cycles;
};

#endif
