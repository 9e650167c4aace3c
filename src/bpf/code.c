/* SPDX-License-Identifier: MIT */
/* An assembler of BPF instructions. */
#include "bpf/code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Until code_finish() the offset of a jump holds the number of its label, counted from here. */
#define FIRST_LABEL INT16_MIN

static void fail(struct code *code, int error, const char *reason)
{
	if (code->error)
		return;
	code->error = -error;
	code->reason = reason;
}

void code_init(struct code *code)
{
	memset(code, 0, sizeof(*code));
}

void code_fini(struct code *code)
{
	free(code->insns);
	free(code->labels);
	code_init(code);
}

/* Makes room for one more item. */
static int grow(void **items, uint32_t *room, uint32_t count, size_t bytes)
{
	uint32_t more;
	void *larger;

	if (count < *room)
		return 0;
	more = *room ? *room * 2 : 64;
	larger = realloc(*items, more * bytes);
	if (!larger)
		return -ENOMEM;
	*items = larger;
	*room = more;
	return 0;
}

static void emit(struct code *code, int op, int dst, int src, int offset, int32_t imm)
{
	struct bpf_insn *insn;

	if (code->error)
		return;
	if (code->count >= CODE_INSTRUCTIONS_MAX) {
		fail(code, E2BIG, "the program has too many instructions");
		return;
	}
	if (offset < INT16_MIN || offset > INT16_MAX) {
		fail(code, E2BIG, "an offset in the program is beyond 32 KiB");
		return;
	}
	if (grow((void **)&code->insns, &code->room, code->count, sizeof(*insn))) {
		fail(code, ENOMEM, "there is no memory for the program");
		return;
	}
	insn = &code->insns[code->count++];
	insn->code = (__u8)op;
	insn->dst_reg = (__u8)(dst & 15);
	insn->src_reg = (__u8)(src & 15);
	insn->off = (__s16)offset;
	insn->imm = imm;
}

