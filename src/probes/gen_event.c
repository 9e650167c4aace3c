/* SPDX-License-Identifier: MIT */
/*
 * The third stage: events of programs that are linked with libkprof. All of them reach one place of the
 * library (src/client/probe.c) with the five arguments of enum kprof_place_argument.
 */
#include "probes/gen_state.h"

#include <string.h>

#include <kprof/attach_abi.h>

static const int registers[] = KPROF_PLACE_OFFSETS;

/* To the end of the program unless there is this text, with its NUL, at the address in a register. */
static void match_text(struct gen *gen, int reg, const char *text)
{
	const uint32_t bytes = (uint32_t)strlen(text) + 1;
	struct gen_mark mark = gen_mark(gen);
	struct code *code = gen->code;
	const struct gen_place place = { .base = BPF_REG_10,
		.offset = code_stack(code, (int)(bytes + 7) / 8 * 8) };

	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_6, reg);
	gen_zero(gen, place, bytes);
	gen_address(gen, BPF_REG_1, place);
	code_mov_imm(code, BPF_REG_2, (int32_t)bytes);
	code_call(code, BPF_FUNC_probe_read_user);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, gen->emit->out);
	for (uint32_t at = 0; at < bytes; at += 8) {
		uint64_t word = 0;

		memcpy(&word, text + at, bytes - at < 8 ? bytes - at : 8);
		gen_load(gen, BPF_REG_1, place, at);
		code_mov_imm64(code, BPF_REG_2, word);
		code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, gen->emit->out);
	}
	gen_back(gen, mark);
}

void gen_match_event(struct gen *gen)
{
	struct code *code = gen->code;

	if (gen->unit->has_format) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, registers[KPROF_PLACE_HASH]);
		code_mov_imm64(code, BPF_REG_2, gen->unit->format_hash);
		code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, gen->emit->out);
	}
	match_text(gen, registers[KPROF_PLACE_EVENT_NAME], gen->source->event);
	match_text(gen, registers[KPROF_PLACE_EVENT_PROVIDER], gen->source->provider);
}

/* One that the event does not have is 0. */
void gen_event_value(struct gen *gen, uint32_t index)
{
	static const struct ast_type word = { .kind = AST_INTEGER, .bytes = 8 };
	struct code *code = gen->code;
	int has = code_label(code), done = code_label(code);

	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_6, registers[KPROF_PLACE_COUNT]);
	code_jump_if_imm(code, BPF_JGT, BPF_REG_0, (int32_t)index, has);
	code_mov_imm(code, BPF_REG_0, 0);
	code_jump(code, done);
	code_place(code, has);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_6, registers[KPROF_PLACE_VALUES]);
	code_alu_imm(code, BPF_ADD, BPF_REG_0, (int32_t)index * 8);
	gen_read(gen, &word, true, NULL);
	code_place(code, done);
}
