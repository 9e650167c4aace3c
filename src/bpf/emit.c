/* SPDX-License-Identifier: MIT */
/* The parts that all programs that record have. */
#include "bpf/emit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/program.h"

/* KERNEL_CHUNK_BYTES is 1 << this. */
#define CHUNK_SHIFT 13
_Static_assert(1u << CHUNK_SHIFT == KERNEL_CHUNK_BYTES, "the chunks of a ring");

/* ---- the machine ------------------------------------------------------------------------------- */

/* Where the registers of a system call are. */
#if defined(__x86_64__)
static const char regs_nr[] = "orig_ax";
static const char *const regs_args[KERNEL_CALL_ARGS] = { "di", "si", "dx", "r10", "r8", "r9" };
static const char *const regs_params[EMIT_PARAMS] = { "di", "si", "dx", "cx", "r8", "r9" };
static const char *const regs_result = "ax";
static const char *const regs_compat[KERNEL_CALL_ARGS] = { "bx", "cx", "dx", "si", "di", "bp" };
/* TS_COMPAT of arch/x86/include/asm/thread_info.h */
#define COMPAT_STATUS 2
#elif defined(__aarch64__)
static const char regs_nr[] = "syscallno";
static const char *const regs_args[KERNEL_CALL_ARGS] = { "orig_x0" };
static const char *const regs_params[EMIT_PARAMS], *const regs_result;
#endif

static int find(const struct types *types, const char *structure, const char *field, int *offset,
	struct err *err)
{
	struct types_field found;
	int ret = types_field_of(types, structure, field, &found, err);

	if (!ret)
		*offset = (int)found.offset;
	return ret;
}

#if defined(__x86_64__) || defined(__aarch64__)
/* A register by its name, or number `index` of an array of them. */
static int find_register(const struct types *types, const char *name, unsigned int index, int *offset,
	struct err *err)
{
	int ret = find(types, "pt_regs", name ? name : "regs", offset, err);

	if (!ret && !name)
		*offset += (int)index * 8;
	return ret;
}

static int find_registers(struct emit_machine *machine, const struct types *types, struct err *err)
{
	struct types_field number;
	int ret = types_field_of(types, "pt_regs", regs_nr, &number, err);

	if (!ret) {
		machine->regs_nr = (int)number.offset;
		machine->regs_nr_size = number.value.bytes == 4 ? BPF_W : BPF_DW;
	}
	for (unsigned int i = 0; i < KERNEL_CALL_ARGS && !ret; i++)
		ret = find_register(types, regs_args[i], i, &machine->regs_args[i], err);
	for (unsigned int i = 0; i < EMIT_PARAMS && !ret; i++)
		ret = find_register(types, regs_params[i], i, &machine->regs_params[i], err);
	if (!ret)
		ret = find_register(types, regs_result, 0, &machine->regs_result, err);
	if (!ret)
		ret = find(types, "pt_regs", "sp", &machine->regs_sp, err);
	return ret;
}
#else
static int find_registers(struct emit_machine *machine, const struct types *types, struct err *err)
{
	return err_set(err, EOPNOTSUPP, "the registers of system calls on this kind of CPU are not known");
}
#endif

int emit_machine_init(struct emit_machine *machine, const struct types *types, struct err *err)
{
	int ret = find(types, "task_struct", "pid", &machine->task_pid, err);

	if (!ret)
		ret = find(types, "task_struct", "tgid", &machine->task_tgid, err);
	if (!ret)
		ret = find(types, "task_struct", "comm", &machine->task_comm, err);
	if (!ret)
		ret = find_registers(machine, types, err);
	machine->links_tell = program_link_tells(types);
	machine->task_status = -1;
#ifdef COMPAT_STATUS
	for (unsigned int i = 0; i < KERNEL_CALL_ARGS && !ret; i++)
		ret = find_register(types, regs_compat[i], i, &machine->regs_compat[i], err);
	find(types, "task_struct", "thread_info.status", &machine->task_status, NULL);
#endif
	return ret;
}

