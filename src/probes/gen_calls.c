/* SPDX-License-Identifier: MIT */
/* The third stage: functions that give a value. */
#include "probes/gen_state.h"

#include <errno.h>
#include <string.h>

#include "probes/tables.h"
#include "sys/kallsyms.h"

/* AF_INET6 of <sys/socket.h>, the only family whose addresses are longer. */
#define FAMILY_6 10
#define ADDRESS_4 4u
#define ADDRESS_6 16u

/* Offsets of registers in struct pt_regs by name: <asm/ptrace.h>. */
struct register_row {
	const char *name;
	int offset;
};

static const struct register_row registers[] = {
#if defined(__x86_64__)
	{ "r15", 0 }, { "r14", 8 }, { "r13", 16 }, { "r12", 24 }, { "bp", 32 }, { "bx", 40 }, { "r11", 48 },
	{ "r10", 56 }, { "r9", 64 }, { "r8", 72 }, { "ax", 80 }, { "cx", 88 }, { "dx", 96 }, { "si", 104 },
	{ "di", 112 }, { "orig_ax", 120 }, { "ip", 128 }, { "cs", 136 }, { "flags", 144 }, { "sp", 152 },
	{ "ss", 160 },
#elif defined(__aarch64__)
	{ "r0", 0 }, { "r1", 8 }, { "r2", 16 }, { "r3", 24 }, { "r4", 32 }, { "r5", 40 }, { "r6", 48 },
	{ "r7", 56 }, { "r8", 64 }, { "r29", 232 }, { "r30", 240 }, { "sp", 248 }, { "pc", 256 },
#endif
	{ NULL, 0 },
};

static void load_register(struct gen *gen, const struct ast_expr *call)
{
	const struct register_row *row = registers;

	while (row->name && strcmp(row->name, call->args->text) != 0)
		row++;
	if (gen->source->context != GEN_REGISTERS && gen->source->context != GEN_PERF)
		gen_refuse(gen, call->place, EOPNOTSUPP, "registers are not known here");
	else if (!row->name)
		gen_refuse(gen, call->args->place, EINVAL, "there is no register '%s'", call->args->text);
	else
		code_load(gen->code, BPF_DW, BPF_REG_0, BPF_REG_6, row->offset);
}

/*
 * A symbol of the probed file: as far from the place that was reached as the file says, wherever the file is
 * in memory.
 */
static void load_user_address(struct gen *gen, const struct ast_expr *call)
{
	const uint64_t place = gen->source->address;
	struct err err = { "" };
	uint64_t address;

	if (!gen->env->symbol || !place) {
		gen_refuse(gen, call->place, EINVAL, "uaddr() needs a probe of a function or a static probe");
		return;
	}
	if (gen->env->symbol(gen->env->symbol_arg, call->args->text, &address, &err)) {
		gen_refuse(gen, call->args->place, ENOENT, "%s", err.text);
		return;
	}
	gen->env->used_address = true;
	gen_builtin(gen, &(struct ast_expr){ .builtin = builtin_find("func", 4) });
	code_mov_imm64(gen->code, BPF_REG_1, address - place);
	code_alu(gen->code, BPF_ADD, BPF_REG_0, BPF_REG_1);
}

/* R0 = 0 if two texts are the same up to a number of bytes that is known, else 1. */
static void compare_begin(struct gen *gen, const struct ast_expr *call)
{
	const struct ast_expr *one = call->args, *other = one->next;
	const uint64_t limit = other->next ? other->next->number : 0;
	struct gen_mark mark = gen_mark(gen);
	struct ast_type as = one->type;
	struct gen_place a, b;
	struct code *code = gen->code;
	int differs = code_label(code), same = code_label(code), done = code_label(code);

	if (other->type.bytes > as.bytes)
		as.bytes = other->type.bytes;
	a = gen_room(gen, layout_bytes(&as));
	b = gen_room(gen, layout_bytes(&as));
	gen_store(gen, one, &as, a);
	gen_store(gen, other, &as, b);
	for (uint32_t i = 0; i < limit && i < as.bytes; i++) {
		code_load(code, BPF_B, BPF_REG_1, a.base, a.offset + (int)i);
		code_load(code, BPF_B, BPF_REG_2, b.base, b.offset + (int)i);
		code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, differs);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, same);
	}
	code_place(code, same);
	code_mov_imm(code, BPF_REG_0, 0);
	code_jump(code, done);
	code_place(code, differs);
	code_mov_imm(code, BPF_REG_0, 1);
	code_place(code, done);
	gen_back(gen, mark);
}

