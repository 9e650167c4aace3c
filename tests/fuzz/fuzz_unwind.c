/* SPDX-License-Identifier: MIT */
/*
 * symbolizer/unwind with rows that a parser sent and a stack that a program had: nothing beyond the
 * copy is read (the sanitizers see to that), and steps end. The input: a row, and behind it the
 * stack.
 */
#include "tests/fuzz/fuzz.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/unwind.h"

#define STEPS_MAX 100
#define REGS 17 /* of x86_64 */
#define STACK_AT 0x7ffc0000u
#define RSP 7
#define RA 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bytes = offsetof(struct unwind_row, ops);
	uint64_t regs[REGS] = { 0 };
	struct unwind unwind;
	struct unwind_row row;
	int steps;

	if (size < bytes)
		return 0;
	memset(&row, 0, sizeof(row));
	memcpy(&row, data, bytes);
	if (row.op_count > UNWIND_ROW_OPS_MAX || size < unwind_row_bytes(&row))
		return 0;
	bytes = unwind_row_bytes(&row);
	memcpy(&row, data, bytes);
	if (!unwind_row_is_sound(&row, bytes))
		return 0;
	regs[RSP] = STACK_AT;
	regs[RA] = 0x401000;
	FUZZ_CHECK(unwind_begin(&unwind, EM_X86_64, regs, REGS, data + bytes, (uint32_t)(size - bytes)));
	for (steps = 0; steps < STEPS_MAX && unwind_step(&unwind, &row) == UNWIND_CALLER; steps++)
		;
	while (steps++ < STEPS_MAX && unwind_step_by_frame_pointer(&unwind) == UNWIND_CALLER)
		;
	return 0;
}

/* CFA = rsp + 16, the return address below it; with an expression in the second one. */
bool fuzz_seed(unsigned int number, GByteArray *out)
{
	struct unwind_row row = {.machine = EM_X86_64, .return_reg = RA, .reg_count = REGS};
	uint64_t stack[32];
	unsigned int i;

	if (number > 1)
		return false;
	for (i = 0; i < REGS; i++)
		row.regs[i].rule = UNWIND_ROW_SAME;
	row.cfa = (struct unwind_row_value){.rule = UNWIND_ROW_REGISTER, .reg = RSP, .number = 16};
	row.regs[RA] = (struct unwind_row_value){.rule = UNWIND_ROW_AT_CFA, .number = -8};
	if (number) {
		row.op_count = 2;
		row.ops[0] = (struct unwind_row_op){.atom = 0x77, .number = 8}; /* DW_OP_breg7 */
		row.ops[1] = (struct unwind_row_op){.atom = 0x06};              /* DW_OP_deref */
		row.cfa = (struct unwind_row_value){.rule = UNWIND_ROW_EXPRESSION, .count = 2};
	}
	for (i = 0; i < G_N_ELEMENTS(stack); i++)
		stack[i] = i % 2 ? 0x401000 + i : STACK_AT + 8 * i;
	g_byte_array_append(out, (const guint8 *)&row, (guint)unwind_row_bytes(&row));
	g_byte_array_append(out, (const guint8 *)stack, sizeof(stack));
	return true;
}
