/* SPDX-License-Identifier: MIT */
/*
 * The programs that measure: their instructions, made for the running kernel. cells.h says what they do.
 *
 * Private to src/acct.
 */
#ifndef KPROFS_ACCT_TIMES_CODE_H
#define KPROFS_ACCT_TIMES_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/code.h"
#include "bpf/types.h"

/* What the instructions need to know of the kernel and of the maps. */
struct times_code {
	int cells;     /* descriptor of an array with one value: a struct cell for each CPU */
	uint32_t cpus; /* how many */
	int tasks;     /* descriptor of the table of tasks */
	bool divided;  /* system calls are measured too */
	uint32_t pid, tgid, name, state, flags; /* offsets in task_struct */
	uint32_t call; /* offset in pt_regs of the number of the system call, `divided` only */
	uint32_t call_bytes;
	bool has_prev_state; /* sched_switch has it as an argument, Linux 5.18 */
	int64_t bringup_state; /* of cpuhp_enter: the CPU is about to start */
};

/* -EOPNOTSUPP with a sentence if the kernel lacks something. The descriptors are set by the caller. */
int times_code_init(struct times_code *env, const struct types *types, bool divided, struct err *err);

/* Each appends one program for the tracepoints that its name says. */
void times_code_irq_entry(const struct times_code *env, struct code *code);
void times_code_irq_exit(const struct times_code *env, struct code *code);
void times_code_softirq_entry(const struct times_code *env, struct code *code);
void times_code_softirq_exit(const struct times_code *env, struct code *code);
void times_code_switch(const struct times_code *env, struct code *code);
void times_code_wakeup(const struct times_code *env, struct code *code);
void times_code_wakeup_new(const struct times_code *env, struct code *code);
void times_code_migrate(const struct times_code *env, struct code *code);
void times_code_exec(const struct times_code *env, struct code *code);
void times_code_cpu_starts(const struct times_code *env, struct code *code);
void times_code_call_enter(const struct times_code *env, struct code *code);
void times_code_call_exit(const struct times_code *env, struct code *code);
/* Adds the time of the state in progress, for a program that is run on a CPU without a tracepoint. */
void times_code_look(const struct times_code *env, struct code *code);

#endif
