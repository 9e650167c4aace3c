/* SPDX-License-Identifier: MIT */
/*
 * An assembler of BPF instructions, used at run time: registers, jumps to labels, helper calls, maps
 * and places on the stack.
 *
 * A caller appends instructions, and code_finish() resolves the labels. The functions return
 * nothing: the first error is kept, later calls do nothing, and code_finish() reports it. One
 * thread at a time. Registers are BPF_REG_0 to BPF_REG_10, sizes BPF_B, BPF_H, BPF_W and BPF_DW, and
 * operations BPF_ADD, BPF_JEQ, ... of <linux/bpf.h>. Offsets are in bytes.
 */
#ifndef KPROFS_BPF_CODE_H
#define KPROFS_BPF_CODE_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The innermost frames of a stack of the kernel that a program takes: of the program itself, where it has
 * no registers of what is probed (raw tracepoints, fentry, fexit), and with fentry and fexit of what calls
 * it. On arm64 the kernel begins such a stack with the program twice (seen on 6.12:
 * perf_arch_fetch_caller_regs() gives the place in the program, and the helper's frame returns to it).
 */
#if defined(__aarch64__)
#define CODE_PROGRAM_FRAMES 2
#else
#define CODE_PROGRAM_FRAMES 1
#endif
#define CODE_TRAMPOLINE_FRAMES (CODE_PROGRAM_FRAMES + 1)

/* The stack of one program, a limit of the kernel. */
#define CODE_STACK_BYTES 512
/* More instructions than any program here has; below the offsets that a jump can have. */
#define CODE_INSTRUCTIONS_MAX 16384

/* The kernel's limit of the maps that a program names (MAX_USED_MAPS). */
#define CODE_MAPS_MAX 64

struct code {
	struct bpf_insn *insns;
	uint32_t count;
	uint32_t room;
	int32_t *labels; /* the instruction of each label, -1 where it is not placed yet */
	uint32_t label_count;
	uint32_t label_room;
	int stack; /* bytes in use below R10 */
	int error; /* -errno of the first failure, or 0 */
	const char *reason;
};

/* Releases nothing of former content; code_fini() releases everything. */
void code_init(struct code *code);
void code_fini(struct code *code);

/* dst = src; dst = value, sign-extended; dst = the 64 bits of value (two instructions). */
void code_mov(struct code *code, int dst, int src);
void code_mov_imm(struct code *code, int dst, int32_t value);
void code_mov_imm64(struct code *code, int dst, uint64_t value);

/*
 * dst = dst OP src, or OP a sign-extended constant, with 64 bits; with 32 bits the upper half of dst is
 * cleared.
 */
void code_alu(struct code *code, int op, int dst, int src);
void code_alu_imm(struct code *code, int op, int dst, int32_t value);
void code_alu32(struct code *code, int op, int dst, int src);
void code_alu32_imm(struct code *code, int op, int dst, int32_t value);
/* Swaps the bytes of the low `bits` (16, 32, 64) from or to big endian, and clears the rest. */
void code_big_endian(struct code *code, int dst, int bits);

/* dst = *(size *)(src + offset), zero-extended; *(size *)(dst + offset) = src or value. */
void code_load(struct code *code, int size, int dst, int src, int offset);
void code_store(struct code *code, int size, int dst, int offset, int src);
void code_store_imm(struct code *code, int size, int dst, int offset, int32_t value);
/*
 * An atomic operation on memory with size BPF_W or BPF_DW: op is BPF_ADD, BPF_OR, ..., with BPF_FETCH the
 * old value is put into src; BPF_XCHG and BPF_CMPXCHG (which compares with R0) fetch always.
 */
void code_atomic(struct code *code, int size, int op, int dst, int offset, int src);

/* A new label, which code_place() puts before the next instruction. */
int code_label(struct code *code);
void code_place(struct code *code, int label);
void code_jump(struct code *code, int label);
/* Jumps if dst OP src, with OP one of BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JSGT, BPF_JSET, ... */
void code_jump_if(struct code *code, int op, int dst, int src, int label);
void code_jump_if_imm(struct code *code, int op, int dst, int32_t value, int label);

/* `result` = the floor of the base-2 logarithm of `value`, 0 for 0. Changes `value` and `scratch`. */
void code_log2(struct code *code, int result, int value, int scratch);

/* Calls a helper (BPF_FUNC_...): arguments in R1 to R5, result in R0; R1 to R5 are lost. */
void code_call(struct code *code, int helper);
/* The program ends with R0 as its result, or with a constant. */
void code_exit(struct code *code);
void code_return(struct code *code, int32_t value);

/* dst = the map of a descriptor, as an argument of a helper. */
void code_map(struct code *code, int dst, int map_fd);
/* dst = the address of byte `offset` of the value of an array map with one entry. */
void code_map_value(struct code *code, int dst, int map_fd, uint32_t offset);

/*
 * Takes `bytes` of the stack, aligned to 8. Returns their offset from R10, which is negative. The
 * stack is not cleared. code_stack_back() gives back all that was taken since `mark`, which is
 * the member `stack` at that time.
 */
int code_stack(struct code *code, int bytes);
void code_stack_back(struct code *code, int mark);

/*
 * Resolves the labels. Returns 0 or the first error: -ENOMEM, -E2BIG (too many instructions or maps, a jump
 * too far, or more stack than there is), -EINVAL (a label without a place). After success `insns` and
 * `count` are the program.
 */
int code_finish(struct code *code, struct err *err);

#endif
