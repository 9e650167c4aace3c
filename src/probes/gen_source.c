/* SPDX-License-Identifier: MIT */
/* The third stage: built-ins and arguments, which depend on how the program is attached; memory. */
#include "probes/gen_state.h"

#include <errno.h>
#include <string.h>

#include "probes/tables.h"

/*
 * Registers of struct pt_regs in the order of a function's arguments, and of its result:
 * <asm/ptrace.h>, and the calling conventions of functions.
 */
#if defined(__x86_64__)
static const int arg_registers[] = { 112, 104, 96, 88, 72, 64 }; /* di si dx cx r8 r9 */
#define RESULT_REGISTER 80  /* ax */
#define PLACE_REGISTER 128 /* ip */
#elif defined(__aarch64__)
static const int arg_registers[] = { 0, 8, 16, 24, 32, 40, 48, 56 };
#define RESULT_REGISTER 0
#define PLACE_REGISTER 256 /* pc */
#else
static const int arg_registers[] = { 0 };
#define RESULT_REGISTER 0
#define PLACE_REGISTER 0
#endif
#define ARG_REGISTERS (sizeof(arg_registers) / sizeof(arg_registers[0]))

/* Where the record of a system call's tracepoint has its number, and its arguments or result. */
#define CALL_NUMBER_OFFSET 8u
#define CALL_VALUES_OFFSET 16u

void gen_target(struct gen *gen)
{
	if (gen->target)
		code_load(gen->code, BPF_DW, BPF_REG_0, BPF_REG_10, gen->target);
	else
		code_mov_imm(gen->code, BPF_REG_0, (int32_t)gen->source->target);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static int size_of(uint32_t bytes)
{
	return bytes == 1 ? BPF_B : bytes == 2 ? BPF_H : bytes == 4 ? BPF_W : BPF_DW;
}

static void extend(struct code *code, uint32_t bits, bool is_signed)
{
	if (!bits || bits >= 64)
		return;
	code_alu_imm(code, BPF_LSH, BPF_REG_0, 64 - (int32_t)bits);
	code_alu_imm(code, is_signed ? BPF_ARSH : BPF_RSH, BPF_REG_0, 64 - (int32_t)bits);
}

/* The bytes of a number in memory. */
static uint32_t bytes_of(const struct ast_type *type)
{
	if (type->kind == AST_POINTER || !type->bytes || type->bytes > 8)
		return 8;
	return type->bytes;
}

void gen_read(struct gen *gen, const struct ast_type *type, bool is_user, const struct ast_field *field)
{
	struct gen_mark mark = gen_mark(gen);
	struct gen_place place = gen_room(gen, 8);
	const uint32_t bytes = bytes_of(type);
	struct code *code = gen->code;

	code_mov(code, BPF_REG_3, BPF_REG_0);
	gen_zero(gen, place, 8);
	gen_address(gen, BPF_REG_1, place);
	code_mov_imm(code, BPF_REG_2, (int32_t)bytes);
	code_call(code, is_user ? BPF_FUNC_probe_read_user : BPF_FUNC_probe_read_kernel);
	gen_load(gen, BPF_REG_0, place, 0);
	gen_back(gen, mark);
	if (field && field->bits) {
		code_alu_imm(code, BPF_RSH, BPF_REG_0, (int32_t)field->bit_shift);
		extend(code, field->bits, type->is_signed);
	} else if (type->is_signed) {
		extend(code, bytes * 8, true);
	}
}

void gen_read_string(struct gen *gen, int user, uint32_t bytes, struct gen_place place)
{
	code_mov(gen->code, BPF_REG_3, BPF_REG_0);
	gen_address(gen, BPF_REG_1, place);
	code_mov_imm(gen->code, BPF_REG_2, (int32_t)bytes);
	gen_read_text(gen, user);
}

void gen_read_text(struct gen *gen, int user)
{
	struct code *code = gen->code;
	int kernel = code_label(code), done = code_label(code);

	/* the kernel's addresses are the upper half */
	if (user < 0)
		code_jump_if_imm(code, BPF_JSLT, BPF_REG_3, 0, kernel);
	if (user) {
		code_call(code, BPF_FUNC_probe_read_user_str);
		code_jump(code, done);
	}
	code_place(code, kernel);
	if (user <= 0)
		code_call(code, BPF_FUNC_probe_read_kernel_str);
	code_place(code, done);
}

/* ---- arguments --------------------------------------------------------------------------------- */

/* R0 = the address of what the context has at an offset. */
static void address_of_context(struct gen *gen, uint32_t offset)
{
	code_mov(gen->code, BPF_REG_0, BPF_REG_6);
	code_alu_imm(gen->code, BPF_ADD, BPF_REG_0, (int32_t)offset);
}

/*
 * R0 = a word of the context. One that the verifier takes for a pointer is read as a number, since it would
 * let no rule compute with it.
 */
static void load_word(struct gen *gen, uint32_t index)
{
	static const struct ast_type number = { .kind = AST_INTEGER, .bytes = 8 };

	if (index < 32 && gen->source->pointers >> index & 1) {
		address_of_context(gen, index * 8);
		gen_read(gen, &number, false, NULL);
	} else {
		code_load(gen->code, BPF_DW, BPF_REG_0, BPF_REG_6, (int)index * 8);
	}
}

/* R0 = parameter number `index` of a function, or argument of a raw tracepoint. */
static void load_param(struct gen *gen, uint32_t index, struct ast_place place)
{
	const enum gen_context context = gen->source->context;

	if (gen->unit->kind == PROBE_EVENT) {
		gen_event_value(gen, index);
		return;
	}
	switch (context) {
	case GEN_WORDS:
	case GEN_FUNCTION:
	case GEN_FUNCTION_EXIT:
		load_word(gen, index);
		return;
	case GEN_REGISTERS:
	case GEN_PERF:
		if (index < ARG_REGISTERS) {
			code_load(gen->code, BPF_DW, BPF_REG_0, BPF_REG_6, arg_registers[index]);
			return;
		}
		gen_refuse(gen, place, EOPNOTSUPP, "only the first %zu arguments are in registers",
			ARG_REGISTERS);
		return;
	default:
		gen_refuse(gen, place, EINVAL, "this probe has no arguments");
	}
}

/* R0 = a number of the record of a system call's tracepoint, which is not made: from the registers. */
static void load_of_call(struct gen *gen, uint32_t offset, struct ast_place place)
{
	const struct emit_machine *machine = gen->env->machine;
	const uint32_t index = (offset - CALL_VALUES_OFFSET) / 8;
	struct code *code = gen->code;

	if (offset == CALL_NUMBER_OFFSET) {
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10, gen->call_number);
	} else if (gen->source->context == GEN_SYSCALL_EXIT && !index) {
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_6, 8);
	} else if (offset >= CALL_VALUES_OFFSET && index < KERNEL_CALL_ARGS) {
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_6, 0);
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_0, machine->regs_args[index]);
	} else {
		gen_refuse(gen, place, EINVAL, "the system call has no such argument");
	}
}

