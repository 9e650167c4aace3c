/* SPDX-License-Identifier: MIT */
/* The programs that record tracepoints. */
#include "kernel/pointprogram.h"

#include <glib.h>
#include <string.h>

#include "probes/targets.h"

/* What the program has on its stack, as offsets from R10. */
struct point_frame {
	int lengths[KERNEL_CALL_STRINGS];
	int texts[KERNEL_CALL_STRINGS];
};

/* A text that can't be read: the record has its length, 0. */
static void leave_out_string(struct emit *emit, int i, const struct point_frame *frame)
{
	struct code *code = &emit->code;

	code_store_imm(code, BPF_DW, BPF_REG_10, frame->lengths[i], 0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->bytes);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, 8);
	code_store(code, BPF_DW, BPF_REG_10, emit->bytes, BPF_REG_1);
}

/* Reads a text that the kernel's record names into the stack, and adds its bytes to the record's. */
static void read_string(struct emit *emit, const struct point_field *field, const struct point_frame *frame)
{
	struct code *code = &emit->code;
	int got = code_label(code);

	/* the low half is its place, from the start of the kernel's record */
	code_load(code, BPF_W, BPF_REG_3, BPF_REG_6, (int)field->offset);
	code_alu_imm(code, BPF_AND, BPF_REG_3, 0xffff);
	code_alu(code, BPF_ADD, BPF_REG_3, BPF_REG_6);
	code_mov(code, BPF_REG_1, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, frame->texts[field->string]);
	code_mov_imm(code, BPF_REG_2, KERNEL_STRING_BYTES / 2);
	code_call(code, BPF_FUNC_probe_read_kernel_str);
	code_jump_if_imm(code, BPF_JSGE, BPF_REG_0, 0, got);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, got);
	code_store(code, BPF_DW, BPF_REG_10, frame->lengths[field->string], BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->bytes);
	code_alu_imm(code, BPF_ADD, BPF_REG_0, 8 + 7);
	code_alu_imm(code, BPF_AND, BPF_REG_0, -8);
	code_alu(code, BPF_ADD, BPF_REG_1, BPF_REG_0);
	code_store(code, BPF_DW, BPF_REG_10, emit->bytes, BPF_REG_1);
}

/* Writes the text at R6, which moves behind it; R6 is not the context any more. */
static void write_string(struct emit *emit, int i, const struct point_frame *frame)
{
	struct code *code = &emit->code;
	int empty = code_label(code);

	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, frame->lengths[i]);
	code_store(code, BPF_DW, BPF_REG_6, 0, BPF_REG_2);
	code_alu_imm(code, BPF_ADD, BPF_REG_6, 8);
	if (emit->machine->memory_refused) {
		code_place(code, empty);
		return;
	}
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_2, 0, empty);
	code_jump_if_imm(code, BPF_JGT, BPF_REG_2, KERNEL_STRING_BYTES / 2, empty);
	code_mov(code, BPF_REG_1, BPF_REG_6);
	code_mov(code, BPF_REG_3, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_3, frame->texts[i]);
	code_call(code, BPF_FUNC_probe_read_kernel);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, frame->lengths[i]);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, 7);
	code_alu_imm(code, BPF_AND, BPF_REG_2, 0xf8);
	code_alu(code, BPF_ADD, BPF_REG_6, BPF_REG_2);
	code_place(code, empty);
}

/* Copies the fields in the largest steps that the record allows. */
static void copy_body(struct emit *emit, uint32_t body)
{
	static const struct {
		uint32_t bytes;
		int size;
	} steps[] = {{8, BPF_DW}, {4, BPF_W}, {2, BPF_H}, {1, BPF_B}};
	struct code *code = &emit->code;
	uint32_t at = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
		for (; body - at >= steps[i].bytes; at += steps[i].bytes) {
			code_load(code, steps[i].size, BPF_REG_1, emit->record,
				emit->record_at + (int)(POINT_HEADER + at));
			code_store(code, steps[i].size, BPF_REG_9, EMIT_BODY + (int)at, BPF_REG_1);
		}
}

/* The fields with the numbers of threads that the tracepoint is about. */
static uint32_t find_threads(const struct point *point, int threads[TARGETS_FIELDS_MAX])
{
	static const char *const names[] = { "pid", "next_pid", "child_pid" };
	uint32_t count = 0;

	for (uint32_t i = 0; i < point->count && point->is_of_tasks; i++)
		for (size_t k = 0; k < G_N_ELEMENTS(names); k++)
			if (strcmp(point->fields[i].name, names[k]) == 0 && point->fields[i].bytes == 4 &&
				point->fields[i].offset % 4 == 0)
				threads[count++] = (int)point->fields[i].offset;
	return count;
}

static void make_program(const struct pointprogram_spec *spec, struct emit *emit)
{
	const struct point *point = spec->point;
	const int body = (int)(point->body + 7) / 8 * 8;
	struct code *code = &emit->code;
	struct point_frame frame = { { 0 }, { 0 } };
	struct emit_stack stack;
	int strings = 0, threads[TARGETS_FIELDS_MAX];

	code_mov(code, BPF_REG_6, BPF_REG_1);
	if (spec->raw)
		rawpoint_emit(spec->raw, point, emit);
	emit->threads = threads;
	emit->thread_count = find_threads(point, threads);
	emit->id = spec->id;
	emit->generation = spec->generation;
	emit_task(emit);
	if (spec->filter)
		filter_emit(spec->filter, emit, NULL);
	emit_now(emit);
	code_mov_imm(code, BPF_REG_7, (int32_t)spec->id);
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->flags, 0);
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->bytes, EMIT_BODY + body);
	for (uint32_t i = 0; i < point->count; i++) {
		if (point->fields[i].string < 0)
			continue;
		frame.lengths[strings] = code_stack(code, 8);
		frame.texts[strings++] = code_stack(code, KERNEL_STRING_BYTES / 2);
		if (emit->machine->memory_refused)
			leave_out_string(emit, point->fields[i].string, &frame);
		else
			read_string(emit, &point->fields[i], &frame);
	}
	if (spec->stacks) {
		emit_stack_init(emit, &stack);
		emit_stack_take(emit, &stack, 0);
	}
	emit_begin(emit);
	copy_body(emit, point->body);
	if (strings || spec->stacks) {
		code_mov(code, BPF_REG_6, BPF_REG_9);
		code_alu_imm(code, BPF_ADD, BPF_REG_6, EMIT_BODY + body);
	}
	for (int i = 0; i < strings; i++)
		write_string(emit, i, &frame);
	if (spec->stacks)
		emit_stack_write(emit, &stack);
	emit_commit(emit);
}

int pointprogram_load(const struct emit_machine *machine, const struct pointprogram_spec *spec, int *program,
	struct program_spec *loaded, struct err *err)
{
	struct emit emit;
	int ret;

	*loaded = (struct program_spec){ .name = "kp_point", .type = BPF_PROG_TYPE_TRACEPOINT };
	if (spec->raw) {
		loaded->type = BPF_PROG_TYPE_TRACING;
		loaded->attach = BPF_TRACE_RAW_TP;
		loaded->attach_type_id = spec->raw->attach_type_id;
	}
	emit_init(&emit, machine);
	make_program(spec, &emit);
	ret = emit_finish(&emit, err);
	if (!ret)
		ret = program_load(loaded, &emit.code, program, err);
	emit_fini(&emit);
	return ret;
}

uint64_t pointprogram_missed(int program)
{
	struct program_counts counts;

	return program >= 0 && !program_counts(program, &counts) ? counts.missed : 0;
}
