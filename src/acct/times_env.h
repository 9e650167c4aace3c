/* SPDX-License-Identifier: MIT */
/*
 * What the programs that measure need to know of the running kernel and of their maps.
 *
 * Private to src/acct.
 */
#ifndef KPROFS_ACCT_TIMES_ENV_H
#define KPROFS_ACCT_TIMES_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/types.h"

struct times_env {
	int cells;     /* descriptor of an array with one value: a struct cell for each CPU */
	uint32_t cpus; /* how many */
	int tasks;     /* descriptor of the table of tasks */
	bool divided;  /* system calls are measured too */
	int pid, tgid, name, state, flags; /* offsets in task_struct */
	int call; /* offset in pt_regs of the number of the system call, `divided` only */
	uint32_t call_bytes;
	bool has_prev_state; /* sched_switch has it as an argument, Linux 5.18 */
	int64_t bringup_state; /* of cpuhp_enter: the CPU is about to start */
};

/* -EOPNOTSUPP with a sentence if the kernel lacks something. The descriptors are set by the caller. */
int times_env_init(struct times_env *env, const struct types *types, bool divided, struct err *err);

#endif
