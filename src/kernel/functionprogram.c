/* SPDX-License-Identifier: MIT */
/*
 * The programs that record functions of the kernel.
 *
 * A call that is under way is found again by where it is on its stack, which no other call has at the
 * same time, whatever thread or interrupt makes it: by fentry that is the address of the context, with
 * registers the stack pointer. A call whose return was never seen leaves its entry behind: the next call at
 * the same place takes it over.
 */
#include "kernel/functionprogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/map.h"
#include "bpf/program.h"
#include "bpf/stub.h"

/*
 * Calls that are under way at a time, of all functions: with more, those that have waited longest lose their
 * duration, and their records say so.
 */
#define CALLS_MAX 16384
/* It was counted as missed at its entry. Numbers of threads are below. */
#define CALLER_COUNTED (1 << 30)

/* A call that has begun. */
struct begun {
	uint64_t time_ns;
	uint64_t caller; /* the thread, CALLER_COUNTED, and above 32 bits the id of the records */
	uint64_t args[EMIT_PARAMS]; /* not by fentry, which has them at the return */
};

struct functionprogram {
	enum function_way way;
	int programs[2]; /* what is attached at the entry and at the return: the stubs, if there are arrays */
	int links[2];
	int arrays[2]; /* stub.h; or both are -1 */
};

/* What the program at the return has on its stack, as offsets from R10. */
struct frame {
	int place, caller; /* the key, and what is compared */
	int duration, result, args;
	struct emit_stack stack;
};

struct making {
	const struct functionprogram_spec *spec;
	struct emit *emit;
	bool typed; /* by fentry */
	uint32_t slots; /* of arguments in the record */
};

/* ---- instructions ------------------------------------------------------------------------------ */

/* Stores where the call is. At the return the stack pointer has passed the return address. */
static void store_place(struct making *making, int at, bool is_return)
{
	struct code *code = &making->emit->code;

	if (making->typed) {
		code_store(code, BPF_DW, BPF_REG_10, at, BPF_REG_6);
		return;
	}
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, making->emit->machine->regs_sp);
	if (is_return)
		code_alu_imm(code, BPF_SUB, BPF_REG_1, EMIT_RETURN_SHIFT);
	code_store(code, BPF_DW, BPF_REG_10, at, BPF_REG_1);
}

static void store_caller(struct making *making, int at)
{
	struct code *code = &making->emit->code;

	code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, making->emit->machine->task_pid);
	code_mov_imm(code, BPF_REG_2, (int32_t)making->spec->id);
	code_alu_imm(code, BPF_LSH, BPF_REG_2, 32);
	code_alu(code, BPF_OR, BPF_REG_1, BPF_REG_2);
	code_store(code, BPF_DW, BPF_REG_10, at, BPF_REG_1);
}

/* R1 = the map, R2 = the key. */
static void prepare_map(struct making *making, int place)
{
	struct code *code = &making->emit->code;

	code_map(code, BPF_REG_1, making->spec->calls);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, place);
}

static bool counts_dropped(const struct making *making)
{
	return !making->typed && making->spec->return_hook;
}

/*
 * The kernel drops returns of a function that too many threads are in (kretprobes and ftrace) without a word
 * to the program. Where links do not tell how many, the program at the entry sees it: the return address is
 * not the kernel's own, by which it follows a return. It is neither if another tool follows the return, too,
 * and has replaced the address later: then the program at the return takes the count back.
 */
static void count_dropped(struct making *making, int caller)
{
	struct code *code = &making->emit->code;
	const int address = code_stack(code, 8);
	int followed = code_label(code);

	code_mov(code, BPF_REG_1, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, address);
	code_mov_imm(code, BPF_REG_2, 8);
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_6, making->emit->machine->regs_sp);
	code_call(code, BPF_FUNC_probe_read_kernel);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, followed);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, address);
	code_mov_imm64(code, BPF_REG_2, making->spec->return_hook);
	code_jump_if(code, BPF_JEQ, BPF_REG_1, BPF_REG_2, followed);
	emit_count_missed(making->emit);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, caller);
	code_alu_imm(code, BPF_OR, BPF_REG_1, CALLER_COUNTED);
	code_store(code, BPF_DW, BPF_REG_10, caller, BPF_REG_1);
	code_place(code, followed);
}

/*
 * Without that address, and beside other tools that follow returns, a call finds the entry of another one,
 * whose return did not come.
 */
static void count_left(struct making *making, int place)
{
	struct code *code = &making->emit->code;
	int fresh = code_label(code);

	prepare_map(making, place);
	code_call(code, BPF_FUNC_map_lookup_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, fresh);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, offsetof(struct begun, caller));
	code_jump_if_imm(code, BPF_JSET, BPF_REG_1, CALLER_COUNTED, fresh);
	emit_count_missed(making->emit);
	code_place(code, fresh);
}

