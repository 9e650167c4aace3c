/* SPDX-License-Identifier: MIT */
/* The programs that record system calls. */
#include "kernel/callprogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/map.h"
#include "bpf/program.h"
#include "kernel/begun_code.h"

/* Threads that are executing a program at a time, which takes some ms: with more, some paths are lost. */
#define EXECS_MAX 1024

/* Texts of arguments before their length is known, one value for each CPU. */
struct call_texts {
	char text[KERNEL_CALL_STRINGS][KERNEL_STRING_BYTES];
};

/*
 * The path of a program that a thread executes: when the call returns, the memory with it is gone. In the
 * form of struct call_texts, whose memory it is copied from.
 */
struct call_exec {
	char text[KERNEL_STRING_BYTES];
	uint64_t bytes; /* 0: it can't be read */
	char reserved[sizeof(struct call_texts) - KERNEL_STRING_BYTES - 8];
};

_Static_assert(sizeof(struct call_exec) == sizeof(struct call_texts), "one is copied from the other");

struct callprogram {
	int programs[2];
	int links[2];
};

/* What the program at the return has on its stack, as offsets from R10. */
struct call_frame {
	int duration, args, result;
	int wanted;	/* bits of arguments that are texts and were not copied yet */
	int strings;	/* bits of those that were copied */
	int lengths[KERNEL_CALL_STRINGS];
	int scratch;	/* the address of this CPU's struct call_texts */
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

/* R0 = the value of the map for the key in R1, or 0. */
static void look_up(struct emit *emit, int map)
{
	struct code *code = &emit->code;

	code_store(code, BPF_W, BPF_REG_10, emit->key, BPF_REG_1);
	code_map(code, BPF_REG_1, map);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, emit->key);
	code_call(code, BPF_FUNC_map_lookup_elem);
}

/* The same for this thread. */
static void look_up_thread(struct emit *emit, int map)
{
	code_load(&emit->code, BPF_W, BPF_REG_1, BPF_REG_8, emit->machine->task_pid);
	look_up(emit, map);
}

/* The same for this CPU. */
static void look_up_cpu(struct emit *emit, int map)
{
	code_call(&emit->code, BPF_FUNC_get_smp_processor_id);
	code_mov(&emit->code, BPF_REG_1, BPF_REG_0);
	look_up(emit, map);
}

/*
 * Calls that are recorded at their entry: rt_sigreturn returns to where the signal came, without its own
 * number.
 */
static const int without_return[] = { SYS_exit, SYS_exit_group, SYS_rt_sigreturn };

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
	emit_stack_take(emit, stack, 1);
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
	for (int i = 0; i < (int)KERNEL_CALL_ARGS; i++) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, emit->machine->regs_args[i]);
		code_store(code, BPF_DW, BPF_REG_10, frame.args + i * 8, BPF_REG_1);
	}
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

/* Of a call that executes a program its path is kept for the thread. The registers are in R6. */
static void keep_exec(struct emit *emit)
{
	struct code *code = &emit->code;
	int by_name = code_label(code), by_file = code_label(code), got = code_label(code),
	    other = code_label(code);

	code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, SYS_execve, by_name);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_7, SYS_execveat, other);
	code_place(code, by_name);
	look_up_cpu(emit, maps_of(emit)->texts);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, other);
	code_mov(code, BPF_REG_9, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_6, emit->machine->regs_args[0]);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, SYS_execve, by_file);
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_6, emit->machine->regs_args[1]);
	code_place(code, by_file);
	code_mov(code, BPF_REG_1, BPF_REG_9);
	code_mov_imm(code, BPF_REG_2, KERNEL_STRING_BYTES);
	code_call(code, BPF_FUNC_probe_read_user_str);
	code_jump_if_imm(code, BPF_JSGE, BPF_REG_0, 0, got);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, got);
	code_store(code, BPF_DW, BPF_REG_9, offsetof(struct call_exec, bytes), BPF_REG_0);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, emit->machine->task_pid);
	code_store(code, BPF_W, BPF_REG_10, emit->key, BPF_REG_1);
	code_map(code, BPF_REG_1, maps_of(emit)->execs);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, emit->key);
	code_mov(code, BPF_REG_3, BPF_REG_9);
	code_mov_imm(code, BPF_REG_4, 0);
	code_call(code, BPF_FUNC_map_update_elem);
	code_place(code, other);
}

