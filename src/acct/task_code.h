/* SPDX-License-Identifier: MIT */
/*
 * The programs that measure for each task how long it runs, waits for a CPU and sleeps: their instructions.
 * cells.h says what they do.
 *
 * Private to src/acct.
 */
#ifndef KPROFS_ACCT_TASK_CODE_H
#define KPROFS_ACCT_TASK_CODE_H

#include "acct/times_env.h"
#include "bpf/code.h"

/*
 * Each appends one program: for sched_switch, sched_wakeup, sched_wakeup_new, sched_migrate_task and
 * sched_process_exec.
 */
void task_code_switch(const struct times_env *env, struct code *code);
void task_code_wakeup(const struct times_env *env, struct code *code);
void task_code_wakeup_new(const struct times_env *env, struct code *code);
void task_code_migrate(const struct times_env *env, struct code *code);
void task_code_exec(const struct times_env *env, struct code *code);

#endif