/* To the end if another program records the function. */
static void begin(struct making *making)
{
	making->emit->id = making->spec->id;
	making->emit->generation = making->spec->generation;
	emit_task(making->emit);
}

static void make_entry(struct making *making)
{
	struct emit *emit = making->emit;
	struct code *code = &emit->code;
	const int place = code_stack(code, 8), value = code_stack(code, sizeof(struct begun));
	const int caller = value + (int)offsetof(struct begun, caller);

	code_mov(code, BPF_REG_6, BPF_REG_1);
	begin(making);
	store_place(making, place, false);
	store_caller(making, caller);
	if (counts_dropped(making))
		count_dropped(making, caller);
	if (!making->typed && !emit->machine->links_tell)
		count_left(making, place);
	for (int i = 0; i < EMIT_PARAMS; i++) {
		if (making->typed)
			code_mov_imm(code, BPF_REG_1, 0);
		else
			code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, emit->machine->regs_params[i]);
		code_store(code, BPF_DW, BPF_REG_10, value + (int)offsetof(struct begun, args) + i * 8,
			BPF_REG_1);
	}
	emit_now(emit);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->now);
	code_store(code, BPF_DW, BPF_REG_10, value + (int)offsetof(struct begun, time_ns), BPF_REG_1);
	prepare_map(making, place);
	code_mov(code, BPF_REG_3, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_3, value);
	code_mov_imm(code, BPF_REG_4, 0);
	code_call(code, BPF_FUNC_map_update_elem);
}

/* The time and the arguments that the entry has kept, which is then forgotten. */
static void take_begun(struct making *making, const struct frame *frame)
{
	struct emit *emit = making->emit;
	struct code *code = &emit->code;
	int unknown = code_label(code), done = code_label(code);

	store_place(making, frame->place, true);
	store_caller(making, frame->caller);
	prepare_map(making, frame->place);
	code_call(code, BPF_FUNC_map_lookup_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, unknown);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, offsetof(struct begun, caller));
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, frame->caller);
	code_store(code, BPF_DW, BPF_REG_10, frame->caller, BPF_REG_1);
	code_alu_imm(code, BPF_AND, BPF_REG_1, ~CALLER_COUNTED);
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, unknown);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->now);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_0, offsetof(struct begun, time_ns));
	code_alu(code, BPF_SUB, BPF_REG_1, BPF_REG_2);
	code_store(code, BPF_DW, BPF_REG_10, frame->duration, BPF_REG_1);
	for (uint32_t i = 0; i < making->slots && !making->typed; i++) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, (int)(offsetof(struct begun, args) + i * 8));
		code_store(code, BPF_DW, BPF_REG_10, frame->args + (int)i * 8, BPF_REG_1);
	}
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->flags, 0);
	prepare_map(making, frame->place);
	code_call(code, BPF_FUNC_map_delete_elem);
	if (counts_dropped(making)) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->caller);
		code_alu_imm(code, BPF_AND, BPF_REG_1, CALLER_COUNTED);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, done);
		emit_uncount_missed(emit);
	}
	code_jump(code, done);
	code_place(code, unknown);
	code_store_imm(code, BPF_DW, BPF_REG_10, frame->duration, 0);
	for (uint32_t i = 0; i < making->slots && !making->typed; i++)
		code_store_imm(code, BPF_DW, BPF_REG_10, frame->args + (int)i * 8, 0);
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->flags,
		KERNEL_RECORD_NO_ENTRY | (making->typed ? 0 : KERNEL_RECORD_NO_ARGS));
	code_place(code, done);
}

/* One by one, where the kernel's memory can't be read (Linux 5.17). */
static void get_values(struct making *making, const struct frame *frame, uint32_t results)
{
	struct code *code = &making->emit->code;

	for (uint32_t i = 0; i < making->slots + results; i++) {
		const int at = frame->args + (int)i * 8;
		const bool is_result = i == making->slots;

		code_store_imm(code, BPF_DW, BPF_REG_10, at, 0);
		code_mov(code, BPF_REG_1, BPF_REG_6);
		code_mov_imm(code, BPF_REG_2, (int32_t)i);
		code_mov(code, is_result ? BPF_REG_2 : BPF_REG_3, BPF_REG_10);
		code_alu_imm(code, BPF_ADD, is_result ? BPF_REG_2 : BPF_REG_3, at);
		code_call(code, is_result ? BPF_FUNC_get_func_ret : BPF_FUNC_get_func_arg);
	}
}