void code_mov(struct code *code, int dst, int src)
{
	emit(code, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

void code_mov_imm(struct code *code, int dst, int32_t value)
{
	emit(code, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value);
}

/* The 16 bytes of a 64-bit constant; src says what the constant is. */
static void wide(struct code *code, int dst, int src, uint32_t low, uint32_t high)
{
	emit(code, BPF_LD | BPF_DW | BPF_IMM, dst, src, 0, (int32_t)low);
	emit(code, 0, 0, 0, 0, (int32_t)high);
}

void code_mov_imm64(struct code *code, int dst, uint64_t value)
{
	if ((int64_t)value == (int32_t)value)
		code_mov_imm(code, dst, (int32_t)value);
	else
		wide(code, dst, 0, (uint32_t)value, (uint32_t)(value >> 32));
}

void code_alu(struct code *code, int op, int dst, int src)
{
	emit(code, BPF_ALU64 | op | BPF_X, dst, src, 0, 0);
}

void code_alu_imm(struct code *code, int op, int dst, int32_t value)
{
	emit(code, BPF_ALU64 | op | BPF_K, dst, 0, 0, value);
}

void code_alu32(struct code *code, int op, int dst, int src)
{
	emit(code, BPF_ALU | op | BPF_X, dst, src, 0, 0);
}

void code_alu32_imm(struct code *code, int op, int dst, int32_t value)
{
	emit(code, BPF_ALU | op | BPF_K, dst, 0, 0, value);
}

void code_big_endian(struct code *code, int dst, int bits)
{
	emit(code, BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, bits);
}

void code_load(struct code *code, int size, int dst, int src, int offset)
{
	emit(code, BPF_LDX | size | BPF_MEM, dst, src, offset, 0);
}

void code_store(struct code *code, int size, int dst, int offset, int src)
{
	emit(code, BPF_STX | size | BPF_MEM, dst, src, offset, 0);
}

void code_store_imm(struct code *code, int size, int dst, int offset, int32_t value)
{
	emit(code, BPF_ST | size | BPF_MEM, dst, 0, offset, value);
}

void code_atomic(struct code *code, int size, int op, int dst, int offset, int src)
{
	emit(code, BPF_STX | size | BPF_ATOMIC, dst, src, offset, op);
}

int code_label(struct code *code)
{
	if (code->error)
		return 0;
	if (grow((void **)&code->labels, &code->label_room, code->label_count, sizeof(*code->labels))) {
		fail(code, ENOMEM, "there is no memory for the program");
		return 0;
	}
	code->labels[code->label_count] = -1;
	return (int)code->label_count++;
}

void code_place(struct code *code, int label)
{
	if (!code->error)
		code->labels[label] = (int32_t)code->count;
}

static void jump(struct code *code, int op, int dst, int src, int32_t imm, int label)
{
	emit(code, op, dst, src, FIRST_LABEL + label, imm);
}

void code_jump(struct code *code, int label)
{
	jump(code, BPF_JMP | BPF_JA, 0, 0, 0, label);
}

void code_jump_if(struct code *code, int op, int dst, int src, int label)
{
	jump(code, BPF_JMP | op | BPF_X, dst, src, 0, label);
}

void code_jump_if_imm(struct code *code, int op, int dst, int32_t value, int label)
{
	jump(code, BPF_JMP | op | BPF_K, dst, 0, value, label);
}

void code_log2(struct code *code, int result, int value, int scratch)
{
	code_mov_imm(code, result, 0);
	for (int32_t bits = 32; bits; bits /= 2) {
		int smaller = code_label(code);

		code_mov(code, scratch, value);
		code_alu_imm(code, BPF_RSH, scratch, bits);
		code_jump_if_imm(code, BPF_JEQ, scratch, 0, smaller);
		code_mov(code, value, scratch);
		code_alu_imm(code, BPF_ADD, result, bits);
		code_place(code, smaller);
	}
}

void code_call(struct code *code, int helper)
{
	emit(code, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

void code_exit(struct code *code)
{
	emit(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

void code_return(struct code *code, int32_t value)
{
	code_mov_imm(code, BPF_REG_0, value);
	code_exit(code);
}

void code_map(struct code *code, int dst, int map_fd)
{
	wide(code, dst, BPF_PSEUDO_MAP_FD, (uint32_t)map_fd, 0);
}

void code_map_value(struct code *code, int dst, int map_fd, uint32_t offset)
{
	wide(code, dst, BPF_PSEUDO_MAP_VALUE, (uint32_t)map_fd, offset);
}

int code_stack(struct code *code, int bytes)
{
	code->stack += (bytes + 7) & ~7;
	if (code->stack > CODE_STACK_BYTES)
		fail(code, E2BIG, "the program needs more than the 512 bytes of stack that the kernel gives");
	return -code->stack;
}

void code_stack_back(struct code *code, int mark)
{
	code->stack = mark;
}

/* Whether it is a jump to a label; calls and exits are of the same class. */
static int jumps(const struct bpf_insn *insn)
{
	int op = insn->code & 0xf0;

	return (insn->code & 7) == BPF_JMP && op != BPF_CALL && op != BPF_EXIT;
}

static void resolve(struct code *code)
{
	uint32_t i, label;
	int64_t offset;

	for (i = 0; i < code->count; i++) {
		struct bpf_insn *insn = &code->insns[i];

		if (insn->code == (BPF_LD | BPF_DW | BPF_IMM)) {
			i++;
			continue;
		}
		if (!jumps(insn))
			continue;
		label = (uint32_t)(insn->off - FIRST_LABEL);
		if (label >= code->label_count || code->labels[label] < 0) {
			fail(code, EINVAL, "a jump of the program has no target");
			return;
		}
		offset = (int64_t)code->labels[label] - (i + 1);
		insn->off = (__s16)offset; /* CODE_INSTRUCTIONS_MAX keeps it within 16 bits */
	}
}

static bool is_of_map(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_DW | BPF_IMM) &&
		(insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE);
}

/* The kernel says of too many maps only that there are. */
static void count_maps(struct code *code)
{
	int32_t maps[CODE_MAPS_MAX];
	uint32_t count = 0, at;

	for (const struct bpf_insn *insn = code->insns; insn < code->insns + code->count; insn++) {
		if (!is_of_map(insn))
			continue;
		for (at = 0; at < count && maps[at] != insn->imm; at++)
			;
		if (at == CODE_MAPS_MAX) {
			fail(code, E2BIG, "the program needs more than the 64 maps that the kernel allows");
			return;
		}
		if (at == count)
			maps[count++] = insn->imm;
	}
}

int code_finish(struct code *code, struct err *err)
{
	if (!code->error)
		resolve(code);
	if (!code->error)
		count_maps(code);
	if (code->error)
		return err_set(err, -code->error, "%s", code->reason);
	return 0;
}
