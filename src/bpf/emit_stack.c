/* SPDX-License-Identifier: MIT */
/*
 * Stacks in records of kernel events. Their length is not known before the record is begun, so they are
 * taken into memory beside the rings and copied. A program may be interrupted there by another one, or, at
 * a function of the kernel, its thread by another thread of this CPU: each takes a place that is free.
 */
#include "bpf/emit.h"

#include "bpf/map.h"

/* Programs that take stacks on one CPU at a time; further ones count their event as missed. */
#define PLACES 4

struct place {
	uint64_t taken;
	uint64_t addresses[2 * KERNEL_STACK_FRAMES];
};

#define STACK_BYTES ((int32_t)sizeof(((struct place *)0)->addresses))

int emit_stack_create_map(uint32_t cpus, int *map, struct err *err)
{
	const struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_stacks", .key_bytes = 4,
		.value_bytes = sizeof(struct place), .entries = cpus * PLACES };

	return map_create(&spec, map, err);
}

void emit_stack_init(struct emit *emit, struct emit_stack *stack)
{
	struct code *code = &emit->code;

	stack->scratch = code_stack(code, 8);
	stack->bytes = code_stack(code, 8);
	code_store_imm(code, BPF_DW, BPF_REG_10, stack->scratch, 0);
	code_store_imm(code, BPF_DW, BPF_REG_10, stack->bytes, 0);
}

/* Takes a free place of this CPU, whose number is in the stack's member `bytes` meanwhile. */
static void take_place(struct emit *emit, const struct emit_stack *stack)
{
	struct code *code = &emit->code;
	int got = code_label(code);

	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, PLACES);
	code_store(code, BPF_DW, BPF_REG_10, stack->bytes, BPF_REG_0);
	for (int i = 0; i < PLACES; i++) {
		int next = code_label(code);

		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, stack->bytes);
		code_alu_imm(code, BPF_ADD, BPF_REG_1, i);
		code_store(code, BPF_W, BPF_REG_10, emit->key, BPF_REG_1);
		code_map(code, BPF_REG_1, emit->machine->stacks);
		code_mov(code, BPF_REG_2, BPF_REG_10);
		code_alu_imm(code, BPF_ADD, BPF_REG_2, emit->key);
		code_call(code, BPF_FUNC_map_lookup_elem);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, next);
		code_mov_imm(code, BPF_REG_1, 1);
		code_atomic(code, BPF_DW, BPF_XCHG, BPF_REG_0, offsetof(struct place, taken), BPF_REG_1);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, got);
		code_place(code, next);
	}
	emit_count_missed(emit);
	code_jump(code, emit->out);
	code_place(code, got);
	code_store(code, BPF_DW, BPF_REG_10, stack->scratch, BPF_REG_0);
}

/* Takes one stack behind those that are there; one that can't be taken is empty. */
static void take(struct emit *emit, const struct emit_stack *stack, int flags)
{
	struct code *code = &emit->code;
	int none = code_label(code);

	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, stack->scratch);
	if (flags & BPF_F_USER_STACK) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, stack->bytes);
		code_jump_if_imm(code, BPF_JGT, BPF_REG_1, STACK_BYTES / 2, none);
		code_alu(code, BPF_ADD, BPF_REG_2, BPF_REG_1);
	}
	code_alu_imm(code, BPF_ADD, BPF_REG_2, offsetof(struct place, addresses));
	code_mov(code, BPF_REG_1, BPF_REG_6);
	code_mov_imm(code, BPF_REG_3, STACK_BYTES / 2);
	code_mov_imm(code, BPF_REG_4, flags);
	code_call(code, BPF_FUNC_get_stack);
	code_jump_if_imm(code, BPF_JSLE, BPF_REG_0, 0, none);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, stack->bytes);
	code_alu(code, BPF_ADD, BPF_REG_1, BPF_REG_0);
	code_store(code, BPF_DW, BPF_REG_10, stack->bytes, BPF_REG_1);
	code_place(code, none);
}

void emit_stack_take(struct emit *emit, const struct emit_stack *stack, int skip)
{
	struct code *code = &emit->code;

	take_place(emit, stack);
	code_store_imm(code, BPF_DW, BPF_REG_10, stack->bytes, 0);
	take(emit, stack, skip);
	take(emit, stack, BPF_F_USER_STACK);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->bytes);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, stack->bytes);
	code_alu(code, BPF_ADD, BPF_REG_1, BPF_REG_2);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, 8);
	code_store(code, BPF_DW, BPF_REG_10, emit->bytes, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->flags);
	code_alu_imm(code, BPF_OR, BPF_REG_1, KERNEL_RECORD_STACK);
	code_store(code, BPF_DW, BPF_REG_10, emit->flags, BPF_REG_1);
}

void emit_stack_write(struct emit *emit, const struct emit_stack *stack)
{
	struct code *code = &emit->code;
	int none = code_label(code), given_back = code_label(code);

	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_10, stack->scratch);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_3, 0, none);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, stack->bytes);
	code_alu_imm(code, BPF_AND, BPF_REG_2, -8);
	code_jump_if_imm(code, BPF_JGT, BPF_REG_2, STACK_BYTES, given_back);
	code_mov(code, BPF_REG_1, BPF_REG_6);
	code_alu(code, BPF_ADD, BPF_REG_6, BPF_REG_2);
	code_alu_imm(code, BPF_ADD, BPF_REG_3, offsetof(struct place, addresses));
	if (emit->machine->memory_refused) {
		code_mov(code, BPF_REG_4, BPF_REG_1);
		emit_copy(emit, STACK_BYTES);
	} else {
		code_call(code, BPF_FUNC_probe_read_kernel);
	}
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, stack->bytes);
	code_alu_imm(code, BPF_RSH, BPF_REG_1, 3);
	code_store(code, BPF_DW, BPF_REG_6, 0, BPF_REG_1);
	code_place(code, given_back);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, stack->scratch);
	code_mov_imm(code, BPF_REG_2, 0);
	code_atomic(code, BPF_DW, BPF_XCHG, BPF_REG_1, offsetof(struct place, taken), BPF_REG_2);
	code_place(code, none);
}
