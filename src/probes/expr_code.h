/* SPDX-License-Identifier: MIT */
/*
 * Expressions (expr.h) as instructions, for filters of kernel events and of samples. Functions of
 * the caller load and compare names. One thread at a time for each code.
 */
#ifndef KPROFS_PROBES_EXPR_CODE_H
#define KPROFS_PROBES_EXPR_CODE_H

#include <stdint.h>

#include "bpf/code.h"
#include "probes/expr.h"

/* `name` is the value that expr_resolve() gave. R1 to R5 are lost, the other registers stay. */
struct expr_names {
	/* R0 = the value of a name that is a number */
	void (*load)(void *arg, struct code *code, uint64_t name);
	/* R0 = 1 if the value of a name that is a string is `text`, else 0 */
	void (*compare)(void *arg, struct code *code, uint64_t name, const char *text);
	void *arg;
};

/* R0 = the value of the expression, which was checked. R1 to R5 are lost. */
void expr_code_value(const struct expr *expr, const struct expr_names *names, struct code *code);

/*
 * R0 = 1 if the string at an offset from a register is `text`, else 0. The caller has checked that there is
 * room for the text and its NUL (expr_each_text).
 */
void expr_code_compare(struct code *code, int reg, int offset, const char *text);

#endif
