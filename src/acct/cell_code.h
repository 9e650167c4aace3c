/* SPDX-License-Identifier: MIT */
/*
 * Instructions that change the cell of a CPU (cells.h), the common parts of the programs that measure. Each
 * function appends some instructions.
 *
 * Registers: R6 the cell of this CPU, R7 the time, R8 a state; R1 to R5 are overwritten.
 *
 * Private to src/acct.
 */
#ifndef KPROFS_ACCT_CELL_CODE_H
#define KPROFS_ACCT_CELL_CODE_H

#include <stddef.h>

#include "acct/cells.h"
#include "acct/times_env.h"
#include "bpf/code.h"

#define CELL(member) ((int)offsetof(struct cell, member))
/* The offset of argument i of a tracepoint. */
#define CELL_CODE_ARG(i) (8 * (i))

/* R6 = the cell of the CPU whose number is in R0; without one the program jumps to the label `end`. */
void cell_code_enter_of(const struct times_env *env, struct code *code, int end);
/* The same for the CPU that runs the program. */
void cell_code_enter(const struct times_env *env, struct code *code, int end);
/* Sets the label `end`: the program returns 0. */
void cell_code_end(struct code *code, int end);

/* R7 = now */
void cell_code_read_clock(struct code *code);
/* From now (R7) on the CPU is in the state in R8. R1 = the state until now, R2 = the time in it. */
void cell_code_exchange(struct code *code);
/* ns[R1] += R2 */
void cell_code_charge(struct code *code);
/* The CPU changes to the state in R8, now. */
void cell_code_change(struct code *code);
/* Adds 1 to the member at this offset of the cell. */
void cell_code_count(struct code *code, int offset);

#endif
