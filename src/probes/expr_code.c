/* SPDX-License-Identifier: MIT */
/* Expressions as instructions. */
#include "probes/expr_code.h"

#include <string.h>

#include "probes/operators.h"

struct emitting {
	const struct expr_names *names;
	struct code *code;
};

void expr_code_compare(struct code *code, int reg, int offset, const char *text)
{
	int differs = code_label(code), done = code_label(code);

	for (uint32_t i = 0; i <= strlen(text); i++) {
		code_load(code, BPF_B, BPF_REG_0, reg, offset + (int)i);
		code_jump_if_imm(code, BPF_JNE, BPF_REG_0, (unsigned char)text[i], differs);
	}
	code_mov_imm(code, BPF_REG_0, 1);
	code_jump(code, done);
	code_place(code, differs);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, done);
}

static void compare(struct emitting *emitting, const struct ast_expr *node)
{
	const struct ast_expr *name = node->left->kind == AST_NAME ? node->left : node->right;
	const char *text = node->left->kind == AST_NAME ? node->right->text : node->left->text;

	emitting->names->compare(emitting->names->arg, emitting->code, name->number, text);
	if (node->operator == AST_NOT_EQUAL)
		code_alu_imm(emitting->code, BPF_XOR, BPF_REG_0, 1);
}

static void evaluate(struct emitting *emitting, const struct ast_expr *node);

/* R0 = 1 or 0: the second side is not looked at if the first one decides. */
static void join(struct emitting *emitting, const struct ast_expr *node)
{
	struct code *code = emitting->code;
	const bool is_and = node->operator == AST_AND;
	int decided = code_label(code), done = code_label(code);

	evaluate(emitting, node->left);
	code_jump_if_imm(code, is_and ? BPF_JEQ : BPF_JNE, BPF_REG_0, 0, decided);
	evaluate(emitting, node->right);
	code_jump_if_imm(code, is_and ? BPF_JEQ : BPF_JNE, BPF_REG_0, 0, decided);
	code_mov_imm(code, BPF_REG_0, is_and);
	code_jump(code, done);
	code_place(code, decided);
	code_mov_imm(code, BPF_REG_0, !is_and);
	code_place(code, done);
}

static void combine(struct emitting *emitting, const struct ast_expr *node)
{
	struct code *code = emitting->code;
	const int mark = code->stack, kept = code_stack(code, 8);

	evaluate(emitting, node->left);
	code_store(code, BPF_DW, BPF_REG_10, kept, BPF_REG_0);
	evaluate(emitting, node->right);
	code_mov(code, BPF_REG_1, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10, kept);
	code_stack_back(code, mark);
	/* numbers are compared with their sign; / and % are without, as the instructions are */
	operators_emit(code, node->operator, operators_jump(node->operator, true) >= 0);
}

static void negate(struct emitting *emitting, const struct ast_expr *node)
{
	struct code *code = emitting->code;
	int zero = code_label(code), done = code_label(code);

	evaluate(emitting, node->right);
	if (node->operator == '-') {
		code_alu_imm(code, BPF_NEG, BPF_REG_0, 0);
	} else if (node->operator == '~') {
		code_alu_imm(code, BPF_XOR, BPF_REG_0, -1);
	} else {
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, zero);
		code_mov_imm(code, BPF_REG_0, 0);
		code_jump(code, done);
	}
	code_place(code, zero);
	if (node->operator == '!')
		code_mov_imm(code, BPF_REG_0, 1);
	code_place(code, done);
}

/* R0 = the value of the node. */
static void evaluate(struct emitting *emitting, const struct ast_expr *node)
{
	switch (node->kind) {
	case AST_NUMBER:
		code_mov_imm64(emitting->code, BPF_REG_0, node->number);
		return;
	case AST_NAME:
		emitting->names->load(emitting->names->arg, emitting->code, node->number);
		return;
	case AST_UNARY:
		negate(emitting, node);
		return;
	default:
		break; /* AST_BINARY: a literal is only within compare() */
	}
	if (node->left->type.kind == AST_STRING)
		compare(emitting, node);
	else if (node->operator == AST_OR || node->operator == AST_AND)
		join(emitting, node);
	else
		combine(emitting, node);
}

void expr_code_value(const struct expr *expr, const struct expr_names *names, struct code *code)
{
	struct emitting emitting = { names, code };

	evaluate(&emitting, expr_root(expr));
}
