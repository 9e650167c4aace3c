/* SPDX-License-Identifier: MIT */
/* One step from a function to its caller: see unwind.h. */
#include "symbolizer/unwind.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

/* Depth of the stack machine; compilers use three or four. */
#define DEPTH_MAX 16

static const struct {
	uint16_t machine;
	uint8_t count, sp, fp;
} machines[] = {
	{ EM_X86_64, 17, 7, 6 },
	{ EM_AARCH64, 33, 31, 29 },
};

bool unwind_begin(struct unwind *u, uint16_t machine, const uint64_t *regs, unsigned int count,
	const uint8_t *stack, uint32_t stack_bytes)
{
	size_t i;

	for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == machine && machines[i].count == count)
			break;
	if (i == sizeof(machines) / sizeof(machines[0]))
		return false;
	*u = (struct unwind){
		.machine = machine,
		.count = machines[i].count,
		.pc = (uint8_t)(machines[i].count - 1),
		.sp = machines[i].sp,
		.fp = machines[i].fp,
		.known = ~0ull,
		.stack = stack,
		.stack_at = regs[machines[i].sp],
		.stack_bytes = stack_bytes,
	};
	memcpy(u->regs, regs, count * sizeof(*regs));
	return true;
}

static bool read_word(const struct unwind *u, uint64_t address, uint64_t *value)
{
	const uint64_t offset = address - u->stack_at;

	if (u->stack_bytes < sizeof(*value) || offset > u->stack_bytes - sizeof(*value))
		return false;
	memcpy(value, u->stack + offset, sizeof(*value));
	return true;
}

static bool read_register(const struct unwind *u, unsigned int reg, uint64_t *value)
{
	if (reg >= u->count || !(u->known >> reg & 1))
		return false;
	*value = u->regs[reg];
	return true;
}

/* ---- expressions ----------------------------------------------------------------------------- */

struct expression_stack {
	uint64_t words[DEPTH_MAX];
	unsigned int depth;
};

static bool push(struct expression_stack *m, uint64_t word)
{
	if (m->depth == DEPTH_MAX)
		return false;
	m->words[m->depth++] = word;
	return true;
}

/* Operations that pop two words and push one. */
static bool combine(uint8_t atom, uint64_t a, uint64_t b, uint64_t *result)
{
	switch (atom) {
	case DW_OP_plus:
		*result = a + b;
		return true;
	case DW_OP_minus:
		*result = a - b;
		return true;
	case DW_OP_mul:
		*result = a * b;
		return true;
	case DW_OP_and:
		*result = a & b;
		return true;
	case DW_OP_or:
		*result = a | b;
		return true;
	case DW_OP_xor:
		*result = a ^ b;
		return true;
	case DW_OP_shl:
		*result = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*result = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_eq:
		*result = a == b;
		return true;
	case DW_OP_ne:
		*result = a != b;
		return true;
	case DW_OP_ge:
		*result = (int64_t)a >= (int64_t)b;
		return true;
	case DW_OP_gt:
		*result = (int64_t)a > (int64_t)b;
		return true;
	case DW_OP_le:
		*result = (int64_t)a <= (int64_t)b;
		return true;
	case DW_OP_lt:
		*result = (int64_t)a < (int64_t)b;
		return true;
	default:
		return false;
	}
}

static bool run_op(const struct unwind *u, const struct unwind_row_op *op, const uint64_t *cfa,
	struct expression_stack *m)
{
	uint64_t *top = m->depth ? &m->words[m->depth - 1] : NULL, word;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(m, (uint64_t)(op->atom - DW_OP_lit0));
	switch (op->atom) {
	case DW_OP_bregx: /* includes breg0 to breg31 */
		return read_register(u, op->reg, &word) && push(m, word + (uint64_t)op->number);
	case DW_OP_consts: /* stands for all constants */
		return push(m, (uint64_t)op->number);
	case DW_OP_call_frame_cfa:
		return cfa && push(m, *cfa);
	case DW_OP_nop:
		return true;
	}
	if (!top)
		return false;
	switch (op->atom) {
	case DW_OP_dup:
		return push(m, *top);
	case DW_OP_drop:
		m->depth--;
		return true;
	case DW_OP_deref:
		return read_word(u, *top, top);
	case DW_OP_plus_uconst:
		*top += (uint64_t)op->number;
		return true;
	}
	if (m->depth < 2 || !combine(op->atom, top[-1], top[0], &word))
		return false;
	m->depth--;
	m->words[m->depth - 1] = word;
	return true;
}