/*
 * The values of a context of fexit, with the result behind the arguments, as plain numbers: the verifier
 * would not let a filter compute with a pointer.
 */
static void copy_context(struct making *making, const struct frame *frame)
{
	struct code *code = &making->emit->code;
	const uint32_t results = making->spec->function->result.bytes ? 1 : 0;

	if (!(making->slots + results))
		return;
	if (making->emit->machine->memory_refused) {
		get_values(making, frame, results);
		return;
	}
	code_mov(code, BPF_REG_1, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, frame->args);
	code_mov_imm(code, BPF_REG_2, (int32_t)(making->slots + results) * 8);
	code_mov(code, BPF_REG_3, BPF_REG_6);
	code_call(code, BPF_FUNC_probe_read_kernel);
}

static void write_values(struct making *making, const struct frame *frame)
{
	struct code *code = &making->emit->code;
	const int values = EMIT_BODY;

	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->duration);
	code_store(code, BPF_DW, BPF_REG_9, values + (int)offsetof(struct kernel_function, duration_ns),
		BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->result);
	code_store(code, BPF_DW, BPF_REG_9, values + (int)offsetof(struct kernel_function, result),
		BPF_REG_1);
	for (int i = 0; i < (int)making->slots; i++) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->args + i * 8);
		code_store(code, BPF_DW, BPF_REG_9,
			values + (int)offsetof(struct kernel_function, args) + i * 8, BPF_REG_1);
	}
}

static void make_return(struct making *making)
{
	const struct functionprogram_spec *spec = making->spec;
	struct emit *emit = making->emit;
	struct code *code = &emit->code;
	struct frame frame = { .place = code_stack(code, 8), .caller = code_stack(code, 8),
		.duration = code_stack(code, 8) };
	int record_bytes = (int)(sizeof(struct kernel_record) + sizeof(struct kernel_function)) +
		(int)making->slots * 8;

	/* the result stands behind the arguments */
	frame.args = code_stack(code, (int)(making->slots + 1) * 8);
	frame.result = frame.args + (int)making->slots * 8;
	code_store_imm(code, BPF_DW, BPF_REG_10, frame.result, 0);
	code_mov(code, BPF_REG_6, BPF_REG_1);
	begin(making);
	emit_now(emit);
	take_begun(making, &frame);
	if (making->typed) {
		copy_context(making, &frame);
	} else {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, emit->machine->regs_result);
		code_store(code, BPF_DW, BPF_REG_10, frame.result, BPF_REG_1);
	}
	if (spec->filter) {
		const struct filter_frame values = { .duration = frame.duration, .args = frame.args,
			.result = frame.result };

		filter_emit(spec->filter, emit, &values);
	}
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->bytes, record_bytes);
	if (spec->stacks) {
		emit_stack_init(emit, &frame.stack);
		emit_stack_take(emit, &frame.stack, making->typed ? CODE_TRAMPOLINE_FRAMES : 0);
	}
	code_mov_imm(code, BPF_REG_7, (int32_t)spec->id);
	emit_begin(emit);
	write_values(making, &frame);
	if (spec->stacks) {
		code_mov(code, BPF_REG_6, BPF_REG_9);
		code_alu_imm(code, BPF_ADD, BPF_REG_6, record_bytes);
		emit_stack_write(emit, &frame.stack);
	}
	emit_commit(emit);
}

/* ---- loading ----------------------------------------------------------------------------------- */

const struct map_spec functionprogram_map = { .type = BPF_MAP_TYPE_LRU_HASH, .name = "kp_functions",
	.key_bytes = 8, .value_bytes = sizeof(struct begun), .entries = CALLS_MAX };

/* The one at the entry or (i = 1) at the return. `loaded` is what it was loaded as. */
static int load_one(const struct emit_machine *machine, const struct functionprogram_spec *spec, int i,
	enum function_way way, int *program, struct program_spec *loaded, struct err *err)
{
	const bool typed = way == FUNCTION_FENTRY;
	struct emit emit;
	struct making making = { spec, &emit, typed, spec->function->slots };
	int ret;

	*loaded = function_way_spec(way, i, i ? "kp_func_exit" : "kp_func_entry", spec->function->type,
		spec->btf_fd);
	emit_init(&emit, machine);
	if (i)
		make_return(&making);
	else
		make_entry(&making);
	ret = emit_finish(&emit, err);
	if (!ret)
		ret = program_load(loaded, &emit.code, program, err);
	emit_fini(&emit);
	return ret;
}

