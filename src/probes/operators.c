/* SPDX-License-Identifier: MIT */
/* Operators as instructions. */
#include "probes/operators.h"

#include "probes/ast.h"

int operators_jump(int operator, bool is_signed)
{
	switch (operator) {
	case AST_EQUAL: return BPF_JEQ;
	case AST_NOT_EQUAL: return BPF_JNE;
	case '<': return is_signed ? BPF_JSLT : BPF_JLT;
	case '>': return is_signed ? BPF_JSGT : BPF_JGT;
	case AST_LESS_EQUAL: return is_signed ? BPF_JSLE : BPF_JLE;
	case AST_GREATER_EQUAL: return is_signed ? BPF_JSGE : BPF_JGE;
	default: return -1;
	}
}

static int alu_of(int operator, bool is_signed)
{
	switch (operator) {
	case '|': return BPF_OR;
	case '^': return BPF_XOR;
	case '&': return BPF_AND;
	case '+': return BPF_ADD;
	case '-': return BPF_SUB;
	case '*': return BPF_MUL;
	case '/': return BPF_DIV;
	case '%': return BPF_MOD;
	case AST_SHIFT_LEFT: return BPF_LSH;
	default: return is_signed ? BPF_ARSH : BPF_RSH;
	}
}

static void negate_if_negative(struct code *code, int reg)
{
	int positive = code_label(code);

	code_jump_if_imm(code, BPF_JSGE, reg, 0, positive);
	code_alu_imm(code, BPF_NEG, reg, 0);
	code_place(code, positive);
}

/* The instructions divide numbers without a sign: R2 keeps the sign of the result. */
static void divide_signed(struct code *code, int operator)
{
	int positive = code_label(code);

	code_mov(code, BPF_REG_2, BPF_REG_0);
	if (operator == '/')
		code_alu(code, BPF_XOR, BPF_REG_2, BPF_REG_1);
	negate_if_negative(code, BPF_REG_0);
	negate_if_negative(code, BPF_REG_1);
	code_alu(code, operator == '/' ? BPF_DIV : BPF_MOD, BPF_REG_0, BPF_REG_1);
	code_jump_if_imm(code, BPF_JSGE, BPF_REG_2, 0, positive);
	code_alu_imm(code, BPF_NEG, BPF_REG_0, 0);
	code_place(code, positive);
}

void operators_emit(struct code *code, int operator, bool is_signed)
{
	const int jump = operators_jump(operator, is_signed);

	if (jump >= 0) {
		int holds = code_label(code);

		code_mov(code, BPF_REG_2, BPF_REG_0);
		code_mov_imm(code, BPF_REG_0, 1);
		code_jump_if(code, jump, BPF_REG_2, BPF_REG_1, holds);
		code_mov_imm(code, BPF_REG_0, 0);
		code_place(code, holds);
		return;
	}
	if (is_signed && (operator == '/' || operator == '%')) {
		divide_signed(code, operator);
		return;
	}
	if (operator == AST_SHIFT_LEFT || operator == AST_SHIFT_RIGHT)
		code_alu_imm(code, BPF_AND, BPF_REG_1, 63);
	code_alu(code, alu_of(operator, is_signed), BPF_REG_0, BPF_REG_1);
}
