/* SPDX-License-Identifier: MIT */
/* Texts and addresses of arguments of system calls. */
#include "kernel/calltext_code.h"

#include <sys/syscall.h>

#include "bpf/map.h"
#include "kernel/calladdress.h"

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

int calltext_code_create_maps(int *texts_map, int *execs_map, uint32_t cpus, struct err *err)
{
	const struct map_spec texts = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_texts", .key_bytes = 4,
		.value_bytes = sizeof(struct call_texts), .entries = cpus };
	const struct map_spec execs = { .type = BPF_MAP_TYPE_LRU_HASH, .name = "kp_execs", .key_bytes = 4,
		.value_bytes = sizeof(struct call_exec), .entries = EXECS_MAX };
	int ret = map_create(&texts, texts_map, err);

	return ret ? ret : map_create(&execs, execs_map, err);
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

void calltext_code_keep_exec(struct emit *emit, const struct call_machine *maps)
{
	struct code *code = &emit->code;
	int by_name = code_label(code), by_file = code_label(code), got = code_label(code),
	    other = code_label(code);

	code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, SYS_execve, by_name);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_7, SYS_execveat, other);
	code_place(code, by_name);
	look_up_cpu(emit, maps->texts);
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
	code_map(code, BPF_REG_1, maps->execs);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, emit->key);
	code_mov(code, BPF_REG_3, BPF_REG_9);
	code_mov_imm(code, BPF_REG_4, 0);
	code_call(code, BPF_FUNC_map_update_elem);
	code_place(code, other);
}

void calltext_code_take_stack(struct emit *emit, struct calltext_frame *frame)
{
	struct code *code = &emit->code;

	frame->wanted = code_stack(code, 8);
	frame->strings = code_stack(code, 8);
	for (int i = 0; i < (int)KERNEL_CALL_STRINGS; i++)
		frame->lengths[i] = code_stack(code, 8);
	frame->scratch = code_stack(code, 8);
}

/* Adds what a text of R0 bytes takes to the size of the record: its length and its bytes, in steps of 8. */
static void add_size(struct emit *emit)
{
	struct code *code = &emit->code;

	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->bytes);
	code_alu_imm(code, BPF_ADD, BPF_REG_0, 8 + 7);
	code_alu_imm(code, BPF_AND, BPF_REG_0, -8);
	code_alu(code, BPF_ADD, BPF_REG_1, BPF_REG_0);
	code_store(code, BPF_DW, BPF_REG_10, emit->bytes, BPF_REG_1);
}

/* Reads the text of the next wanted argument, if there is one: its length, 0 if it can't be read. */
static void read_text(struct emit *emit, const struct calltext_frame *frame, int index)
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
	add_size(emit);
	code_place(code, none);
}

/*
 * Of a program that was executed: the path that was kept, and then on to `done`. When that failed, the memory
 * is still there.
 */
static void read_exec(struct emit *emit, const struct call_machine *maps, const struct calltext_frame *frame,
	int done)
{
	struct code *code = &emit->code;
	int is_exec = code_label(code), other = code_label(code), got = code_label(code);

	code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, SYS_execve, is_exec);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_7, SYS_execveat, other);
	code_place(code, is_exec);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->result);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, other);
	look_up_thread(emit, maps->execs);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, other);
	code_store(code, BPF_DW, BPF_REG_10, frame->scratch, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_0, offsetof(struct call_exec, bytes));
	code_jump_if_imm(code, BPF_JLE, BPF_REG_0, KERNEL_STRING_BYTES, got);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, got);
	code_store(code, BPF_DW, BPF_REG_10, frame->lengths[0], BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, frame->wanted);
	code_store(code, BPF_DW, BPF_REG_10, frame->strings, BPF_REG_2);
	add_size(emit);
	code_store_imm(code, BPF_DW, BPF_REG_10, frame->lengths[1], 0);
	code_jump(code, done);
	code_place(code, other);
}

/*
 * Reads the address of a socket, of which `wanted` has the argument: so many bytes as the next argument, an
 * int, says. Without a family there is none, and a negative length is refused by the kernel.
 */
