/* SPDX-License-Identifier: MIT */
/* The third stage: expressions. */
#include "probes/gen_state.h"

#include <errno.h>
#include <string.h>

/* Whether the right side can be computed without R0 being kept on the way, and into R1 alone. */
static bool is_constant(const struct ast_expr *expr)
{
	return expr->kind == AST_NUMBER;
}

static void make_sides(struct gen *gen, const struct ast_expr *left, const struct ast_expr *right)
{
	struct gen_mark mark = gen_mark(gen);
	struct gen_place kept;

	gen_value(gen, left);
	if (is_constant(right)) {
		code_mov_imm64(gen->code, BPF_REG_1, right->number);
		return;
	}
	kept = gen_room(gen, 8);
	gen_save(gen, kept, 0, BPF_REG_0);
	gen_value(gen, right);
	code_mov(gen->code, BPF_REG_1, BPF_REG_0);
	gen_load(gen, BPF_REG_0, kept, 0);
	gen_back(gen, mark);
}

static bool is_text(const struct ast_expr *expr)
{
	return expr->type.kind == AST_STRING;
}

/* R0 = whether two strings are the same (or not): both are filled up with zeros. */
static void compare_texts(struct gen *gen, const struct ast_expr *expr)
{
	const struct ast_expr *left = expr->left, *right = expr->right, *literal;
	struct gen_mark mark = gen_mark(gen);
	struct ast_type as = left->type;
	struct gen_place one, other;
	struct code *code = gen->code;
	int differs = code_label(code), done = code_label(code);
	uint32_t bytes;

	if (right->type.bytes > as.bytes)
		as.bytes = right->type.bytes;
	bytes = layout_bytes(&as);
	literal = right->kind == AST_LITERAL ? right : left->kind == AST_LITERAL ? left : NULL;
	one = gen_room(gen, bytes);
	other = gen_room(gen, bytes);
	gen_store(gen, left, &as, one);
	gen_store(gen, right, &as, other);
	/* the literal's NUL is within these, and what differs behind it does not count */
	if (literal && strlen(literal->text) + 1 < bytes)
		bytes = (uint32_t)(strlen(literal->text) + 8) / 8 * 8;
	for (uint32_t at = 0; at < bytes; at += 8) {
		gen_load(gen, BPF_REG_1, one, at);
		gen_load(gen, BPF_REG_2, other, at);
		code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, differs);
	}
	code_mov_imm(code, BPF_REG_0, expr->operator == AST_EQUAL);
	code_jump(code, done);
	code_place(code, differs);
	code_mov_imm(code, BPF_REG_0, expr->operator == AST_NOT_EQUAL);
	code_place(code, done);
	gen_back(gen, mark);
}

/* R0 = 1 or 0: the second side is not looked at if the first one decides. */
static void join(struct gen *gen, const struct ast_expr *expr)
{
	struct code *code = gen->code;
	int decided = code_label(code), done = code_label(code);

	gen_value(gen, expr->left);
	code_jump_if_imm(code, expr->operator == AST_AND ? BPF_JEQ : BPF_JNE, BPF_REG_0, 0, decided);
	gen_value(gen, expr->right);
	code_jump_if_imm(code, expr->operator == AST_AND ? BPF_JEQ : BPF_JNE, BPF_REG_0, 0, decided);
	code_mov_imm(code, BPF_REG_0, expr->operator == AST_AND);
	code_jump(code, done);
	code_place(code, decided);
	code_mov_imm(code, BPF_REG_0, expr->operator == AST_OR);
	code_place(code, done);
}

static void make_binary(struct gen *gen, const struct ast_expr *expr)
{
	if (expr->operator == AST_AND || expr->operator == AST_OR) {
		join(gen, expr);
		return;
	}
	if (is_text(expr->left) && is_text(expr->right)) {
		compare_texts(gen, expr);
		return;
	}
	make_sides(gen, expr->left, expr->right);
	operators_emit(gen->code, expr->operator, expr->compares_signed);
}