bool gen_is_call(const struct gen *gen)
{
	return gen->source->context == GEN_SYSCALL_ENTER || gen->source->context == GEN_SYSCALL_EXIT;
}

static void load_location(struct gen *gen, const struct ast_argument *argument)
{
	struct code *code = gen->code;

	code_load(code, BPF_W, BPF_REG_0, BPF_REG_6, (int)argument->offset);
	code_alu_imm(code, BPF_AND, BPF_REG_0, 0xffff);
	if (argument->source == AST_FROM_RELATIVE)
		code_alu_imm(code, BPF_ADD, BPF_REG_0, (int32_t)argument->offset + 4);
	code_alu(code, BPF_ADD, BPF_REG_0, BPF_REG_6);
}

void gen_argument(struct gen *gen, const struct ast_expr *expr)
{
	const struct ast_argument *argument = &expr->argument;
	const struct ast_type *type = &expr->type;
	const uint32_t bytes = bytes_of(type);

	if (argument->source == AST_FROM_PARAM) {
		load_param(gen, argument->offset, expr->place);
		if (type->kind == AST_INTEGER)
			extend(gen->code, bytes * 8, type->is_signed);
	} else if (argument->source != AST_FROM_CONTEXT) {
		load_location(gen, argument);
	} else if (gen_is_call(gen)) {
		load_of_call(gen, argument->offset, expr->place);
		if (type->kind == AST_INTEGER)
			extend(gen->code, bytes * 8, type->is_signed);
	} else if (type->kind == AST_STRING || type->kind == AST_ARRAY || type->kind == AST_STRUCT) {
		address_of_context(gen, argument->offset);
	} else if (argument->offset % bytes) {
		/* the context can't be read where it is not aligned */
		address_of_context(gen, argument->offset);
		gen_read(gen, type, false, NULL);
	} else {
		code_load(gen->code, size_of(bytes), BPF_REG_0, BPF_REG_6, (int)argument->offset);
		if (type->is_signed)
			extend(gen->code, bytes * 8, true);
	}
}

