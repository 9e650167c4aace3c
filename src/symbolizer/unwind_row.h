/* SPDX-License-Identifier: MIT */
/*
 * An unwind row: the rules by which the caller of an address in a program is found. It is one row
 * of the table that DWARF calls call frame information, in a format of fixed size that the parser
 * can send. The terms are DWARF's: the CFA (canonical frame address) is the value of the stack
 * pointer before the call.
 *
 * A received row is not trusted: unwind_row_is_sound() checks it, and unwind.c checks each access.
 */
#ifndef KPROFS_SYMBOLIZER_UNWIND_ROW_H
#define KPROFS_SYMBOLIZER_UNWIND_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWIND_ROW_REGS_MAX 33 /* of AArch64, with the program counter */
/* Operations of all expressions of a row: a signal's frame has two or so for each register. */
#define UNWIND_ROW_OPS_MAX 64

enum unwind_row_rule {
	UNWIND_ROW_UNDEFINED,     /* not known; for the return address: there is no caller */
	UNWIND_ROW_SAME,          /* unchanged */
	UNWIND_ROW_AT_CFA,        /* in memory at the CFA + number */
	UNWIND_ROW_CFA,           /* the CFA + number */
	UNWIND_ROW_REGISTER,      /* register `reg` + number */
	UNWIND_ROW_AT_EXPRESSION, /* in memory at the result of the expression */
	UNWIND_ROW_EXPRESSION,    /* the result of the expression */
	UNWIND_ROW_RULES,
};

struct unwind_row_value {
	uint8_t rule;
	uint8_t reg;
	uint8_t first, count; /* of the expression in ops[] */
	uint32_t reserved;
	int64_t number;
};

/* An operation of DWARF's stack machine: DW_OP_, with its register and number if it has any. */
struct unwind_row_op {
	uint8_t atom;
	uint8_t reg;
	uint8_t reserved[6];
	int64_t number;
};

struct unwind_row {
	uint64_t start, end; /* addresses that the row is for, in the units of the request */
	uint16_t machine;    /* EM_ of ELF */
	uint8_t signal;      /* 1 for a signal frame, whose caller was interrupted and made no call */
	uint8_t return_reg;  /* the register that holds the address in the caller */
	uint8_t reg_count;
	uint8_t op_count;
	uint8_t reserved[2];
	struct unwind_row_value cfa;
	struct unwind_row_value regs[UNWIND_ROW_REGS_MAX]; /* by DWARF's numbers */
	struct unwind_row_op ops[UNWIND_ROW_OPS_MAX];
};

static inline size_t unwind_row_bytes(const struct unwind_row *row)
{
	return offsetof(struct unwind_row, ops) + row->op_count * sizeof(row->ops[0]);
}

static inline bool unwind_row_value_is_sound(
	const struct unwind_row *row, const struct unwind_row_value *value)
{
	return value->rule < UNWIND_ROW_RULES && value->reg < UNWIND_ROW_REGS_MAX &&
	       value->first <= row->op_count && value->count <= row->op_count - value->first;
}

/* Returns whether the `bytes` received at `row` are a well-formed row. */
static inline bool unwind_row_is_sound(const struct unwind_row *row, size_t bytes)
{
	unsigned int i;

	if (bytes < offsetof(struct unwind_row, ops) || row->op_count > UNWIND_ROW_OPS_MAX ||
		bytes != unwind_row_bytes(row) || row->reg_count > UNWIND_ROW_REGS_MAX ||
		row->return_reg >= row->reg_count || !unwind_row_value_is_sound(row, &row->cfa))
		return false;
	for (i = 0; i < row->reg_count; i++)
		if (!unwind_row_value_is_sound(row, &row->regs[i]))
			return false;
	return true;
}

#endif