static void make_unary(struct gen *gen, const struct ast_expr *expr)
{
	struct code *code = gen->code;
	int done = code_label(code);

	gen_value(gen, expr->right);
	if (expr->operator == '-') {
		code_alu_imm(code, BPF_NEG, BPF_REG_0, 0);
	} else if (expr->operator == '~') {
		code_alu_imm(code, BPF_XOR, BPF_REG_0, -1);
	} else {
		code_mov(code, BPF_REG_1, BPF_REG_0);
		code_mov_imm(code, BPF_REG_0, 1);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, done);
		code_mov_imm(code, BPF_REG_0, 0);
	}
	code_place(code, done);
}

static bool is_comparison(const struct ast_expr *expr)
{
	return expr->kind == AST_BINARY && operators_jump(expr->operator, false) >= 0 && !is_text(expr->left);
}

static int opposite_of(int jump)
{
	switch (jump) {
	case BPF_JEQ: return BPF_JNE;
	case BPF_JNE: return BPF_JEQ;
	case BPF_JSLT: return BPF_JSGE;
	case BPF_JSGE: return BPF_JSLT;
	case BPF_JSGT: return BPF_JSLE;
	case BPF_JSLE: return BPF_JSGT;
	case BPF_JLT: return BPF_JGE;
	case BPF_JGE: return BPF_JLT;
	case BPF_JGT: return BPF_JLE;
	default: return BPF_JGT;
	}
}

void gen_unless(struct gen *gen, const struct ast_expr *expr, int label)
{
	struct code *code = gen->code;
	int jump;

	if (expr->kind == AST_BINARY && expr->operator == AST_AND) {
		gen_unless(gen, expr->left, label);
		gen_unless(gen, expr->right, label);
	} else if (is_comparison(expr)) {
		jump = operators_jump(expr->operator, expr->compares_signed);
		make_sides(gen, expr->left, expr->right);
		code_jump_if(code, opposite_of(jump), BPF_REG_0, BPF_REG_1, label);
	} else {
		gen_value(gen, expr);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, label);
	}
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* R0 = the address of a field, an item or what a pointer points to. */
static void make_place(struct gen *gen, const struct ast_expr *expr)
{
	struct gen_mark mark = gen_mark(gen);
	struct code *code = gen->code;
	struct gen_place base;

	if (expr->kind == AST_FIELD) {
		gen_value(gen, expr->left);
		if (expr->field.offset)
			code_alu_imm(code, BPF_ADD, BPF_REG_0, (int32_t)expr->field.offset);
		return;
	}
	if (expr->kind == AST_DEREF) {
		gen_value(gen, expr->right);
		return;
	}
	base = gen_room(gen, 8);
	gen_value(gen, expr->left);
	gen_save(gen, base, 0, BPF_REG_0);
	gen_value(gen, expr->right);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, (int32_t)(expr->type.bytes ? expr->type.bytes : 1));
	gen_load(gen, BPF_REG_1, base, 0);
	code_alu(code, BPF_ADD, BPF_REG_0, BPF_REG_1);
	gen_back(gen, mark);
}

static bool is_user_memory(const struct ast_expr *expr)
{
	const struct ast_expr *base = expr->kind == AST_DEREF ? expr->right : expr->left;

	return base->type.is_user;
}

/* The value is there, unless the type has an address as its value. */
static void make_read(struct gen *gen, const struct ast_expr *expr)
{
	make_place(gen, expr);
	if (expr->type.kind == AST_STRUCT || expr->type.kind == AST_ARRAY || expr->type.kind == AST_STRING)
		return;
	gen_read(gen, &expr->type, is_user_memory(expr), expr->kind == AST_FIELD ? &expr->field : NULL);
}

/* ---- values ------------------------------------------------------------------------------------ */