void gen_function(struct gen *gen, const struct ast_expr *call)
{
	uint64_t address;

	switch (call->function->id) {
	case FUNCTION_KSYM:
		gen_value(gen, call->args);
		return;
	case FUNCTION_STRFTIME:
		/* strftime(format, ns): the format is the type's */
		gen_value(gen, call->args->next);
		return;
	case FUNCTION_STRNCMP:
		compare_begin(gen, call);
		return;
	case FUNCTION_REG:
		load_register(gen, call);
		return;
	case FUNCTION_KADDR:
		if (kallsyms_address(NULL, call->args->text, &address))
			gen_refuse(gen, call->args->place, ENOENT,
				"the kernel has no symbol '%s', or hides it",
				call->args->text);
		else
			code_mov_imm64(gen->code, BPF_REG_0, address);
		return;
	case FUNCTION_UADDR:
		load_user_address(gen, call);
		return;
	case FUNCTION_BSWAP:
		gen_value(gen, call->args);
		if (call->type.bytes > 1)
			code_big_endian(gen->code, BPF_REG_0, (int)call->type.bytes * 8);
		return;
	default:
		gen_refuse(gen, call->place, EOPNOTSUPP, "%s() is not supported yet",
			call->function->name);
	}
}

/* ---- values that are more than a word ---------------------------------------------------------- */

/* R2 = the value of `length`, which is unsigned, or `most` if that is less */
static void load_length(struct gen *gen, const struct ast_expr *length, uint32_t most)
{
	struct code *code = gen->code;
	int fits = code_label(code);

	gen_value(gen, length);
	code_mov(code, BPF_REG_2, BPF_REG_0);
	code_jump_if_imm(code, BPF_JLE, BPF_REG_2, (int32_t)most, fits);
	code_mov_imm(code, BPF_REG_2, (int32_t)most);
	code_place(code, fits);
}

/*
 * A string of at most as many bytes as `length` has when it runs, and of `most` with the zero at the end. A
 * negative length is a long one.
 */
static void store_string_of(struct gen *gen, const struct ast_expr *from, const struct ast_expr *length,
	uint32_t most, struct gen_place place)
{
	struct gen_mark mark = gen_mark(gen);
	struct gen_place address = gen_room(gen, 8);

	gen_value(gen, from);
	gen_save(gen, address, 0, BPF_REG_0);
	load_length(gen, length, most - 1);
	code_alu_imm(gen->code, BPF_ADD, BPF_REG_2, 1);
	gen_address(gen, BPF_REG_1, place);
	gen_load(gen, BPF_REG_3, address, 0);
	gen_read_text(gen, -1);
	gen_back(gen, mark);
}

/* str(p[, length]): the length may be known only when it runs; a longer text is cut there. */
static void store_string(struct gen *gen, const struct ast_expr *call, const struct ast_type *as,
	struct gen_place place)
{
	const struct ast_expr *from = call->args;
	const uint32_t room = call->type.bytes < as->bytes ? call->type.bytes : as->bytes;

	if (from->type.kind == AST_STRING) {
		gen_store(gen, from, as, place);
		return;
	}
	gen_zero(gen, place, layout_bytes(as));
	if (from->next && from->next->kind != AST_NUMBER) {
		store_string_of(gen, from, from->next, room, place);
		return;
	}
	gen_value(gen, from);
	gen_read_string(gen, -1, room, place);
}

void gen_read_bytes(struct gen *gen)
{
	struct code *code = gen->code;
	int kernel = code_label(code), done = code_label(code);

	code_jump_if_imm(code, BPF_JSLT, BPF_REG_3, 0, kernel);
	code_call(code, BPF_FUNC_probe_read_user);
	code_jump(code, done);
	code_place(code, kernel);
	code_call(code, BPF_FUNC_probe_read_kernel);
	code_place(code, done);
}

