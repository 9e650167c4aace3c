/* SPDX-License-Identifier: MIT */
/*
 * The programs that measure the states of CPUs: their instructions, made for the running kernel. cells.h says
 * what they do; task_code.h has the programs for tasks.
 *
 * Private to src/acct.
 */
#ifndef KPROFS_ACCT_TIMES_CODE_H
#define KPROFS_ACCT_TIMES_CODE_H

#include "acct/times_env.h"
#include "bpf/code.h"

/* Each appends one program for the tracepoints that its name says. */
void times_code_irq_entry(const struct times_env *env, struct code *code);
void times_code_irq_exit(const struct times_env *env, struct code *code);
void times_code_softirq_entry(const struct times_env *env, struct code *code);
void times_code_softirq_exit(const struct times_env *env, struct code *code);
void times_code_cpu_starts(const struct times_env *env, struct code *code);
void times_code_call_enter(const struct times_env *env, struct code *code);
void times_code_call_exit(const struct times_env *env, struct code *code);
/* Adds the time of the state in progress, for a program that is run on a CPU without a tracepoint. */
void times_code_look(const struct times_env *env, struct code *code);

#endif