static void make_entry(struct emit *emit, uint8_t generation, const struct filter *const *filters,
	bool stacks)
{
	struct code *code = &emit->code;
	int ends = code_label(code);
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
	for (size_t i = 0; i < sizeof(without_return) / sizeof(without_return[0]); i++)
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, without_return[i], ends);
	keep_exec(emit);
	begun_code_keep(emit, maps_of(emit), value);
	code_return(code, 0);
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

/* Reads the text of the next wanted argument, if there is one: its length, 0 if it can't be read. */
static void read_text(struct emit *emit, const struct call_frame *frame, int index)
{
	struct code *code = &emit->code;
	int none = code_label(code), read = code_label(code), got = code_label(code);
	int found[4];

	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->wanted);
	for (int i = 0; i < 4; i++) {
		found[i] = code_label(code);
		code_jump_if_imm(code, BPF_JSET, BPF_REG_1, 1 << i, found[i]);
	}
	code_jump(code, none);
	for (int i = 0; i < 4; i++) {
		code_place(code, found[i]);
		code_alu_imm(code, BPF_XOR, BPF_REG_1, 1 << i);
		code_store(code, BPF_DW, BPF_REG_10, frame->wanted, BPF_REG_1);
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->strings);
		code_alu_imm(code, BPF_OR, BPF_REG_1, 1 << i);
		code_store(code, BPF_DW, BPF_REG_10, frame->strings, BPF_REG_1);
		code_load(code, BPF_DW, BPF_REG_3, BPF_REG_10, frame->args + i * 8);
		code_jump(code, read);
	}
	code_place(code, read);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->scratch);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, index * (int)KERNEL_STRING_BYTES);
	code_mov_imm(code, BPF_REG_2, KERNEL_STRING_BYTES);
	code_call(code, BPF_FUNC_probe_read_user_str);
	code_jump_if_imm(code, BPF_JSGE, BPF_REG_0, 0, got);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, got);
	code_store(code, BPF_DW, BPF_REG_10, frame->lengths[index], BPF_REG_0);
	/* a length and the text, in steps of 8 */
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->bytes);
	code_alu_imm(code, BPF_ADD, BPF_REG_0, 8 + 7);
	code_alu_imm(code, BPF_AND, BPF_REG_0, -8);
	code_alu(code, BPF_ADD, BPF_REG_1, BPF_REG_0);
	code_store(code, BPF_DW, BPF_REG_10, emit->bytes, BPF_REG_1);
	code_place(code, none);
}

/*
 * Of a program that was executed: the path that was kept, and then on to `done`. When that failed, the memory
 * is still there.
 */
static void read_exec(struct emit *emit, const struct call_frame *frame, int done)
{
	struct code *code = &emit->code;
	int is_exec = code_label(code), other = code_label(code), got = code_label(code);

	code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, SYS_execve, is_exec);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_7, SYS_execveat, other);
	code_place(code, is_exec);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->result);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, other);
	look_up_thread(emit, maps_of(emit)->execs);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, other);
	code_store(code, BPF_DW, BPF_REG_10, frame->scratch, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, offsetof(struct call_exec, bytes));
	code_jump_if_imm(code, BPF_JLE, BPF_REG_1, KERNEL_STRING_BYTES, got);
	code_mov_imm(code, BPF_REG_1, 0);
	code_place(code, got);
	code_store(code, BPF_DW, BPF_REG_10, frame->lengths[0], BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, frame->wanted);
	code_store(code, BPF_DW, BPF_REG_10, frame->strings, BPF_REG_2);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, emit->bytes);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, 8 + 7);
	code_alu_imm(code, BPF_AND, BPF_REG_1, -8);
	code_alu(code, BPF_ADD, BPF_REG_2, BPF_REG_1);
	code_store(code, BPF_DW, BPF_REG_10, emit->bytes, BPF_REG_2);
	code_store_imm(code, BPF_DW, BPF_REG_10, frame->lengths[1], 0);
	code_jump(code, done);
	code_place(code, other);
}

