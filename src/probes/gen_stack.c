/* SPDX-License-Identifier: MIT */
/* The third stage: stacks. */
#include "probes/gen_state.h"

/* Multipliers of the hash of a stack: odd, with many bits. */
#define HASH_BEGIN 0x9e3779b97f4a7c15ull
#define HASH_TIMES 0xff51afd7ed558ccdull

/*
 * What is read of a user's stack at a time: many frames are in it, and the part of a thread's stack above its
 * first frame is not smaller.
 */
#define WINDOW_BYTES 512
/* Of a frame: the address of the caller's frame, and the return address. */
#define FRAME_BYTES 16
/* No memory is mapped below: such a frame pointer ends the stack. */
#define FRAME_LOWEST 4096
#if defined(__x86_64__)
#define WALKS_FRAMES true
/* In struct pt_regs, <asm/ptrace.h> */
#define FRAME_REGISTER 32  /* bp */
#define PLACE_REGISTER 128 /* ip */
#define STACK_REGISTER 152 /* sp */
#else
#define WALKS_FRAMES false
#define FRAME_REGISTER 0
#define PLACE_REGISTER 0
#define STACK_REGISTER 0
#endif

/* The frames as the kernel finds them. */
static void ask_kernel(struct gen *gen, bool is_user, uint32_t frames, struct gen_place place)
{
	const enum gen_context context = gen->source->context;
	const bool is_typed = context == GEN_FUNCTION || context == GEN_FUNCTION_EXIT;
	struct gen_place first = { .base = place.base, .offset = place.offset + 8 };
	struct code *code = gen->code;
	int there = code_label(code);

	code_mov(code, BPF_REG_1, BPF_REG_6);
	gen_address(gen, BPF_REG_2, first);
	code_mov_imm(code, BPF_REG_3, (int32_t)frames * 8);
	code_mov_imm(code, BPF_REG_4, is_user ? BPF_F_USER_STACK : is_typed ? CODE_TRAMPOLINE_FRAMES : 0);
	code_call(code, BPF_FUNC_get_stack);
	code_jump_if_imm(code, BPF_JSGE, BPF_REG_0, 0, there);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, there);
	code_alu_imm(code, BPF_RSH, BPF_REG_0, 3);
	gen_save(gen, place, 0, BPF_REG_0);
}

/* What walks a user's stack. */
struct walk {
	struct gen_place window; /* WINDOW_BYTES of the stack */
	int frame, begin;	 /* on the stack: the frame pointer; where the window begins */
	uint32_t frames;
	struct gen_place place;
	int end; /* label */
};

/* R1 = where the window has the frame, for which it may be read. Without memory there on to the end. */
static void find_frame(struct gen *gen, const struct walk *walk)
{
	struct code *code = gen->code;
	int is_there = code_label(code), is_read = code_label(code);

	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, walk->frame);
	code_jump_if_imm(code, BPF_JLT, BPF_REG_1, FRAME_LOWEST, walk->end);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, walk->begin);
	code_alu(code, BPF_SUB, BPF_REG_1, BPF_REG_2);
	code_jump_if_imm(code, BPF_JLE, BPF_REG_1, WINDOW_BYTES - FRAME_BYTES, is_there);
	for (int bytes = WINDOW_BYTES; bytes; bytes = bytes == WINDOW_BYTES ? FRAME_BYTES : 0) {
		gen_address(gen, BPF_REG_1, walk->window);
		code_mov_imm(code, BPF_REG_2, bytes);
		code_load(code, BPF_DW, BPF_REG_3, BPF_REG_10, walk->frame);
		/* of one frame nothing behind it may be taken for another one */
		if (bytes == WINDOW_BYTES)
			code_store(code, BPF_DW, BPF_REG_10, walk->begin, BPF_REG_3);
		else
			code_store_imm(code, BPF_DW, BPF_REG_10, walk->begin, 0);
		code_call(code, BPF_FUNC_probe_read_user);
		code_mov_imm(code, BPF_REG_1, 0);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, bytes == WINDOW_BYTES ? is_there : is_read);
	}
	code_jump(code, walk->end);
	code_place(code, is_read);
	code_place(code, is_there);
	code_alu(code, BPF_ADD, BPF_REG_1, walk->window.base);
}

/* The frames from the second one on; R7 is their count. */
static void follow_frames(struct gen *gen, const struct walk *walk)
{
	struct code *code = gen->code;
	int again = code_label(code);

	code_place(code, again);
	code_jump_if_imm(code, BPF_JGE, BPF_REG_7, (int32_t)walk->frames, walk->end);
	find_frame(gen, walk);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_1, walk->window.offset);
	code_store(code, BPF_DW, BPF_REG_10, walk->frame, BPF_REG_2);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_1, walk->window.offset + 8);
	code_mov(code, BPF_REG_3, BPF_REG_7);
	code_alu_imm(code, BPF_LSH, BPF_REG_3, 3);
	code_alu(code, BPF_ADD, BPF_REG_3, walk->place.base);
	code_store(code, BPF_DW, BPF_REG_3, walk->place.offset + 8, BPF_REG_2);
	code_alu_imm(code, BPF_ADD, BPF_REG_7, 1);
	code_jump(code, again);
}