static void load_result(struct gen *gen, const struct ast_expr *expr)
{
	switch (gen->source->context) {
	case GEN_SYSCALL_EXIT:
		code_load(gen->code, BPF_DW, BPF_REG_0, BPF_REG_6, 8);
		return;
	case GEN_RECORD:
		code_load(gen->code, BPF_DW, BPF_REG_0, BPF_REG_6, CALL_VALUES_OFFSET);
		return;
	case GEN_FUNCTION_EXIT:
		load_word(gen, gen->source->params);
		return;
	case GEN_REGISTERS:
		code_load(gen->code, BPF_DW, BPF_REG_0, BPF_REG_6, RESULT_REGISTER);
		return;
	default:
		gen_refuse(gen, expr->place, EINVAL, "this probe has no result");
	}
}

/* ---- built-ins --------------------------------------------------------------------------------- */

static void load_ids(struct gen *gen, bool upper)
{
	code_call(gen->code, BPF_FUNC_get_current_uid_gid);
	if (upper)
		code_alu_imm(gen->code, BPF_RSH, BPF_REG_0, 32);
	else
		code_alu32(gen->code, BPF_MOV, BPF_REG_0, BPF_REG_0);
}

static void load_elapsed(struct gen *gen)
{
	code_call(gen->code, BPF_FUNC_ktime_get_ns);
	code_map_value(gen->code, BPF_REG_1, gen->env->control, offsetof(struct gen_control, start_ns));
	code_load(gen->code, BPF_DW, BPF_REG_1, BPF_REG_1, 0);
	code_alu(gen->code, BPF_SUB, BPF_REG_0, BPF_REG_1);
}

/* R0 = the address of the function that was probed. */
static void load_function(struct gen *gen)
{
	const enum ast_probe_kind kind = gen->unit->kind;

	/* where a function has returned, the registers are those of its caller */
	if (kind == PROBE_UPROBE || kind == PROBE_USDT) {
		code_load(gen->code, BPF_DW, BPF_REG_0, BPF_REG_6, PLACE_REGISTER);
		return;
	}
	code_mov(gen->code, BPF_REG_1, BPF_REG_6);
	code_call(gen->code, BPF_FUNC_get_func_ip);
}

void gen_builtin(struct gen *gen, const struct ast_expr *expr)
{
	const struct emit_machine *machine = gen->env->machine;
	struct code *code = gen->code;

	switch (expr->builtin->id) {
	case BUILTIN_PID:
		code_load(code, BPF_W, BPF_REG_0, BPF_REG_8, machine->task_tgid);
		return;
	case BUILTIN_TID:
		code_load(code, BPF_W, BPF_REG_0, BPF_REG_8, machine->task_pid);
		return;
	case BUILTIN_UID:
	case BUILTIN_USERNAME:
		load_ids(gen, false);
		return;
	case BUILTIN_GID:
		load_ids(gen, true);
		return;
	case BUILTIN_CPU:
		code_call(code, BPF_FUNC_get_smp_processor_id);
		return;
	case BUILTIN_NSECS:
		code_call(code, BPF_FUNC_ktime_get_ns);
		return;
	case BUILTIN_ELAPSED:
		load_elapsed(gen);
		return;
	case BUILTIN_RAND:
		code_call(code, BPF_FUNC_get_prandom_u32);
		return;
	case BUILTIN_CURTASK:
		code_mov(code, BPF_REG_0, BPF_REG_8);
		return;
	case BUILTIN_CGROUP:
		code_call(code, BPF_FUNC_get_current_cgroup_id);
		return;
	case BUILTIN_NUMAID:
		code_call(code, BPF_FUNC_get_numa_node_id);
		return;
	case BUILTIN_PROBE:
		gen_target(gen);
		return;
	case BUILTIN_NAME:
		gen_target(gen);
		code_mov_imm64(code, BPF_REG_1, VALUE_TARGET_NAME);
		code_alu(code, BPF_OR, BPF_REG_0, BPF_REG_1);
		return;
	case BUILTIN_FUNC:
		load_function(gen);
		return;
	case BUILTIN_RETVAL:
		load_result(gen, expr);
		if (expr->type.kind == AST_INTEGER)
			extend(code, bytes_of(&expr->type) * 8, expr->type.is_signed);
		return;
	case BUILTIN_ARG:
		if (gen_is_call(gen))
			load_of_call(gen, CALL_VALUES_OFFSET + (uint32_t)expr->number * 8, expr->place);
		else if (gen->unit->kind == PROBE_USDT)
			gen_static_argument(gen, (uint32_t)expr->number, expr->place);
		else
			load_param(gen, (uint32_t)expr->number, expr->place);
		return;
	default:
		gen_refuse(gen, expr->place, EINVAL, "%s is not a number", expr->builtin->name);
	}
}

