/* SPDX-License-Identifier: MIT */
/* The calls that threads have begun. */
#include "kernel/begun_code.h"

#include "base/units.h"
#include "bpf/map.h"

/*
 * Threads without a slot whose calls are under way at a time: with more, those that have waited longest
 * lose their arguments, and their records say so.
 */
#define OTHERS_MAX 16384
/* After this time a thread is taken not to be changing its slot at this moment. */
#define SETTLED_NS ((int32_t)NSEC_PER_SEC)

_Static_assert(sizeof(struct begun_slot) == 64, "a slot is one cache line");

int begun_code_create_maps(int *slots_map, int *others_map, struct err *err)
{
	/* values of an array that can be mapped begin at a page, so at a cache line */
	const struct map_spec slots = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_calls", .key_bytes = 4,
		.value_bytes = sizeof(struct begun_slot), .entries = BEGUN_SLOTS, .flags = BPF_F_MMAPABLE };
	const struct map_spec others = { .type = BPF_MAP_TYPE_LRU_HASH, .name = "kp_other_calls",
		.key_bytes = 4, .value_bytes = sizeof(struct begun_slot), .entries = OTHERS_MAX };
	int ret = map_create(&slots, slots_map, err);

	return ret ? ret : map_create(&others, others_map, err);
}

/* reg = the number of the thread. */
static void load_thread(struct emit *emit, int reg)
{
	code_load(&emit->code, BPF_W, reg, BPF_REG_8, emit->machine->task_pid);
}

/* R0 = the value of the key on the stack, or 0. */
static void look_up(struct emit *emit, int map)
{
	struct code *code = &emit->code;

	code_map(code, BPF_REG_1, map);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, emit->key);
	code_call(code, BPF_FUNC_map_lookup_elem);
}

/* R9 = the slot of this thread, which may be another's. */
static void find_slot(struct emit *emit, const struct call_machine *maps)
{
	struct code *code = &emit->code;

	load_thread(emit, BPF_REG_1);
	code_alu_imm(code, BPF_AND, BPF_REG_1, BEGUN_SLOTS - 1);
	code_store(code, BPF_W, BPF_REG_10, emit->key, BPF_REG_1);
	look_up(emit, maps->slots);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, emit->out);
	code_mov(code, BPF_REG_9, BPF_REG_0);
}

/* Puts the struct begun_slot on the stack into the hash map, with the key on the stack. */
static void put_other(struct emit *emit, const struct call_machine *maps, int value)
{
	struct code *code = &emit->code;

	code_map(code, BPF_REG_1, maps->others);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, emit->key);
	code_mov(code, BPF_REG_3, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_3, value);
	code_mov_imm(code, BPF_REG_4, 0);
	code_call(code, BPF_FUNC_map_update_elem);
}

/* Stores the registers at these offsets from R6 at reg + at. */
static void store_args(struct emit *emit, int size, const int *registers, int reg, int at)
{
	for (int i = 0; i < (int)KERNEL_CALL_ARGS; i++) {
		code_load(&emit->code, size, BPF_REG_1, BPF_REG_6, registers[i]);
		code_store(&emit->code, BPF_DW, reg, at + i * 8, BPF_REG_1);
	}
}

void begun_code_args(struct emit *emit, int reg, int at)
{
	const struct emit_machine *machine = emit->machine;
	struct code *code = &emit->code;
	int compat, done;

	if (machine->task_status < 0) {
		store_args(emit, BPF_DW, machine->regs_args, reg, at);
		return;
	}
	compat = code_label(code);
	done = code_label(code);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->flags);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, compat);
	store_args(emit, BPF_DW, machine->regs_args, reg, at);
	code_jump(code, done);
	code_place(code, compat);
	store_args(emit, BPF_W, machine->regs_compat, reg, at);
	code_place(code, done);
}

/* All of a struct begun_slot at reg + at but its owner; last what says that it is there. */
static void store(struct emit *emit, int reg, int at)
{
	struct code *code = &emit->code;

	code_store(code, BPF_H, reg, at + (int)offsetof(struct begun_slot, number), BPF_REG_7);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->flags);
	code_store(code, BPF_H, reg, at + (int)offsetof(struct begun_slot, flags), BPF_REG_1);
	begun_code_args(emit, reg, at + (int)offsetof(struct begun_slot, args));
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->now);
	code_alu_imm(code, BPF_LSH, BPF_REG_1, 1);
	code_alu_imm(code, BPF_OR, BPF_REG_1, 1);
	code_store(code, BPF_DW, reg, at + (int)offsetof(struct begun_slot, state), BPF_REG_1);
}