/*
 * The user's stack in a system call, by frame pointers as the kernel follows them. The kernel finds the end
 * of a stack by a page fault, which takes longer than all else. What is below the stack pointer is no frame:
 * the function uses the register otherwise. A thread with uprobes may have addresses on its stack that the
 * kernel has replaced: its frames are the kernel's to find.
 */
static void walk_frames(struct gen *gen, uint32_t frames, struct gen_place place)
{
	struct gen_mark mark = gen_mark(gen);
	struct code *code = gen->code;
	struct types_field uprobes;
	struct walk walk = { .frames = frames, .place = place, .end = code_label(code) };
	int kernel = code_label(code), done = code_label(code);
	const bool has_uprobes = !types_field_of(gen->env->types, "task_struct", "utask", &uprobes, NULL);

	walk.window = gen_room(gen, WINDOW_BYTES);
	walk.frame = code_stack(code, 8);
	walk.begin = code_stack(code, 8);
	if (has_uprobes) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_8, (int)uprobes.offset);
		code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, kernel);
	}
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_6, 0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_2, FRAME_REGISTER);
	code_store(code, BPF_DW, BPF_REG_10, walk.frame, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_2, PLACE_REGISTER);
	gen_save(gen, place, 8, BPF_REG_3);
	code_store_imm(code, BPF_DW, BPF_REG_10, walk.begin, 0);
	code_mov_imm(code, BPF_REG_7, 1);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_2, STACK_REGISTER);
	code_jump_if(code, BPF_JLT, BPF_REG_1, BPF_REG_2, walk.end);
	follow_frames(gen, &walk);
	code_place(code, walk.end);
	gen_save(gen, place, 0, BPF_REG_7);
	if (has_uprobes) {
		code_jump(code, done);
		code_place(code, kernel);
		ask_kernel(gen, true, frames, place);
		code_place(code, done);
	}
	gen_back(gen, mark);
}

void gen_frames(struct gen *gen, bool is_user, uint32_t frames, struct gen_place place)
{
	if (WALKS_FRAMES && is_user && gen_is_call(gen) && gen->env->types)
		walk_frames(gen, frames, place);
	else
		ask_kernel(gen, is_user, frames, place);
}

/* R0 = the hash of the frames at a place. */
static void hash_frames(struct gen *gen, uint32_t frames, struct gen_place place)
{
	struct code *code = gen->code;
	int again = code_label(code), end = code_label(code);

	gen_load(gen, BPF_REG_3, place, 0);
	gen_address(gen, BPF_REG_2, place);
	code_mov_imm64(code, BPF_REG_0, HASH_BEGIN);
	code_mov_imm64(code, BPF_REG_1, HASH_TIMES);
	code_mov_imm(code, BPF_REG_5, 0);
	code_place(code, again);
	code_jump_if(code, BPF_JGE, BPF_REG_5, BPF_REG_3, end);
	code_jump_if_imm(code, BPF_JGE, BPF_REG_5, (int32_t)frames, end);
	code_load(code, BPF_DW, BPF_REG_4, BPF_REG_2, 8);
	code_alu(code, BPF_XOR, BPF_REG_0, BPF_REG_4);
	code_alu(code, BPF_MUL, BPF_REG_0, BPF_REG_1);
	code_mov(code, BPF_REG_4, BPF_REG_0);
	code_alu_imm(code, BPF_RSH, BPF_REG_4, 32);
	code_alu(code, BPF_XOR, BPF_REG_0, BPF_REG_4);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, 8);
	code_alu_imm(code, BPF_ADD, BPF_REG_5, 1);
	code_jump(code, again);
	code_place(code, end);
}

void gen_stack(struct gen *gen, bool is_user, uint32_t frames, struct gen_place place)
{
	struct gen_mark mark = gen_mark(gen);
	struct gen_place stack = gen_room(gen, sizeof(struct gen_stack));
	struct code *code = gen->code;
	int known = code_label(code);

	gen_frames(gen, is_user, frames, stack);
	hash_frames(gen, frames, stack);
	gen_save(gen, place, 0, BPF_REG_0);
	code_map(code, BPF_REG_1, gen->env->stacks);
	gen_address(gen, BPF_REG_2, place);
	code_call(code, BPF_FUNC_map_lookup_elem);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, known);
	code_map(code, BPF_REG_1, gen->env->stacks);
	gen_address(gen, BPF_REG_2, place);
	gen_address(gen, BPF_REG_3, stack);
	code_mov_imm(code, BPF_REG_4, BPF_ANY);
	code_call(code, BPF_FUNC_map_update_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, known);
	gen_zero(gen, place, 8);
	gen_count(gen, offsetof(struct gen_counts, dropped));
	code_place(code, known);
	gen_back(gen, mark);
}