static void read_texts(struct emit *emit, const struct call_frame *frame)
{
	struct code *code = &emit->code;
	int none = code_label(code), there = code_label(code);

	code_store_imm(code, BPF_DW, BPF_REG_10, emit->bytes,
		(int32_t)(sizeof(struct kernel_record) + sizeof(struct kernel_call)));
	code_store_imm(code, BPF_DW, BPF_REG_10, frame->strings, 0);
	load_setting(emit, offsetof(struct call_settings, texts));
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, none);
	/* numbers and arguments of 32-bit calls are others, and those of a call without entry are
	 * not known */
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, emit->flags);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_2, 0, none);
	code_store(code, BPF_DW, BPF_REG_10, frame->wanted, BPF_REG_1);
	read_exec(emit, frame, none);
	look_up_cpu(emit, maps_of(emit)->texts);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, there);
	code_return(code, 0);
	code_place(code, there);
	code_store(code, BPF_DW, BPF_REG_10, frame->scratch, BPF_REG_0);
	for (int i = 0; i < (int)KERNEL_CALL_STRINGS; i++) {
		code_store_imm(code, BPF_DW, BPF_REG_10, frame->lengths[i], 0);
		read_text(emit, frame, i);
	}
	code_place(code, none);
}

/* Writes the texts behind the record: R6 is where, and moves on. */
static void write_texts(struct emit *emit, const struct call_frame *frame)
{
	struct code *code = &emit->code;
	int none = code_label(code);

	code_mov(code, BPF_REG_6, BPF_REG_9);
	code_alu_imm(code, BPF_ADD, BPF_REG_6,
		(int32_t)(sizeof(struct kernel_record) + sizeof(struct kernel_call)));
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->strings);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, none);
	for (int i = 0; i < (int)KERNEL_CALL_STRINGS; i++) {
		int empty = code_label(code);

		/* the second one may not be there: then what is written here is behind the record */
		if (i) {
			code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->strings);
			code_mov(code, BPF_REG_2, BPF_REG_1);
			code_alu_imm(code, BPF_SUB, BPF_REG_2, 1);
			code_alu(code, BPF_AND, BPF_REG_1, BPF_REG_2);
			code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, none);
		}
		code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, frame->lengths[i]);
		code_store(code, BPF_DW, BPF_REG_6, 0, BPF_REG_2);
		code_alu_imm(code, BPF_ADD, BPF_REG_6, 8);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_2, 0, empty);
		code_jump_if_imm(code, BPF_JGT, BPF_REG_2, KERNEL_STRING_BYTES, empty);
		code_load(code, BPF_DW, BPF_REG_3, BPF_REG_10, frame->scratch);
		code_alu_imm(code, BPF_ADD, BPF_REG_3, i * (int)KERNEL_STRING_BYTES);
		code_mov(code, BPF_REG_4, BPF_REG_6);
		code_mov(code, BPF_REG_1, BPF_REG_2);
		code_alu_imm(code, BPF_ADD, BPF_REG_1, 7);
		code_alu_imm(code, BPF_AND, BPF_REG_1, 0xf8);
		code_alu(code, BPF_ADD, BPF_REG_6, BPF_REG_1);
		emit_copy(emit, KERNEL_STRING_BYTES);
		code_place(code, empty);
	}
	code_place(code, none);
}

static void make_return(struct emit *emit, uint8_t generation, const struct filter *const *filters,
	bool stacks)
{
	struct code *code = &emit->code;
	const struct call_frame frame = {
		.duration = code_stack(code, 8),
		.args = code_stack(code, 8 * KERNEL_CALL_ARGS),
		.result = code_stack(code, 8),
		.wanted = code_stack(code, 8),
		.strings = code_stack(code, 8),
		.lengths = { code_stack(code, 8), code_stack(code, 8) },
		.scratch = code_stack(code, 8),
	};
	const int call = EMIT_BODY;
	struct emit_stack stack;

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
	read_texts(emit, &frame);
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
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame.strings);
	code_store(code, BPF_DW, BPF_REG_9, call + (int)offsetof(struct kernel_call, strings), BPF_REG_1);
	write_texts(emit, &frame);
	if (stacks)
		emit_stack_write(emit, &stack);
	emit_commit(emit);
}

/* ---- loading ----------------------------------------------------------------------------------- */

int callprogram_create_maps(struct call_machine *machine, uint32_t cpus, struct err *err)
{
	const struct map_spec texts = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_texts", .key_bytes = 4,
		.value_bytes = sizeof(struct call_texts), .entries = cpus };
	const struct map_spec execs = { .type = BPF_MAP_TYPE_LRU_HASH, .name = "kp_execs", .key_bytes = 4,
		.value_bytes = sizeof(struct call_exec), .entries = EXECS_MAX };
	int ret = begun_code_create_maps(&machine->slots, &machine->others, err);

	if (!ret)
		ret = map_create(&texts, &machine->texts, err);
	if (!ret)
		ret = map_create(&execs, &machine->execs, err);
	return ret;
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