/* R0 is the owner of the slot, another thread: takes the slot from it, or goes to `failed`. */
static void take_slot(struct emit *emit, const struct call_machine *maps, int value, int failed)
{
	struct code *code = &emit->code;
	int claim = code_label(code);

	code_store(code, BPF_W, BPF_REG_10, emit->key, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_9, offsetof(struct begun_slot, state));
	code_mov(code, BPF_REG_3, BPF_REG_2);
	code_alu_imm(code, BPF_RSH, BPF_REG_3, 1);
	code_load(code, BPF_DW, BPF_REG_4, BPF_REG_10, emit->now);
	code_alu(code, BPF_SUB, BPF_REG_4, BPF_REG_3);
	code_jump_if_imm(code, BPF_JSLE, BPF_REG_4, SETTLED_NS, failed);
	code_alu_imm(code, BPF_AND, BPF_REG_2, 1);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_2, 0, claim);
	for (int i = 0; i < (int)sizeof(struct begun_slot); i += 8) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, i);
		code_store(code, BPF_DW, BPF_REG_10, value + i, BPF_REG_1);
	}
	put_other(emit, maps, value);
	code_place(code, claim);
	load_thread(emit, BPF_REG_1);
	code_load(code, BPF_W, BPF_REG_0, BPF_REG_10, emit->key);
	code_mov(code, BPF_REG_2, BPF_REG_0);
	code_atomic(code, BPF_W, BPF_CMPXCHG, BPF_REG_9, offsetof(struct begun_slot, owner), BPF_REG_1);
	code_jump_if(code, BPF_JNE, BPF_REG_0, BPF_REG_2, failed);
}

void begun_code_keep(struct emit *emit, const struct call_machine *maps, int value)
{
	struct code *code = &emit->code;
	int own = code_label(code), other = code_label(code), kept = code_label(code);

	find_slot(emit, maps);
	load_thread(emit, BPF_REG_1);
	code_load(code, BPF_W, BPF_REG_0, BPF_REG_9, offsetof(struct begun_slot, owner));
	code_jump_if(code, BPF_JEQ, BPF_REG_0, BPF_REG_1, own);
	take_slot(emit, maps, value, other);
	code_place(code, own);
	store(emit, BPF_REG_9, 0);
	code_jump(code, kept);
	code_place(code, other);
	load_thread(emit, BPF_REG_1);
	code_store(code, BPF_W, BPF_REG_10, emit->key, BPF_REG_1);
	code_store(code, BPF_W, BPF_REG_10, value + (int)offsetof(struct begun_slot, owner), BPF_REG_1);
	store(emit, BPF_REG_10, value);
	put_other(emit, maps, value);
	code_place(code, kept);
}

/* The same for the struct begun_slot at R9; it is a slot, which its owner may lose meanwhile, or is not. */
static void take(struct emit *emit, int duration, int args, bool slot, int unknown)
{
	struct code *code = &emit->code;
	int there = code_label(code);

	code_load(code, BPF_H, BPF_REG_1, BPF_REG_9, offsetof(struct begun_slot, number));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_7, unknown);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_9, offsetof(struct begun_slot, state));
	code_jump_if_imm(code, BPF_JSET, BPF_REG_2, 1, there);
	code_jump(code, emit->out);
	code_place(code, there);
	code_alu_imm(code, BPF_RSH, BPF_REG_2, 1);
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_10, emit->now);
	code_mov(code, BPF_REG_1, BPF_REG_3);
	code_alu(code, BPF_SUB, BPF_REG_1, BPF_REG_2);
	code_store(code, BPF_DW, BPF_REG_10, duration, BPF_REG_1);
	for (int i = 0; i < (int)KERNEL_CALL_ARGS; i++) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, (int)offsetof(struct begun_slot, args) + i * 8);
		code_store(code, BPF_DW, BPF_REG_10, args + i * 8, BPF_REG_1);
	}
	if (slot) {
		load_thread(emit, BPF_REG_1);
		code_load(code, BPF_W, BPF_REG_2, BPF_REG_9, offsetof(struct begun_slot, owner));
		code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, unknown);
	}
	code_alu_imm(code, BPF_LSH, BPF_REG_3, 1);
	code_store(code, BPF_DW, BPF_REG_9, offsetof(struct begun_slot, state), BPF_REG_3);
}

void begun_code_take(struct emit *emit, const struct call_machine *maps, int duration, int args,
	int unknown)
{
	struct code *code = &emit->code;
	int other = code_label(code), done = code_label(code);

	find_slot(emit, maps);
	load_thread(emit, BPF_REG_1);
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_9, offsetof(struct begun_slot, owner));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, other);
	take(emit, duration, args, true, unknown);
	code_jump(code, done);
	code_place(code, other);
	code_store(code, BPF_W, BPF_REG_10, emit->key, BPF_REG_1);
	look_up(emit, maps->others);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, unknown);
	code_mov(code, BPF_REG_9, BPF_REG_0);
	take(emit, duration, args, false, unknown);
	code_place(code, done);
}
