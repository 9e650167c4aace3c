/* SPDX-License-Identifier: MIT */
/* The programs that record system calls. */
#include "kernel/callprogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/program.h"
#include "kernel/begun_code.h"
#include "kernel/calltext_code.h"

struct callprogram {
	int programs[2];
	int links[2];
};

/* What the program at the return has on its stack, as offsets from R10. */
struct call_frame {
	int duration, args, result;
};

/* The programs here are made with the struct emit_machine in a struct call_machine. */
static const struct call_machine *maps_of(const struct emit *emit)
{
	return (const struct call_machine *)emit->machine;
}

/* R1 = a byte of what is set for the call in R7. */
static void load_setting(struct emit *emit, size_t member)
{
	struct code *code = &emit->code;

	code_map_value(code, BPF_REG_1, maps_of(emit)->control,
		(uint32_t)(offsetof(struct call_control, calls) + member));
	code_mov(code, BPF_REG_2, BPF_REG_7);
	code_alu_imm(code, BPF_MUL, BPF_REG_2, sizeof(struct call_settings));
	code_alu(code, BPF_ADD, BPF_REG_1, BPF_REG_2);
	code_load(code, BPF_B, BPF_REG_1, BPF_REG_1, 0);
}

/* R7 is the number of the call: to the end unless it is recorded. */
static void choose(struct emit *emit, uint8_t generation)
{
	struct code *code = &emit->code;

	code_jump_if_imm(code, BPF_JGT, BPF_REG_7, CALLNAMES_NUMBERS - 1, emit->out);
	load_setting(emit, offsetof(struct call_settings, generation));
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, generation, emit->out);
	emit_task(emit);
}

/* Sets the flag of a 32-bit call, which has another number: to the end unless these are recorded. */
static void mark_compat(struct emit *emit)
{
	const struct emit_machine *machine = emit->machine;
	struct code *code = &emit->code;
	int native = code_label(code);

	code_store_imm(code, BPF_DW, BPF_REG_10, emit->flags, 0);
	if (machine->task_status >= 0) {
		code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, machine->task_status);
		code_alu_imm(code, BPF_AND, BPF_REG_1, 2);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, native);
		code_map_value(code, BPF_REG_1, maps_of(emit)->control,
			offsetof(struct call_control, compat));
		code_load(code, BPF_B, BPF_REG_1, BPF_REG_1, 0);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, emit->out);
		code_store_imm(code, BPF_DW, BPF_REG_10, emit->flags, KERNEL_RECORD_COMPAT);
	}
	code_place(code, native);
}

/*
 * Calls that are recorded at their entry: rt_sigreturn returns to where the signal came, without its own
 * number.
 */
static const int without_return[] = { SYS_exit, SYS_exit_group, SYS_rt_sigreturn };
/* Of 32-bit programs: exit, exit_group, sigreturn, rt_sigreturn (asm/unistd_32.h). */
static const int compat_without_return[] = { 1, 252, 119, 173 };

static bool returns(int number)
{
	for (size_t i = 0; i < sizeof(without_return) / sizeof(without_return[0]); i++)
		if (without_return[i] == number)
			return false;
	return true;
}

/* The filter that more than half of the calls have, which is that of all: its instructions are there once. */
static const struct filter *find_common(const struct filter *const *filters)
{
	const struct filter *common = NULL;
	uint32_t count = 0;

	/* the one that is left when each call takes away one with another filter */
	for (uint32_t i = 0; i < CALLNAMES_NUMBERS; i++) {
		if (!count)
			common = filters[i];
		count += common == filters[i] ? 1u : -1u;
	}
	count = 0;
	for (uint32_t i = 0; i < CALLNAMES_NUMBERS; i++)
		count += common == filters[i];
	return count > CALLNAMES_NUMBERS / 2 ? common : NULL;
}

/* Goes to the end if the call, one of those that return or of the others, has a filter that does not hold. */
static void filter_calls(struct emit *emit, const struct call_frame *frame,
	const struct filter *const *filters, bool return_too)
{
	const struct filter_frame values = { .duration = frame->duration, .args = frame->args,
		.result = frame->result };
	const struct filter *common = filters ? find_common(filters) : NULL;
	struct code *code = &emit->code;
	int passed = code_label(code);

	/* those of 32-bit programs are recorded without a filter only: their numbers are other calls' */
	if (filters && emit->machine->task_status >= 0) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->flags);
		code_jump_if_imm(code, BPF_JSET, BPF_REG_1, KERNEL_RECORD_COMPAT, passed);
	}
	for (int i = 0; filters && i < (int)CALLNAMES_NUMBERS; i++) {
		int next;

		if (filters[i] == common || returns(i) != return_too)
			continue;
		next = code_label(code);
		code_jump_if_imm(code, BPF_JNE, BPF_REG_7, i, next);
		if (filters[i])
			filter_emit(filters[i], emit, &values);
		code_jump(code, passed);
		code_place(code, next);
	}
	if (common)
		filter_emit(common, emit, &values);
	code_place(code, passed);
}