static void close_both(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Puts stubs in the place of both programs, or leaves both. */
static void load_stubs(struct functionprogram *program, const struct program_spec loaded[2])
{
	int stubs[2] = { -1, -1 }, ret = 0;

	for (int i = 0; i < 2 && !ret; i++)
		ret = stub_load(&loaded[i], program->programs[i], &stubs[i], &program->arrays[i], NULL);
	if (ret) {
		close_both(program->arrays);
		close_both(stubs);
		return;
	}
	close_both(program->programs);
	for (int i = 0; i < 2; i++)
		program->programs[i] = stubs[i];
}

int functionprogram_load(const struct emit_machine *machine, const struct functionprogram_spec *spec,
	enum function_way way, struct functionprogram **program, struct err *err)
{
	struct functionprogram *made;
	struct program_spec loaded[2];
	int ret = 0;

	if (way == FUNCTION_FENTRY && !spec->function->type)
		return err_set(err, EOPNOTSUPP, "the types of the kernel do not have it");
	made = malloc(sizeof(*made));
	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the programs");
	*made = (struct functionprogram){ way, { -1, -1 }, { -1, -1 }, { -1, -1 } };
	for (int i = 0; i < 2 && !ret; i++)
		ret = load_one(machine, spec, i, way, &made->programs[i], &loaded[i], err);
	if (ret) {
		functionprogram_destroy(made);
		return ret;
	}
	load_stubs(made, loaded);
	*program = made;
	return 0;
}

int functionprogram_replace(const struct emit_machine *machine, const struct functionprogram_spec *spec,
	const struct functionprogram *program, struct err *err)
{
	struct program_spec loaded;
	int made[2] = { -1, -1 }, ret = 0;

	if (program->arrays[0] < 0)
		return err_set(err, EOPNOTSUPP, "the kernel has no stub for the programs");
	for (int i = 0; i < 2 && !ret; i++)
		ret = load_one(machine, spec, i, program->way, &made[i], &loaded, err);
	/* what one of them keeps the other one finds, whether they are the former or the new ones */
	for (int i = 0; i < 2 && !ret; i++) {
		ret = stub_replace(program->arrays[i], made[i]);
		if (ret)
			err_set(err, -ret, "the kernel does not replace the program: %s", strerror(-ret));
	}
	close_both(made);
	return ret;
}

int functionprogram_adopt(enum function_way way, const int links[2], const int arrays[2],
	struct functionprogram **program)
{
	struct functionprogram *made = malloc(sizeof(*made));
	int ret = made ? 0 : -ENOMEM;

	if (ret)
		return ret;
	*made = (struct functionprogram){ way, { -1, -1 }, { links[0], links[1] }, { arrays[0], arrays[1] } };
	for (int i = 0; i < 2 && !ret; i++)
		ret = stub_find(links[i], arrays[i], &made->programs[i]);
	if (ret) {
		close_both(made->programs);
		free(made);
		return ret;
	}
	*program = made;
	return 0;
}

int functionprogram_attach(struct functionprogram *program, const char *function, struct err *err)
{
	int ret = 0;

	/* the newest comes first at the entry: there the kernel follows the return before the program runs */
	for (int i = 0; i < 2 && !ret; i++)
		ret = function_way_attach(program->way, program->programs[i], function, 0, i,
			&program->links[i], err);
	return ret;
}

enum function_way functionprogram_way(const struct functionprogram *program)
{
	return program->way;
}

void functionprogram_links(const struct functionprogram *program, int links[2], int arrays[2])
{
	for (int i = 0; i < 2; i++) {
		links[i] = program->links[i];
		arrays[i] = program->arrays[i];
	}
}

void functionprogram_destroy(struct functionprogram *program)
{
	if (!program)
		return;
	close_both(program->links);
	close_both(program->arrays); /* after the links: stub.h */
	close_both(program->programs);
	free(program);
}

void functionprogram_forget(int calls, uint32_t id)
{
	uint64_t key, next;
	struct begun begun;
	bool more = !map_next_key(calls, NULL, &next);

	/* the walk begins again if another program removes the key: it is bounded */
	for (uint32_t step = 0; more && step < 2 * CALLS_MAX; step++) {
		key = next;
		/* before the key is deleted */
		more = !map_next_key(calls, &key, &next);
		if (!map_lookup(calls, &key, &begun) && begun.caller >> 32 == id)
			map_delete(calls, &key);
	}
}

uint64_t functionprogram_missed(const struct functionprogram *program)
{
	struct program_counts counts;
	uint64_t returns;

	if (!program || program_counts(program->programs[1], &counts))
		return 0;
	(void)program_link_missed(program->links[1], &returns); /* 0 if it is not told: count_dropped() */
	return counts.missed + returns;
}