static void read_address(struct emit *emit, const struct calltext_frame *frame)
{
	struct code *code = &emit->code;
	int none = code_label(code), read = code_label(code), fits = code_label(code), got = code_label(code);
	int found[KERNEL_CALL_ARGS - 1];

	for (int i = 0; i < (int)KERNEL_CALL_STRINGS; i++)
		code_store_imm(code, BPF_DW, BPF_REG_10, frame->lengths[i], 0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->wanted);
	code_alu_imm(code, BPF_AND, BPF_REG_1, (1 << KERNEL_CALL_ARGS) - 1);
	for (int i = 0; i < (int)KERNEL_CALL_ARGS - 1; i++) {
		found[i] = code_label(code);
		code_jump_if_imm(code, BPF_JSET, BPF_REG_1, 1 << i, found[i]);
	}
	code_jump(code, none);
	for (int i = 0; i < (int)KERNEL_CALL_ARGS - 1; i++) {
		code_place(code, found[i]);
		code_load(code, BPF_DW, BPF_REG_3, BPF_REG_10, frame->args + i * 8);
		code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, frame->args + (i + 1) * 8);
		code_jump(code, read);
	}
	code_place(code, read);
	code_alu32(code, BPF_MOV, BPF_REG_2, BPF_REG_2);
	code_jump_if_imm(code, BPF_JLT, BPF_REG_2, CALLADDRESS_BYTES_MIN, none);
	code_jump_if_imm(code, BPF_JGT, BPF_REG_2, INT32_MAX, none);
	code_jump_if_imm(code, BPF_JLE, BPF_REG_2, KERNEL_ADDRESS_BYTES, fits);
	code_mov_imm(code, BPF_REG_2, KERNEL_ADDRESS_BYTES);
	code_place(code, fits);
	code_store(code, BPF_DW, BPF_REG_10, frame->strings, BPF_REG_1);
	code_store(code, BPF_DW, BPF_REG_10, frame->lengths[0], BPF_REG_2);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->scratch);
	code_call(code, BPF_FUNC_probe_read_user);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, got);
	code_store_imm(code, BPF_DW, BPF_REG_10, frame->lengths[0], 0);
	code_place(code, got);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10, frame->lengths[0]);
	add_size(emit);
	code_place(code, none);
}

void calltext_code_read(struct emit *emit, const struct call_machine *maps,
	const struct calltext_frame *frame)
{
	struct code *code = &emit->code;
	int none = code_label(code), there = code_label(code), address = code_label(code);

	code_store_imm(code, BPF_DW, BPF_REG_10, emit->bytes,
		(int32_t)(sizeof(struct kernel_record) + sizeof(struct kernel_call)));
	code_store_imm(code, BPF_DW, BPF_REG_10, frame->strings, 0);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, none);
	/* numbers and arguments of 32-bit calls are others, and those of a call without entry are
	 * not known */
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, emit->flags);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_2, 0, none);
	code_store(code, BPF_DW, BPF_REG_10, frame->wanted, BPF_REG_1);
	read_exec(emit, maps, frame, none);
	look_up_cpu(emit, maps->texts);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, there);
	code_return(code, 0);
	code_place(code, there);
	code_store(code, BPF_DW, BPF_REG_10, frame->scratch, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->wanted);
	code_jump_if_imm(code, BPF_JSET, BPF_REG_1, CALLNAMES_ADDRESS, address);
	for (int i = 0; i < (int)KERNEL_CALL_STRINGS; i++) {
		code_store_imm(code, BPF_DW, BPF_REG_10, frame->lengths[i], 0);
		read_text(emit, frame, i);
	}
	code_jump(code, none);
	code_place(code, address);
	read_address(emit, frame);
	code_place(code, none);
}

void calltext_code_write(struct emit *emit, const struct calltext_frame *frame)
{
	struct code *code = &emit->code;
	int none = code_label(code);

	code_mov(code, BPF_REG_6, BPF_REG_9);
	code_alu_imm(code, BPF_ADD, BPF_REG_6,
		(int32_t)(sizeof(struct kernel_record) + sizeof(struct kernel_call)));
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, frame->strings);
	code_store(code, BPF_DW, BPF_REG_9, EMIT_BODY + (int)offsetof(struct kernel_call, strings),
		BPF_REG_1);
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
