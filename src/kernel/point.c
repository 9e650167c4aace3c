/* SPDX-License-Identifier: MIT */
/* Tracepoints: their fields and the programs that record them. */
#include "kernel/point.h"

#include <errno.h>
#include <string.h>

#include "bpf/program.h"
#include "probes/targets.h"

/* The header that each record of the kernel has: type, flags, preemption, process. */
#define KERNEL_HEADER 8u

/* ---- the format -------------------------------------------------------------------------------- */

static enum point_kind kind_of(const struct targets_field *field)
{
	const bool is_char = strstr(field->type, "char") != NULL;

	if (field->is_location && is_char)
		return POINT_STRING;
	if (field->is_location || field->is_relative)
		return POINT_BYTES;
	if (field->is_array)
		return is_char ? POINT_TEXT : POINT_BYTES;
	if (strchr(field->type, '*'))
		return POINT_POINTER;
	return field->bytes == 1 || field->bytes == 2 || field->bytes == 4 || field->bytes == 8 ?
		POINT_NUMBER :
		POINT_BYTES;
}

static void add_field(struct point *point, const struct targets_field *field, int *strings)
{
	struct point_field *kept = &point->fields[point->count++];
	uint32_t end = field->offset + field->bytes;

	*kept = (struct point_field){ .name = g_strdup(field->name), .kind = kind_of(field),
		.offset = field->offset, .bytes = field->bytes, .is_signed = field->is_signed,
			.string = -1 };
	if (kept->kind == POINT_STRING && *strings < (int)KERNEL_CALL_STRINGS)
		kept->string = (*strings)++;
	if (end - KERNEL_HEADER > point->body)
		point->body = end - KERNEL_HEADER;
}

int point_parse(const char *format, struct point **point, struct err *err)
{
	g_autofree struct targets_format *parsed = g_new(struct targets_format, 1);
	struct point *made;
	int strings = 0;

	if (targets_parse_format(format, parsed))
		return err_set(err, EINVAL, "the kernel's description of the tracepoint is not understood");
	made = g_new0(struct point, 1);
	made->event = parsed->id;
	made->fields = g_new0(struct point_field, TARGETS_FIELDS_MAX);
	for (uint32_t i = 0; i < parsed->count; i++) {
		const struct targets_field *field = &parsed->fields[i];

		/* what lies behind the part that is copied can't be shown */
		if (field->offset >= KERNEL_HEADER && field->offset <= KERNEL_HEADER + POINT_BODY_MAX &&
			field->bytes <= KERNEL_HEADER + POINT_BODY_MAX - field->offset)
			add_field(made, field, &strings);
	}
	*point = made;
	return 0;
}

void point_destroy(struct point *point)
{
	if (!point)
		return;
	for (uint32_t i = 0; i < point->count; i++)
		g_free(point->fields[i].name);
	g_free(point->fields);
	g_free(point);
}

int point_filter(const struct point *point, const char *text, struct filter **filter, struct err *err)
{
	g_autofree struct filter_field *fields = g_new0(struct filter_field, point->count + 1);

	for (uint32_t i = 0; i < point->count; i++) {
		const struct point_field *field = &point->fields[i];

		fields[i] = (struct filter_field){ .name = field->name, .offset = field->offset,
			.bytes = field->bytes, .is_signed = field->is_signed, .source = FILTER_CONTEXT };
		if (field->kind == POINT_TEXT)
			fields[i].source = FILTER_TEXT;
		else if (field->kind == POINT_STRING || field->kind == POINT_BYTES ||
			field->offset % field->bytes)
			fields[i].source = FILTER_REFUSED;
	}
	return filter_create(text, fields, point->count, filter, err);
}

/* ---- the program ------------------------------------------------------------------------------- */

/* What the program has on its stack, as offsets from R10. */
struct point_frame {
	int lengths[KERNEL_CALL_STRINGS];
	int texts[KERNEL_CALL_STRINGS];
};

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

/* Copies the fields in the largest steps that the context allows. */
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
			code_load(code, steps[i].size, BPF_REG_1, BPF_REG_6, (int)(KERNEL_HEADER + at));
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

static void make_program(const struct point *point, uint32_t id, const struct filter *filter, bool stacks,
	struct emit *emit)
{
	const int body = (int)(point->body + 7) / 8 * 8;
	struct code *code = &emit->code;
	struct point_frame frame = { { 0 }, { 0 } };
	struct emit_stack stack;
	int strings = 0, threads[TARGETS_FIELDS_MAX];

	code_mov(code, BPF_REG_6, BPF_REG_1);
	emit->threads = threads;
	emit->thread_count = find_threads(point, threads);
	emit_task(emit);
	if (filter)
		filter_emit(filter, emit, NULL);
	emit_now(emit);
	code_mov_imm(code, BPF_REG_7, (int32_t)id);
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->flags, 0);
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->bytes, EMIT_BODY + body);
	for (uint32_t i = 0; i < point->count; i++) {
		if (point->fields[i].string < 0)
			continue;
		frame.lengths[strings] = code_stack(code, 8);
		frame.texts[strings++] = code_stack(code, KERNEL_STRING_BYTES / 2);
		read_string(emit, &point->fields[i], &frame);
	}
	if (stacks) {
		emit_stack_init(emit, &stack);
		emit_stack_take(emit, &stack, 0);
	}
	emit_begin(emit);
	copy_body(emit, point->body);
	if (strings || stacks) {
		code_mov(code, BPF_REG_6, BPF_REG_9);
		code_alu_imm(code, BPF_ADD, BPF_REG_6, EMIT_BODY + body);
	}
	for (int i = 0; i < strings; i++)
		write_string(emit, i, &frame);
	if (stacks)
		emit_stack_write(emit, &stack);
	emit_commit(emit);
}

int point_load(const struct point *point, const struct emit_machine *machine, uint32_t id,
	const struct filter *filter, bool stacks, int *program, struct err *err)
{
	const struct program_spec spec = { .name = "kp_point", .type = BPF_PROG_TYPE_TRACEPOINT };
	struct emit emit;
	int ret;

	emit_init(&emit, machine);
	make_program(point, id, filter, stacks, &emit);
	ret = emit_finish(&emit, err);
	if (!ret)
		ret = program_load(&spec, &emit.code, program, err);
	emit_fini(&emit);
	return ret;
}

uint64_t point_missed(int program)
{
	struct program_counts counts;

	return program >= 0 && !program_counts(program, &counts) ? counts.missed : 0;
}