/* Takes the stacks of a call for which this is switched on. */
static void take_stacks(struct emit *emit, struct emit_stack *stack)
{
	struct code *code = &emit->code;
	int none = code_label(code);

	emit_stack_init(emit, stack);
	load_setting(emit, offsetof(struct call_settings, stacks));
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, none);
	emit_stack_take(emit, stack, CODE_PROGRAM_FRAMES);
	code_place(code, none);
}

/* A call that does not return is recorded at its entry: for a filter its result and duration are 0. */
static void record_entry(struct emit *emit, const struct filter *const *filters, int context)
{
	struct code *code = &emit->code;
	const struct call_frame frame = {
		.duration = code_stack(code, 8),
		.args = code_stack(code, 8 * KERNEL_CALL_ARGS),
		.result = code_stack(code, 8),
	};
	const int call = EMIT_BODY;
	struct emit_stack stack;

	code_store_imm(code, BPF_DW, BPF_REG_10, frame.duration, 0);
	code_store_imm(code, BPF_DW, BPF_REG_10, frame.result, 0);
	begun_code_args(emit, BPF_REG_10, frame.args);
	filter_calls(emit, &frame, filters, false);

	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->flags);
	code_alu_imm(code, BPF_OR, BPF_REG_1, KERNEL_RECORD_NO_RESULT);
	code_store(code, BPF_DW, BPF_REG_10, emit->flags, BPF_REG_1);
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->bytes,
		(int32_t)(sizeof(struct kernel_record) + sizeof(struct kernel_call)));
	if (context) {
		code_load(code, BPF_DW, BPF_REG_6, BPF_REG_10, context);
		take_stacks(emit, &stack);
	}
	emit_begin(emit);
	code_store_imm(code, BPF_DW, BPF_REG_9, call + (int)offsetof(struct kernel_call, duration_ns), 0);
	code_store_imm(code, BPF_DW, BPF_REG_9, call + (int)offsetof(struct kernel_call, result), 0);
	code_store_imm(code, BPF_DW, BPF_REG_9, call + (int)offsetof(struct kernel_call, strings), 0);
	for (int i = 0; i < (int)KERNEL_CALL_ARGS; i++) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame.args + i * 8);
		code_store(code, BPF_DW, BPF_REG_9, call + (int)offsetof(struct kernel_call, args) + i * 8,
			BPF_REG_1);
	}
	if (context) {
		code_mov(code, BPF_REG_6, BPF_REG_9);
		code_alu_imm(code, BPF_ADD, BPF_REG_6,
			(int32_t)(sizeof(struct kernel_record) + sizeof(struct kernel_call)));
		emit_stack_write(emit, &stack);
	}
	emit_commit(emit);
}

static void make_entry(struct emit *emit, uint8_t generation, const struct filter *const *filters,
	bool stacks)
{
	struct code *code = &emit->code;
	int ends = code_label(code), compat = code_label(code), keep = code_label(code);
	int value = code_stack(code, sizeof(struct begun_slot)), context = stacks ? code_stack(code, 8) : 0;

	/* a program that is executed is recorded when the call returns, with what is known at its entry */
	emit->begins = true;
	code_mov(code, BPF_REG_6, BPF_REG_1);
	if (stacks)
		code_store(code, BPF_DW, BPF_REG_10, context, BPF_REG_6);
	code_load(code, BPF_DW, BPF_REG_7, BPF_REG_6, 8);
	choose(emit, generation);
	mark_compat(emit);
	code_load(code, BPF_DW, BPF_REG_6, BPF_REG_6, 0); /* struct pt_regs */
	emit_now(emit);
	if (emit->machine->task_status >= 0) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->flags);
		code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, compat);
	}
	for (size_t i = 0; i < sizeof(without_return) / sizeof(without_return[0]); i++)
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, without_return[i], ends);
	calltext_code_keep_exec(emit, maps_of(emit));
	code_place(code, keep);
	begun_code_keep(emit, maps_of(emit), value);
	code_return(code, 0);
	code_place(code, compat);
	if (emit->machine->task_status >= 0) {
		for (size_t i = 0; i < sizeof(compat_without_return) / sizeof(compat_without_return[0]); i++)
			code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, compat_without_return[i], ends);
		code_jump(code, keep);
	}
	code_place(code, ends);
	record_entry(emit, filters, context);
}

/* Moves what the entry has kept to the stack, and forgets it. */
static void take_begun(struct emit *emit, const struct call_frame *frame)
{
	struct code *code = &emit->code;
	int unknown = code_label(code), done = code_label(code);

	begun_code_take(emit, maps_of(emit), frame->duration, frame->args, unknown);
	code_jump(code, done);
	code_place(code, unknown);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->flags);
	code_alu_imm(code, BPF_OR, BPF_REG_1, KERNEL_RECORD_NO_ENTRY);
	code_store(code, BPF_DW, BPF_REG_10, emit->flags, BPF_REG_1);
	code_store_imm(code, BPF_DW, BPF_REG_10, frame->duration, 0);
	for (int i = 0; i < (int)KERNEL_CALL_ARGS; i++)
		code_store_imm(code, BPF_DW, BPF_REG_10, frame->args + i * 8, 0);
	code_place(code, done);
}