/* Keeps the low bytes of R0, and the sign if there is one. */
static void cast(struct code *code, const struct ast_type *type)
{
	const int32_t bits = 64 - (int32_t)type->bytes * 8;

	if (type->kind != AST_INTEGER || bits <= 0 || bits >= 64)
		return;
	code_alu_imm(code, BPF_LSH, BPF_REG_0, bits);
	code_alu_imm(code, type->is_signed ? BPF_ARSH : BPF_RSH, BPF_REG_0, bits);
}

static void make_choice(struct gen *gen, const struct ast_expr *expr)
{
	struct code *code = gen->code;
	int third = code_label(code), done = code_label(code);

	gen_unless(gen, expr->left, third);
	gen_value(gen, expr->right);
	code_jump(code, done);
	code_place(code, third);
	gen_value(gen, expr->third);
	code_place(code, done);
}

static void step_local(struct gen *gen, const struct ast_expr *expr)
{
	struct gen_place place = gen->locals[expr->right->local->number];
	struct code *code = gen->code;
	const int32_t by = expr->operator == AST_PLUS_PLUS ? 1 : -1;

	gen_load(gen, BPF_REG_0, place, 0);
	code_mov(code, BPF_REG_1, BPF_REG_0);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, by);
	gen_save(gen, place, 0, BPF_REG_1);
	if (expr->number)
		code_mov(code, BPF_REG_0, BPF_REG_1);
}

/* R0 = a part of a tuple that is a word. */
static void make_item(struct gen *gen, const struct ast_expr *expr)
{
	const struct ast_type *tuple = &expr->left->type;
	struct gen_mark mark = gen_mark(gen);
	struct gen_place place = gen_room(gen, layout_bytes(tuple));
	uint32_t at = 0;

	for (uint64_t i = 0; i < expr->number; i++)
		at += layout_bytes(&tuple->parts[i]);
	gen_store(gen, expr->left, tuple, place);
	gen_load(gen, BPF_REG_0, place, at);
	gen_back(gen, mark);
}

void gen_value(struct gen *gen, const struct ast_expr *expr)
{
	if (gen->error || gen->code->error)
		return;
	switch (expr->kind) {
	case AST_NUMBER:
		code_mov_imm64(gen->code, BPF_REG_0, expr->number);
		return;
	case AST_BUILTIN:
		gen_builtin(gen, expr);
		return;
	case AST_ARGUMENT:
		gen_argument(gen, expr);
		return;
	case AST_MAP:
		gen_map_value(gen, expr);
		return;
	case AST_LOCAL:
		gen_load(gen, BPF_REG_0, gen->locals[expr->local->number], 0);
		return;
	case AST_UNARY:
		make_unary(gen, expr);
		return;
	case AST_BINARY:
		make_binary(gen, expr);
		return;
	case AST_CHOICE:
		make_choice(gen, expr);
		return;
	case AST_STEP:
		if (expr->right->kind == AST_MAP)
			gen_map_step(gen, expr);
		else
			step_local(gen, expr);
		return;
	case AST_CAST:
		gen_value(gen, expr->right);
		cast(gen->code, &expr->type);
		return;
	case AST_DEREF:
	case AST_FIELD:
	case AST_INDEX:
		make_read(gen, expr);
		return;
	case AST_ITEM:
		make_item(gen, expr);
		return;
	case AST_CALL:
		gen_function(gen, expr);
		return;
	default:
		gen_refuse(gen, expr->place, EINVAL, "this is not a number");
	}
}

/* ---- values of any type ------------------------------------------------------------------------ */

static void store_literal(struct gen *gen, const char *text, uint32_t bytes, struct gen_place place)
{
	const size_t length = strlen(text);

	for (uint32_t at = 0; at < bytes; at += 8) {
		char word[8] = { 0 };
		uint64_t value;

		/* the last byte is a NUL always */
		for (uint32_t i = 0; i < 8 && at + i < length && at + i + 1 < bytes; i++)
			word[i] = text[at + i];
		memcpy(&value, word, sizeof(value));
		code_mov_imm64(gen->code, BPF_REG_1, value);
		gen_save(gen, place, at, BPF_REG_1);
	}
}

