/* SPDX-License-Identifier: MIT */
/* Calls under way. */
#include "kernel/begun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kprof/ring_abi.h>

#include "bpf/code.h"
#include "bpf/program.h"
#include "kernel/begun_code.h"

/* Threads that one read of the list returns. */
#define THREADS_READ 64

/* Where the list's program finds what it needs: offsets, from the kernel's types. */
struct begun_fields {
	int context_task, context_meta; /* of struct bpf_iter__task, whose members are pointers */
	int meta_seq;
	int pid, tgid, comm, start;
};

static int find_fields(const struct types *types, struct begun_fields *fields, struct err *err)
{
	const struct types_row rows[] = {
		{ "bpf_iter__task", "task", &fields->context_task },
		{ "bpf_iter__task", "meta", &fields->context_meta },
		{ "bpf_iter_meta", "seq", &fields->meta_seq },
		{ "task_struct", "pid", &fields->pid },
		{ "task_struct", "tgid", &fields->tgid },
		{ "task_struct", "comm", &fields->comm },
		{ "task_struct", "start_time", &fields->start },
	};

	return types_offsets(types, rows, G_N_ELEMENTS(rows), err);
}

/* R0 = the value of a map for the key on the stack, or 0. */
static void look_up(struct code *code, int map, int key)
{
	code_map(code, BPF_REG_1, map);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, key);
	code_call(code, BPF_FUNC_map_lookup_elem);
}

/* R8 = what is kept for the task in R7, in its slot or in the hash map; or goes to `none`. */
static void find_call(struct code *code, const struct call_machine *maps, const struct begun_fields *fields,
	int key, int none)
{
	int other = code_label(code), found = code_label(code);

	code_load(code, BPF_W, BPF_REG_1, BPF_REG_7, fields->pid);
	code_alu_imm(code, BPF_AND, BPF_REG_1, BEGUN_SLOTS - 1);
	code_store(code, BPF_DW, BPF_REG_10, key, BPF_REG_1);
	look_up(code, maps->slots, key);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, none);
	code_mov(code, BPF_REG_8, BPF_REG_0);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_7, fields->pid);
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_8, offsetof(struct begun_slot, owner));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, other);
	code_jump(code, found);
	code_place(code, other);
	code_store(code, BPF_DW, BPF_REG_10, key, BPF_REG_1);
	look_up(code, maps->others, key);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, none);
	code_mov(code, BPF_REG_8, BPF_REG_0);
	code_place(code, found);
}

/*
 * Copies what R8 is to the stack, with the time in R1; or goes to `none` if it has returned, also meanwhile:
 * the thread may be running.
 */
static void copy_call(struct code *code, int row, int none)
{
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_8, offsetof(struct begun_slot, state));
	code_load(code, BPF_H, BPF_REG_1, BPF_REG_8, offsetof(struct begun_slot, number));
	code_store(code, BPF_W, BPF_REG_10, row + (int)offsetof(struct begun_call, number), BPF_REG_1);
	code_load(code, BPF_H, BPF_REG_1, BPF_REG_8, offsetof(struct begun_slot, flags));
	code_store(code, BPF_W, BPF_REG_10, row + (int)offsetof(struct begun_call, flags), BPF_REG_1);
	for (int i = 0; i < (int)KERNEL_CALL_ARGS; i++) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_8, (int)offsetof(struct begun_slot, args) + i * 8);
		code_store(code, BPF_DW, BPF_REG_10, row + (int)offsetof(struct begun_call, args) + i * 8,
			BPF_REG_1);
	}
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_8, offsetof(struct begun_slot, state));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_3, none);
	code_alu_imm(code, BPF_AND, BPF_REG_3, 1);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_3, 0, none);
	code_alu_imm(code, BPF_RSH, BPF_REG_1, 1);
	code_store(code, BPF_DW, BPF_REG_10, row + (int)offsetof(struct begun_call, time_ns), BPF_REG_1);
}

/*
 * For one task: R6 is the context, R7 the task, R8 its call. A number that was used again has a task that
 * began later than the call.
 */
static void make_program(const struct call_machine *maps, const struct begun_fields *fields,
	struct code *code)
{
	const int key = code_stack(code, 8), row = code_stack(code, sizeof(struct begun_thread));
	const int tgid = row + (int)offsetof(struct begun_thread, tgid);
	const int tid = row + (int)offsetof(struct begun_thread, tid);
	const int comm = row + (int)offsetof(struct begun_thread, comm);
	int none = code_label(code);