static void make_return(struct emit *emit, uint8_t generation, const struct filter *const *filters,
	bool stacks)
{
	struct code *code = &emit->code;
	const struct call_frame frame = {
		.duration = code_stack(code, 8),
		.args = code_stack(code, 8 * KERNEL_CALL_ARGS),
		.result = code_stack(code, 8),
	};
	struct calltext_frame texts = { .args = frame.args, .result = frame.result };
	const int call = EMIT_BODY;
	struct emit_stack stack;

	calltext_code_take_stack(emit, &texts);
	code_mov(code, BPF_REG_6, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_1, 8);
	code_store(code, BPF_DW, BPF_REG_10, frame.result, BPF_REG_2);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_1, 0);
	code_load(code, emit->machine->regs_nr_size, BPF_REG_7, BPF_REG_1, emit->machine->regs_nr);
	choose(emit, generation);
	mark_compat(emit);
	emit_now(emit);
	take_begun(emit, &frame);
	filter_calls(emit, &frame, filters, true);
	load_setting(emit, offsetof(struct call_settings, texts));
	calltext_code_read(emit, maps_of(emit), &texts);
	if (stacks)
		take_stacks(emit, &stack);
	emit_begin(emit);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame.duration);
	code_store(code, BPF_DW, BPF_REG_9, call + (int)offsetof(struct kernel_call, duration_ns), BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame.result);
	code_store(code, BPF_DW, BPF_REG_9, call + (int)offsetof(struct kernel_call, result), BPF_REG_1);
	for (int i = 0; i < (int)KERNEL_CALL_ARGS; i++) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame.args + i * 8);
		code_store(code, BPF_DW, BPF_REG_9, call + (int)offsetof(struct kernel_call, args) + i * 8,
			BPF_REG_1);
	}
	calltext_code_write(emit, &texts);
	if (stacks)
		emit_stack_write(emit, &stack);
	emit_commit(emit);
}

/* ---- loading ----------------------------------------------------------------------------------- */

int callprogram_create_maps(struct call_machine *machine, uint32_t cpus, struct err *err)
{
	int ret = begun_code_create_maps(&machine->slots, &machine->others, err);

	return ret ? ret : calltext_code_create_maps(&machine->texts, &machine->execs, cpus, err);
}

static int attach_one(struct callprogram *program, int i, struct emit *emit, const struct types *types,
	struct err *err)
{
	static const char *const names[] = { "kp_call_enter", "kp_call_exit" };
	static const char *const tracepoints[] = { "sys_enter", "sys_exit" };
	struct program_spec spec = { .name = names[i], .type = BPF_PROG_TYPE_TRACING,
		.attach = BPF_TRACE_RAW_TP };
	struct types_function tracepoint;
	int ret = types_tracepoint(types, tracepoints[i], &tracepoint);

	if (ret)
		return err_set(err, EOPNOTSUPP, "this kernel has no tracepoint '%s'", tracepoints[i]);
	spec.attach_type_id = tracepoint.type;
	ret = emit_finish(emit, err);
	if (!ret)
		ret = program_load(&spec, &emit->code, &program->programs[i], err);
	if (!ret)
		ret = program_attach_tracing(program->programs[i], &program->links[i], err);
	return ret;
}

int callprogram_attach(const struct call_machine *machine, const struct types *types,
	const struct filter *const *filters, bool stacks, uint8_t generation, struct callprogram **program,
	struct err *err)
{
	struct callprogram *made = malloc(sizeof(*made));
	struct emit emit;
	int ret;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the programs");
	*made = (struct callprogram){ { -1, -1 }, { -1, -1 } };
	ret = 0;
	/* the return first: a call whose entry was seen must not stay without a record */
	for (int i = 1; i >= 0 && !ret; i--) {
		emit_init(&emit, &machine->emit);
		if (i)
			make_return(&emit, generation, filters, stacks);
		else
			make_entry(&emit, generation, filters, stacks);
		ret = attach_one(made, i, &emit, types, err);
		emit_fini(&emit);
	}
	if (ret) {
		callprogram_detach(made);
		return ret;
	}
	*program = made;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void callprogram_links(const struct callprogram *program, int links[2])
{
	for (int i = 0; i < 2; i++)
		links[i] = program->links[i];
}

void callprogram_detach(struct callprogram *program)
{
	if (!program)
		return;
	for (int i = 0; i < 2; i++)
		close_fd(program->links[i]);
	for (int i = 0; i < 2; i++)
		close_fd(program->programs[i]);
	free(program);
}

uint64_t callprogram_missed(const struct callprogram *program)
{
	struct program_counts counts;
	uint64_t missed = 0;

	/* an entry that was missed costs arguments, a return that was missed the record */
	if (program && !program_counts(program->programs[1], &counts))
		missed = counts.missed;
	return missed;
}