static void store_choice(struct gen *gen, const struct ast_expr *expr, const struct ast_type *as,
	struct gen_place place)
{
	struct code *code = gen->code;
	int third = code_label(code), done = code_label(code);

	gen_unless(gen, expr->left, third);
	gen_store(gen, expr->right, as, place);
	code_jump(code, done);
	code_place(code, third);
	gen_store(gen, expr->third, as, place);
	code_place(code, done);
}

static void store_tuple(struct gen *gen, const struct ast_expr *expr, const struct ast_type *as,
	struct gen_place place)
{
	const struct ast_expr *part = expr->args;

	for (uint32_t i = 0; i < as->count && part; i++, part = part->next) {
		gen_store(gen, part, &as->parts[i], place);
		place.offset += (int)layout_bytes(&as->parts[i]);
	}
}

static void store_item(struct gen *gen, const struct ast_expr *expr, const struct ast_type *as,
	struct gen_place place)
{
	const struct ast_type *tuple = &expr->left->type;
	struct gen_mark mark = gen_mark(gen);
	struct gen_place whole = gen_room(gen, layout_bytes(tuple));
	uint32_t at = 0, bytes = layout_bytes(&expr->type), room = layout_bytes(as);

	for (uint64_t i = 0; i < expr->number; i++)
		at += layout_bytes(&tuple->parts[i]);
	gen_store(gen, expr->left, tuple, whole);
	gen_zero(gen, place, room);
	gen_copy(gen, place, whole.base, whole.offset + (int)at, bytes < room ? bytes : room);
	gen_back(gen, mark);
}

/* A text in memory: of a field, or behind a pointer. */
static void store_read(struct gen *gen, const struct ast_expr *expr, const struct ast_type *as,
	struct gen_place place)
{
	gen_zero(gen, place, layout_bytes(as));
	make_place(gen, expr);
	gen_read_string(gen, is_user_memory(expr), expr->type.bytes < as->bytes ? expr->type.bytes :
		as->bytes,
		place);
}

static void store_other(struct gen *gen, const struct ast_expr *expr, const struct ast_type *as,
	struct gen_place place)
{
	const uint32_t bytes = layout_bytes(&expr->type), room = layout_bytes(as);
	struct gen_place local;

	switch (expr->kind) {
	case AST_BUILTIN:
		gen_zero(gen, place, room);
		gen_builtin_store(gen, expr, place);
		return;
	case AST_ARGUMENT:
		gen_zero(gen, place, room);
		gen_argument(gen, expr);
		gen_read_string(gen, -1, expr->type.bytes < as->bytes ? expr->type.bytes : as->bytes, place);
		return;
	case AST_MAP:
		gen_map_store(gen, expr, as, place);
		return;
	case AST_LOCAL:
		local = gen->locals[expr->local->number];
		gen_zero(gen, place, room);
		gen_copy(gen, place, local.base, local.offset, bytes < room ? bytes : room);
		return;
	case AST_DEREF:
	case AST_FIELD:
	case AST_INDEX:
		store_read(gen, expr, as, place);
		return;
	default:
		gen_refuse(gen, expr->place, EINVAL, "this can't be stored");
	}
}

void gen_store(struct gen *gen, const struct ast_expr *expr, const struct ast_type *as,
	struct gen_place place)
{
	if (gen->error || gen->code->error)
		return;
	if (layout_is_word(as)) {
		gen_value(gen, expr);
		gen_save(gen, place, 0, BPF_REG_0);
		return;
	}
	switch (expr->kind) {
	case AST_LITERAL:
		store_literal(gen, expr->text, layout_bytes(as), place);
		return;
	case AST_CHOICE:
		store_choice(gen, expr, as, place);
		return;
	case AST_TUPLE_OF:
		store_tuple(gen, expr, as, place);
		return;
	case AST_ITEM:
		store_item(gen, expr, as, place);
		return;
	case AST_CALL:
		gen_function_store(gen, expr, as, place);
		return;
	default:
		store_other(gen, expr, as, place);
	}
}