/* Whether the value of a string is the address of its characters. */
static bool is_in_memory(const struct ast_expr *string)
{
	return string->kind == AST_ARGUMENT || string->kind == AST_FIELD || string->kind == AST_INDEX ||
		string->kind == AST_DEREF;
}

/* R0 = the address of the bytes; a string that is not in memory is stored first, with zeros behind it. */
static void load_source(struct gen *gen, const struct ast_expr *from, uint32_t bytes)
{
	struct ast_type as = from->type;
	struct gen_place copy;

	if (from->type.kind != AST_STRING || is_in_memory(from)) {
		gen_value(gen, from);
		return;
	}
	as.bytes = MAX(as.bytes, bytes);
	copy = gen_room(gen, layout_bytes(&as));
	gen_store(gen, from, &as, copy);
	gen_address(gen, BPF_REG_0, copy);
}

static void store_buffer(struct gen *gen, const struct ast_expr *call, const struct ast_type *as,
	struct gen_place place)
{
	const struct gen_place bytes = { .base = place.base, .offset = place.offset + 8 };
	const uint32_t most = call->type.bytes < as->bytes ? call->type.bytes : as->bytes;
	struct gen_mark mark = gen_mark(gen);
	struct gen_place address = gen_room(gen, 8);

	gen_zero(gen, place, layout_bytes(as));
	load_source(gen, call->args, most);
	gen_save(gen, address, 0, BPF_REG_0);
	if (call->args->next)
		load_length(gen, call->args->next, most);
	else
		code_mov_imm(gen->code, BPF_REG_2, (int32_t)most);
	gen_save(gen, place, 0, BPF_REG_2);
	gen_address(gen, BPF_REG_1, bytes);
	gen_load(gen, BPF_REG_3, address, 0);
	gen_read_bytes(gen);
	gen_back(gen, mark);
}

/* The address's bytes are those of a number, or of an array in memory. */
static void store_inet(struct gen *gen, const struct ast_expr *call, struct gen_place place)
{
	const struct ast_expr *family = call->count > 1 ? call->args : NULL;
	const struct ast_expr *address = family ? family->next : call->args;
	const struct gen_place bytes = { .base = place.base, .offset = place.offset + 8 };
	const bool is_array = address->type.kind == AST_ARRAY;
	struct code *code = gen->code;
	uint32_t length = call->type.bytes;
	int four = code_label(code);

	if (!length)
		length = is_array && address->type.bytes >= ADDRESS_6 ? ADDRESS_6 : ADDRESS_4;
	gen_zero(gen, place, 8 + ADDRESS_6);
	gen_value(gen, address);
	if (is_array) {
		code_mov(code, BPF_REG_3, BPF_REG_0);
		gen_address(gen, BPF_REG_1, bytes);
		code_mov_imm(code, BPF_REG_2, (int32_t)length);
		gen_read_bytes(gen);
	} else {
		gen_save(gen, place, 8, BPF_REG_0);
	}
	code_store_imm(code, BPF_DW, place.base, place.offset, (int32_t)length);
	if (!family || call->type.bytes)
		return;
	gen_value(gen, family);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, FAMILY_6, four);
	code_store_imm(code, BPF_DW, place.base, place.offset, ADDRESS_4);
	code_place(code, four);
}

void gen_function_store(struct gen *gen, const struct ast_expr *call, const struct ast_type *as,
	struct gen_place place)
{
	switch (call->function->id) {
	case FUNCTION_STR:
		store_string(gen, call, as, place);
		return;
	case FUNCTION_BUF:
		store_buffer(gen, call, as, place);
		return;
	case FUNCTION_NTOP:
		store_inet(gen, call, place);
		return;
	case FUNCTION_USYM:
		gen_value(gen, call->args);
		gen_save(gen, place, 0, BPF_REG_0);
		code_load(gen->code, BPF_W, BPF_REG_0, BPF_REG_8, gen->env->machine->task_tgid);
		gen_save(gen, place, 8, BPF_REG_0);
		return;
	default:
		gen_refuse(gen, call->place, EOPNOTSUPP, "%s() is not supported yet",
			call->function->name);
	}
}
