/* SPDX-License-Identifier: MIT */
/* The operators of two numbers as instructions, for programs of probes/ and filters of kernel events. */
#ifndef KPROFS_PROBES_OPERATORS_H
#define KPROFS_PROBES_OPERATORS_H

#include <stdbool.h>

#include "bpf/code.h"

/* The jump of an operator that compares; -1 of others. */
int operators_jump(int operator, bool is_signed);
/* R0 = R0 operator R1, of a comparison 1 or 0. R1 and R2 are lost. */
void operators_emit(struct code *code, int operator, bool is_signed);

#endif