	code_mov(code, BPF_REG_6, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_7, BPF_REG_6, fields->context_task);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, 0, none);
	find_call(code, maps, fields, key, none);
	copy_call(code, row, none);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_7, fields->start);
	code_jump_if(code, BPF_JGT, BPF_REG_2, BPF_REG_1, none);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_7, fields->tgid);
	code_store(code, BPF_W, BPF_REG_10, tgid, BPF_REG_1);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_7, fields->pid);
	code_store(code, BPF_W, BPF_REG_10, tid, BPF_REG_1);
	for (int i = 0; i < (int)KERNEL_COMM_BYTES; i += 8) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_7, fields->comm + i);
		code_store(code, BPF_DW, BPF_REG_10, comm + i, BPF_REG_1);
	}
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, fields->context_meta);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_1, fields->meta_seq);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, row);
	code_mov_imm(code, BPF_REG_3, sizeof(struct begun_thread));
	code_call(code, BPF_FUNC_seq_write);
	code_place(code, none);
	code_return(code, 0);
}

int begun_attach(const struct call_machine *maps, const struct types *types, int *link, struct err *err)
{
	struct program_spec spec = { .name = "kp_begun", .type = BPF_PROG_TYPE_TRACING,
		.attach = BPF_TRACE_ITER };
	struct begun_fields fields;
	struct code code;
	int ret, program;

	spec.attach_type_id = types_find(types, TYPES_FUNCTION, "bpf_iter_task");
	if (!spec.attach_type_id)
		return err_set(err, EOPNOTSUPP, "this kernel has no programs that list tasks");
	ret = find_fields(types, &fields, err);
	if (ret)
		return ret;
	code_init(&code);
	make_program(maps, &fields, &code);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(&spec, &code, &program, err);
	code_fini(&code);
	if (ret)
		return ret;
	ret = program_attach_list(program, link, err);
	close(program); /* the link has it */
	return ret;
}

int begun_list(int link, GArray *threads)
{
	struct begun_thread some[THREADS_READ];
	ssize_t bytes;
	size_t held = 0;
	int fd, ret = program_open_list(link, &fd);

	if (ret)
		return ret;
	/* a read may end within a thread */
	while ((bytes = read(fd, (char *)some + held, sizeof(some) - held)) > 0) {
		size_t whole;

		held += (size_t)bytes;
		whole = held / sizeof(*some);
		g_array_append_vals(threads, some, (guint)whole);
		held -= whole * sizeof(*some);
		memmove(some, some + whole, held);
	}
	ret = bytes < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* ---- records ----------------------------------------------------------------------------------- */

struct begun_record {
	struct kernel_record record;
	struct kernel_call call;
};

_Static_assert(sizeof(struct begun_record) % 8 == 0, "records are multiples of 8 bytes");

static int compare_times(const void *a, const void *b)
{
	const struct begun_thread *x = a, *y = b;

	return x->call.time_ns < y->call.time_ns ? -1 : x->call.time_ns > y->call.time_ns;
}

static void make_record(const struct begun_thread *thread, uint32_t number, struct begun_record *made)
{
	const uint64_t at = (uint64_t)number * sizeof(*made);

	made->record = (struct kernel_record){
		.time_ns = thread->call.time_ns,
		.head = KERNEL_HEAD(KERNEL_TAG(at), sizeof(*made) / 8,
			(thread->call.flags & KERNEL_RECORD_COMPAT) | KERNEL_RECORD_NO_RESULT,
			thread->call.number),
		.tgid = thread->tgid,
		.tid = thread->tid,
		.seq = number,
	};
	memcpy(made->record.comm, thread->comm, sizeof(made->record.comm));
	made->call = (struct kernel_call){ 0 };
	memcpy(made->call.args, thread->call.args, sizeof(made->call.args));
}

size_t begun_copy_bytes(uint32_t count)
{
	size_t bytes = KERNEL_CHUNK_BYTES;

	while (bytes < count * sizeof(struct begun_record))
		bytes *= 2;
	return bytes + KERNEL_RECORD_MAX;
}

int begun_copy(GArray *threads, struct rings_copy *copy)
{
	const size_t bytes = begun_copy_bytes(threads->len);
	struct begun_record *records = malloc(bytes);

	if (!records)
		return -ENOMEM;
	g_array_sort(threads, compare_times);
	for (guint i = 0; i < threads->len; i++)
		make_record(&g_array_index(threads, struct begun_thread, i), i, &records[i]);
	*copy = (struct rings_copy){
		.cpu = KPROF_CPU_UNKNOWN,
		.data = (char *)records,
		.end = threads->len * sizeof(*records),
		.mask = (uint32_t)(bytes - KERNEL_RECORD_MAX) - 1,
	};
	return 0;
}
