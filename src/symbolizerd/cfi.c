/* SPDX-License-Identifier: MIT */
/* A file's unwind table (.eh_frame): see cfi.h. */
#include "symbolizerd/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

struct cfi {
	Dwarf_CFI *table; /* libdw's */
	uint16_t machine;
	uint8_t reg_count;
};

static uint8_t count_registers(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return 17;
	case EM_AARCH64:
		return 33;
	default:
		return 0;
	}
}

struct cfi *cfi_open(Elf *elf)
{
	struct cfi *cfi;
	GElf_Ehdr head;
	uint8_t reg_count = gelf_getehdr(elf, &head) ? count_registers(head.e_machine) : 0;
	Dwarf_CFI *table = reg_count ? dwarf_getcfi_elf(elf) : NULL;

	if (!table)
		return NULL;
	cfi = g_new0(struct cfi, 1);
	*cfi = (struct cfi){ .table = table, .machine = head.e_machine, .reg_count = reg_count };
	return cfi;
}

void cfi_close(struct cfi *cfi)
{
	if (!cfi)
		return;
	dwarf_cfi_end(cfi->table);
	g_free(cfi);
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Converts to the operations that unwind.c supports: registers as bregx, constants as consts. */
static int add_op(struct unwind_row *row, const Dwarf_Op *from)
{
	struct unwind_row_op *op = &row->ops[row->op_count];

	if (row->op_count == UNWIND_ROW_OPS_MAX)
		return -E2BIG;
	*op = (struct unwind_row_op){.atom = from->atom, .number = (int64_t)from->number};
	if (from->atom >= DW_OP_breg0 && from->atom <= DW_OP_breg31) {
		op->reg = (uint8_t)(from->atom - DW_OP_breg0);
		op->atom = DW_OP_bregx;
	} else if (from->atom == DW_OP_bregx) {
		if (from->number >= UNWIND_ROW_REGS_MAX)
			return -E2BIG;
		op->reg = (uint8_t)from->number;
		op->number = (int64_t)from->number2;
	} else if (from->atom >= DW_OP_const1u && from->atom <= DW_OP_consts) {
		op->atom = DW_OP_consts;
	}
	row->op_count++;
	return 0;
}

static int add_expression(
	struct unwind_row *row, const Dwarf_Op *ops, size_t count, struct unwind_row_value *value)
{
	size_t i;
	int ret = 0;

	value->first = row->op_count;
	for (i = 0; !ret && i < count; i++)
		ret = add_op(row, &ops[i]);
	value->count = (uint8_t)(row->op_count - value->first);
	return ret;
}

static int take_cfa(Dwarf_Frame *frame, struct unwind_row *row)
{
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) != 0 || !count)
		return -ENOENT;
	if (count == 1 && ops[0].atom == DW_OP_bregx && ops[0].number < UNWIND_ROW_REGS_MAX) {
		row->cfa = (struct unwind_row_value){
			.rule = UNWIND_ROW_REGISTER,
			.reg = (uint8_t)ops[0].number,
			.number = (int64_t)ops[0].number2,
		};
		return 0;
	}
	row->cfa.rule = UNWIND_ROW_EXPRESSION;
	return add_expression(row, ops, count, &row->cfa);
}

/* The forms of libdw's results that are not expressions: [CFA], [+ number], [is the value]. */
static bool take_simple(const Dwarf_Op *ops, size_t count, struct unwind_row_value *value)
{
	size_t i = 1;

	if (ops[0].atom == DW_OP_regx && count == 1 && ops[0].number < UNWIND_ROW_REGS_MAX) {
		*value = (struct unwind_row_value){
			.rule = UNWIND_ROW_REGISTER, .reg = (uint8_t)ops[0].number};
		return true;
	}
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	*value = (struct unwind_row_value){.rule = UNWIND_ROW_AT_CFA};
	if (i < count && ops[i].atom == DW_OP_plus_uconst)
		value->number = (int64_t)ops[i++].number;
	if (i < count && ops[i].atom == DW_OP_stack_value) {
		value->rule = UNWIND_ROW_CFA;
		i++;
	}
	return i == count;
}

static int take_register(Dwarf_Frame *frame, unsigned int reg, struct unwind_row *row)
{
	struct unwind_row_value *value = &row->regs[reg];
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, (int)reg, memory, &ops, &count) != 0)
		return -ENOENT;
	*value = (struct unwind_row_value){.rule = ops ? UNWIND_ROW_UNDEFINED : UNWIND_ROW_SAME};
	if (!count || take_simple(ops, count, value))
		return 0;
	value->rule = UNWIND_ROW_AT_EXPRESSION;
	if (ops[count - 1].atom == DW_OP_stack_value) {
		value->rule = UNWIND_ROW_EXPRESSION;
		count--;
	}
	return add_expression(row, ops, count, value);
}

int cfi_find(struct cfi *cfi, uint64_t address, struct unwind_row *row)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end;
	bool signal;
	unsigned int i;
	int back, ret;

	if (dwarf_cfi_addrframe(cfi->table, address, &frame) != 0)
		return -ENOENT;
	memset(row, 0, sizeof(*row));
	back = dwarf_frame_info(frame, &start, &end, &signal);
	ret = back < 0 || back >= cfi->reg_count ? -ENOENT : take_cfa(frame, row);
	for (i = 0; !ret && i < cfi->reg_count; i++)
		ret = take_register(frame, i, row);
	free(frame);
	if (ret)
		return ret;
	row->start = start;
	row->end = end;
	row->machine = cfi->machine;
	row->signal = signal;
	row->return_reg = (uint8_t)back;
	row->reg_count = cfi->reg_count;
	return 0;
}