/* Clears what is behind the first 0 of the 8 bytes in R1; without one on to the label. Little endian. */
static void clear_behind_nul(struct code *code, int whole)
{
	/* the lowest bit of this is the uppermost one of the first byte that is 0 */
	code_mov_imm64(code, BPF_REG_4, 0x0101010101010101ull);
	code_mov(code, BPF_REG_3, BPF_REG_1);
	code_alu(code, BPF_SUB, BPF_REG_3, BPF_REG_4);
	code_mov(code, BPF_REG_5, BPF_REG_1);
	code_alu_imm(code, BPF_XOR, BPF_REG_5, -1);
	code_alu(code, BPF_AND, BPF_REG_3, BPF_REG_5);
	code_alu_imm(code, BPF_LSH, BPF_REG_4, 7);
	code_alu(code, BPF_AND, BPF_REG_3, BPF_REG_4);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_3, 0, whole);
	/* the bits up to that one */
	code_mov(code, BPF_REG_4, BPF_REG_3);
	code_alu_imm(code, BPF_SUB, BPF_REG_4, 1);
	code_alu(code, BPF_XOR, BPF_REG_3, BPF_REG_4);
	code_alu(code, BPF_AND, BPF_REG_1, BPF_REG_3);
}

/* On some kernels the bytes behind the NUL are those of former names. */
static void store_comm(struct gen *gen, struct gen_place place)
{
	const int offset = gen->env->machine->task_comm;
	struct code *code = gen->code;
	int is_long = code_label(code), whole = code_label(code), done = code_label(code);

	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_8, offset);
	clear_behind_nul(code, is_long);
	gen_save(gen, place, 0, BPF_REG_1);
	code_store_imm(code, BPF_DW, place.base, place.offset + 8, 0);
	code_jump(code, done);
	code_place(code, is_long);
	gen_save(gen, place, 0, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_8, offset + 8);
	clear_behind_nul(code, whole);
	code_place(code, whole);
	gen_save(gen, place, 8, BPF_REG_1);
	code_place(code, done);
}

void gen_builtin_store(struct gen *gen, const struct ast_expr *expr, struct gen_place place)
{
	uint32_t frames = expr->type.count;

	switch (expr->builtin->id) {
	case BUILTIN_COMM:
		store_comm(gen, place);
		return;
	case BUILTIN_FUNC:
		load_function(gen);
		gen_save(gen, place, 0, BPF_REG_0);
		code_load(gen->code, BPF_W, BPF_REG_0, BPF_REG_8, gen->env->machine->task_tgid);
		gen_save(gen, place, 8, BPF_REG_0);
		return;
	case BUILTIN_KSTACK:
	case BUILTIN_USTACK:
		if (!frames || frames > AST_FRAMES_MAX)
			frames = AST_FRAMES_MAX;
		gen_stack(gen, expr->builtin->id == BUILTIN_USTACK, frames, place);
		if (expr->builtin->id == BUILTIN_KSTACK)
			return;
		code_load(gen->code, BPF_W, BPF_REG_0, BPF_REG_8, gen->env->machine->task_tgid);
		gen_save(gen, place, 8, BPF_REG_0);
		return;
	default:
		gen_refuse(gen, expr->place, EOPNOTSUPP, "%s is not supported here yet", expr->builtin->name);
	}
}