int emit_machine_find_own(struct emit_machine *machine, struct err *err)
{
	const struct program_spec spec = { .name = "kp_own", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	const uint64_t args[1] = { 0 };
	struct code code;
	int fd, ret;

	code_init(&code);
	code_call(&code, BPF_FUNC_get_current_pid_tgid);
	code_alu_imm(&code, BPF_RSH, BPF_REG_0, 32);
	code_exit(&code);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(&spec, &code, &fd, err);
	code_fini(&code);
	if (ret)
		return ret;
	ret = program_run(fd, args, 1, &machine->own);
	close(fd);
	return ret ? err_set(err, -ret, "the kernel does not run a program for a test: %s",
			     strerror(-ret))
		   : 0;
}

/* ---- instructions ------------------------------------------------------------------------------ */

void emit_init(struct emit *emit, const struct emit_machine *machine)
{
	struct code *code = &emit->code;

	code_init(code);
	emit->machine = machine;
	emit->id = 0;
	emit->generation = 0;
	emit->begins = false;
	emit->record = BPF_REG_6;
	emit->record_at = 0;
	emit->threads = NULL;
	emit->thread_count = 0;
	emit->out = code_label(code);
	emit->key = code_stack(code, 8);
	emit->now = code_stack(code, 8);
	emit->bytes = code_stack(code, 8);
	emit->flags = code_stack(code, 8);
	emit->seq = code_stack(code, 8);
	emit->pos = code_stack(code, 8);
}

void emit_fini(struct emit *emit)
{
	code_fini(&emit->code);
}

/* To `chosen` if the thread whose number is in R1 is in the map. */
static void look_up_chosen(struct emit *emit, int chosen)
{
	struct code *code = &emit->code;
	int absent = code_label(code);

	code_store(code, BPF_W, BPF_REG_10, emit->key, BPF_REG_1);
	code_map(code, BPF_REG_1, emit->machine->chosen);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, emit->key);
	code_call(code, BPF_FUNC_map_lookup_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, absent);
	if (emit->begins) {
		code_jump(code, chosen);
	} else {
		code_load(code, BPF_W, BPF_REG_0, BPF_REG_0, 0);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, EMIT_CHOSEN, chosen);
	}
	code_place(code, absent);
}

/* R9 is what is recorded: to the end if this is not. */
static void choose(struct emit *emit)
{
	struct code *code = &emit->code;
	int chosen = code_label(code);

	code_jump_if_imm(code, BPF_JNE, BPF_REG_9, EMIT_ONLY_CHOSEN, chosen);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, emit->machine->task_pid);
	look_up_chosen(emit, chosen);
	for (uint32_t i = 0; i < emit->thread_count; i++) {
		code_load(code, BPF_W, BPF_REG_1, emit->record, emit->record_at + emit->threads[i]);
		look_up_chosen(emit, chosen);
	}
	code_jump(code, emit->out);
	code_place(code, chosen);
}

void emit_task(struct emit *emit)
{
	const struct emit_machine *machine = emit->machine;
	struct code *code = &emit->code;

	if (emit->generation) {
		code_map_value(code, BPF_REG_1, machine->control,
			machine->points + emit->id - KERNEL_ID_TRACEPOINTS);
		code_load(code, BPF_B, BPF_REG_1, BPF_REG_1, 0);
		code_jump_if_imm(code, BPF_JNE, BPF_REG_1, emit->generation, emit->out);
	}
	code_map_value(code, BPF_REG_1, machine->control, machine->enabled);
	code_load(code, BPF_B, BPF_REG_1, BPF_REG_1, 0);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, EMIT_NOTHING, emit->out);
	code_mov(code, BPF_REG_9, BPF_REG_1);
	code_call(code, BPF_FUNC_get_current_task_btf);
	code_mov(code, BPF_REG_8, BPF_REG_0);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, machine->task_tgid);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, (int32_t)machine->own, emit->out);
	if (machine->chosen >= 0)
		choose(emit);
}

void emit_now(struct emit *emit)
{
	code_call(&emit->code, BPF_FUNC_ktime_get_ns);
	code_store(&emit->code, BPF_DW, BPF_REG_10, emit->now, BPF_REG_0);
}

/*
 * R9 is the ring's head. The number and place are taken. If the next record will be the first of a chunk,
 * the chunk names it: number first, then position (rings.c).
 */
static void reserve(struct emit *emit)
{
	struct code *code = &emit->code;
	int same = code_label(code);
	uint32_t chunks = rings_bytes(emit->machine->rings) / KERNEL_CHUNK_BYTES;

	code_mov_imm(code, BPF_REG_1, 1);
	code_atomic(code, BPF_DW, BPF_ADD | BPF_FETCH, BPF_REG_9, offsetof(struct kernel_ring_head, count),
		BPF_REG_1);
	code_store(code, BPF_DW, BPF_REG_10, emit->seq, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, emit->bytes);
	code_mov(code, BPF_REG_3, BPF_REG_2);
	code_atomic(code, BPF_DW, BPF_ADD | BPF_FETCH, BPF_REG_9, offsetof(struct kernel_ring_head, pos),
		BPF_REG_2);
	code_store(code, BPF_DW, BPF_REG_10, emit->pos, BPF_REG_2);
	/* R3 is the position behind it */
	code_alu(code, BPF_ADD, BPF_REG_3, BPF_REG_2);
	code_mov(code, BPF_REG_4, BPF_REG_3);
	code_alu_imm(code, BPF_RSH, BPF_REG_4, CHUNK_SHIFT);
	code_mov(code, BPF_REG_5, BPF_REG_2);
	code_alu_imm(code, BPF_RSH, BPF_REG_5, CHUNK_SHIFT);
	code_jump_if(code, BPF_JEQ, BPF_REG_4, BPF_REG_5, same);
	code_alu_imm(code, BPF_AND, BPF_REG_4, (int32_t)chunks - 1);
	code_alu_imm(code, BPF_LSH, BPF_REG_4, 4);
	code_mov(code, BPF_REG_5, BPF_REG_9);
	code_alu(code, BPF_ADD, BPF_REG_5, BPF_REG_4);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, 1);
	code_store(code, BPF_DW, BPF_REG_5,
		offsetof(struct kernel_ring_head, chunks) + offsetof(struct kernel_chunk, seq), BPF_REG_1);
	code_store(code, BPF_DW, BPF_REG_5,
		offsetof(struct kernel_ring_head, chunks) + offsetof(struct kernel_chunk, pos), BPF_REG_3);
	code_place(code, same);
}