/* cfa NULL if the expression computes it. Else the CFA is pushed first, as DWARF specifies. */
static bool run_expression(const struct unwind *u, const struct unwind_row *row,
	const struct unwind_row_value *value, const uint64_t *cfa, uint64_t *result)
{
	struct expression_stack m = {.depth = 0};
	unsigned int i;

	if (cfa)
		push(&m, *cfa);
	for (i = 0; i < value->count; i++)
		if (!run_op(u, &row->ops[value->first + i], cfa, &m))
			return false;
	if (!m.depth)
		return false;
	*result = m.words[m.depth - 1];
	return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool find_cfa(const struct unwind *u, const struct unwind_row *row, uint64_t *cfa)
{
	switch (row->cfa.rule) {
	case UNWIND_ROW_REGISTER:
		if (!read_register(u, row->cfa.reg, cfa))
			return false;
		*cfa += (uint64_t)row->cfa.number;
		return true;
	case UNWIND_ROW_EXPRESSION:
		return run_expression(u, row, &row->cfa, NULL, cfa);
	default:
		return false;
	}
}

static bool find_value(const struct unwind *u, const struct unwind_row *row, unsigned int reg,
	uint64_t cfa, uint64_t *result)
{
	const struct unwind_row_value *value = &row->regs[reg];

	switch (value->rule) {
	case UNWIND_ROW_SAME:
		return read_register(u, reg, result);
	case UNWIND_ROW_AT_CFA:
		return read_word(u, cfa + (uint64_t)value->number, result);
	case UNWIND_ROW_CFA:
		*result = cfa + (uint64_t)value->number;
		return true;
	case UNWIND_ROW_REGISTER:
		if (!read_register(u, value->reg, result))
			return false;
		*result += (uint64_t)value->number;
		return true;
	case UNWIND_ROW_AT_EXPRESSION:
		return run_expression(u, row, value, &cfa, result) && read_word(u, *result, result);
	case UNWIND_ROW_EXPRESSION:
		return run_expression(u, row, value, &cfa, result);
	default:
		return false;
	}
}

/* Moves to the caller; frames of ordinary calls have ascending addresses. */
static enum unwind_result arrive(struct unwind *u, const struct unwind *caller, bool signal)
{
	const uint64_t sp = u->regs[u->sp], new_sp = caller->regs[u->sp];

	if (!signal && (new_sp < sp || (new_sp == sp && unwind_pc(caller) == unwind_pc(u))))
		return UNWIND_LOST;
	*u = *caller;
	return unwind_pc(u) ? UNWIND_CALLER : UNWIND_END;
}

enum unwind_result unwind_step(struct unwind *u, const struct unwind_row *row)
{
	const struct unwind_row_value *back = &row->regs[row->return_reg];
	struct unwind caller = *u;
	unsigned int i, count = row->reg_count < u->count ? row->reg_count : u->count;
	uint64_t cfa;

	if (row->machine != u->machine)
		return UNWIND_LOST;
	if (back->rule == UNWIND_ROW_UNDEFINED)
		return UNWIND_END;
	if (!find_cfa(u, row, &cfa) ||
		!find_value(u, row, row->return_reg, cfa, &caller.regs[u->pc]))
		return UNWIND_LOST;
	caller.known = 1ull << u->pc;
	for (i = 0; i < count; i++) {
		if (i == u->pc)
			continue;
		if (i == u->sp && (row->regs[i].rule == UNWIND_ROW_UNDEFINED ||
					  row->regs[i].rule == UNWIND_ROW_SAME)) {
			caller.regs[i] = cfa;
			caller.known |= 1ull << i;
		} else if (find_value(u, row, i, cfa, &caller.regs[i])) {
			caller.known |= 1ull << i;
		}
	}
	if (!(caller.known >> u->sp & 1))
		return UNWIND_LOST;
	return arrive(u, &caller, row->signal);
}

enum unwind_result unwind_step_by_frame_pointer(struct unwind *u)
{
	struct unwind caller = *u;
	uint64_t fp;

	if (!read_register(u, u->fp, &fp) || fp < u->regs[u->sp] ||
		!read_word(u, fp, &caller.regs[u->fp]) || !read_word(u, fp + 8, &caller.regs[u->pc]))
		return UNWIND_LOST;
	caller.regs[u->sp] = fp + 16;
	caller.known = 1ull << u->fp | 1ull << u->pc | 1ull << u->sp;
	return arrive(u, &caller, false);
}