/* R0 = the ring of this CPU. */
static void find_ring(struct emit *emit)
{
	struct code *code = &emit->code;

	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_store(code, BPF_W, BPF_REG_10, emit->key, BPF_REG_0);
	code_map(code, BPF_REG_1, rings_map(emit->machine->rings));
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, emit->key);
	code_call(code, BPF_FUNC_map_lookup_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, emit->out);
}

void emit_copy(struct emit *emit, int most)
{
	struct code *code = &emit->code;
	int done = code_label(code);

	for (int at = 0; at < most; at += 8) {
		code_jump_if_imm(code, BPF_JLE, BPF_REG_2, at, done);
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_3, at);
		code_store(code, BPF_DW, BPF_REG_4, at, BPF_REG_1);
	}
	code_place(code, done);
}

static void add_missed(struct emit *emit, int32_t number)
{
	struct code *code = &emit->code;

	find_ring(emit);
	code_mov_imm(code, BPF_REG_1, number);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_0, offsetof(struct kernel_ring_head, missed), BPF_REG_1);
}

void emit_count_missed(struct emit *emit)
{
	add_missed(emit, 1);
}

/* The number of one CPU may become negative; only the sum of all is used. */
void emit_uncount_missed(struct emit *emit)
{
	add_missed(emit, -1);
}

void emit_begin(struct emit *emit)
{
	const struct emit_machine *machine = emit->machine;
	struct code *code = &emit->code;

	find_ring(emit);
	code_mov(code, BPF_REG_9, BPF_REG_0);
	reserve(emit);
	/* positions are multiples of 8; the mask shows it to the verifier, which wants atomics aligned */
	code_alu_imm(code, BPF_AND, BPF_REG_2, (int32_t)(rings_bytes(machine->rings) - 1) & ~7);
	code_alu(code, BPF_ADD, BPF_REG_9, BPF_REG_2);
	code_alu_imm(code, BPF_ADD, BPF_REG_9,
		(int32_t)rings_head_bytes(rings_bytes(machine->rings)));
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->now);
	code_store(code, BPF_DW, BPF_REG_9, EMIT_AT(time_ns), BPF_REG_1);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, machine->task_tgid);
	code_store(code, BPF_W, BPF_REG_9, EMIT_AT(tgid), BPF_REG_1);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, machine->task_pid);
	code_store(code, BPF_W, BPF_REG_9, EMIT_AT(tid), BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->seq);
	code_store(code, BPF_DW, BPF_REG_9, EMIT_AT(seq), BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_8, machine->task_comm);
	code_store(code, BPF_DW, BPF_REG_9, EMIT_AT(comm), BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_8, machine->task_comm + 8);
	code_store(code, BPF_DW, BPF_REG_9, EMIT_AT(comm) + 8, BPF_REG_1);
}

void emit_commit(struct emit *emit)
{
	struct code *code = &emit->code;

	/* tag:32 units:12 flags:4 id:16 */
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, emit->pos);
	code_alu_imm(code, BPF_RSH, BPF_REG_1, 3);
	code_alu32_imm(code, BPF_ADD, BPF_REG_1, 1);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, emit->bytes);
	code_alu_imm(code, BPF_LSH, BPF_REG_2, 32 - 3);
	code_alu(code, BPF_OR, BPF_REG_1, BPF_REG_2);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_10, emit->flags);
	code_alu_imm(code, BPF_LSH, BPF_REG_2, 44);
	code_alu(code, BPF_OR, BPF_REG_1, BPF_REG_2);
	code_mov(code, BPF_REG_2, BPF_REG_7);
	code_alu_imm(code, BPF_LSH, BPF_REG_2, 48);
	code_alu(code, BPF_OR, BPF_REG_1, BPF_REG_2);
#if defined(__x86_64__)
	/* stores are seen in their order */
	code_store(code, BPF_DW, BPF_REG_9, EMIT_AT(head), BPF_REG_1);
#else
	/* this one is a full barrier */
	code_atomic(code, BPF_DW, BPF_XCHG, BPF_REG_9, EMIT_AT(head), BPF_REG_1);
#endif
}

int emit_finish(struct emit *emit, struct err *err)
{
	code_place(&emit->code, emit->out);
	code_return(&emit->code, 0);
	return code_finish(&emit->code, err);
}
