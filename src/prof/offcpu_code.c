/* SPDX-License-Identifier: MIT */
/*
 * The programs of the event offcpu: see offcpu_code.h.
 *
 * Registers: R6 the arguments of the tracepoint, R7 the time, R8 a task, R9 the slot of this CPU.
 */
#include "prof/offcpu_code.h"

#include <errno.h>
#include <stddef.h>

#define ARG(i) (8 * (i))
#define SLOT(member) ((int)offsetof(struct offcpu_slot, member))
#define SAMPLE(member) (SLOT(sample) + (int)offsetof(struct offcpu_sample, member))
#define ENTRY(member) ((int)offsetof(struct offcpu_entry, member))
#define WAKE(member) ((int)offsetof(struct offcpu_wake, member))

/* Of task_struct's state and flags; these numbers have not changed since Linux 4.14. */
#define STATE_DEAD 0x0080
#define FLAG_KERNEL_THREAD 0x00200000

/* x86 and arm64 have other names. */
static int find_registers(struct offcpu_code *env, const struct types *types, struct err *err)
{
	if (types_offset(types, "pt_regs", "ip", &env->ip, NULL) &&
		types_offset(types, "pt_regs", "pc", &env->ip, NULL))
		return err_set(err, EOPNOTSUPP, "the registers of this processor are not known");
	return types_offset(types, "pt_regs", "sp", &env->sp, err);
}

int offcpu_code_init(struct offcpu_code *env, const struct types *types, struct err *err)
{
	const struct types_row rows[] = {
		{ "task_struct", "pid", &env->pid },
		{ "task_struct", "tgid", &env->tgid },
		{ "task_struct", "comm", &env->comm },
		{ "task_struct", "flags", &env->flags },
	};
	struct types_function tracepoint;
	int ret = types_offsets(types, rows, sizeof(rows) / sizeof(rows[0]), err);

	if (!ret && types_offset(types, "task_struct", "__state", &env->state, NULL)) /* since Linux 5.14 */
		ret = types_offset(types, "task_struct", "state", &env->state, err);
	if (!ret)
		ret = find_registers(env, types, err);
	if (ret)
		return ret;
	if (types_tracepoint(types, "sched_switch", &tracepoint))
		return err_set(err, EOPNOTSUPP, "this kernel does not describe its tracepoint sched_switch");
	env->has_prev_state = tracepoint.count > 3;
	return env->only ? only_fields_init(&env->only_fields, types, err) : 0;
}

/* ---- parts ------------------------------------------------------------------------------------ */

static void end_program(struct code *code, int end)
{
	code_place(code, end);
	code_return(code, 0);
}

/* R9 = byte `offset` of this CPU's part of an array with one value, which has `bytes` for each CPU. */
static void enter_part(const struct offcpu_code *env, struct code *code, int map, uint32_t bytes, int end)
{
	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_jump_if_imm(code, BPF_JGE, BPF_REG_0, (int32_t)env->cpus, end);
	code_map_value(code, BPF_REG_9, map, 0);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, (int32_t)bytes);
	code_alu(code, BPF_ADD, BPF_REG_9, BPF_REG_0);
}

static void begin(struct code *code)
{
	code_mov(code, BPF_REG_6, BPF_REG_1);
}

/* R2 = the address of the 4 bytes `key` on the stack, which become R3. */
static void put_key(struct code *code, int key)
{
	code_store(code, BPF_W, BPF_REG_10, key, BPF_REG_3);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, key);
}

/* R0 = the entry in a table of the thread in R3, or 0. */
static void look_up(struct code *code, int map, int key)
{
	put_key(code, key);
	code_map(code, BPF_REG_1, map);
	code_call(code, BPF_FUNC_map_lookup_elem);
}

static void forget(struct code *code, int map, int key)
{
	put_key(code, key);
	code_map(code, BPF_REG_1, map);
	code_call(code, BPF_FUNC_map_delete_elem);
}

/* Sets the entry of the thread in R3 to the value at `from` in R4. */
static void remember(struct code *code, int map, int key)
{
	put_key(code, key);
	code_map(code, BPF_REG_1, map);
	code_mov(code, BPF_REG_3, BPF_REG_4);
	code_mov_imm(code, BPF_REG_4, BPF_ANY);
	code_call(code, BPF_FUNC_map_update_elem);
}

/* Counts in the slot; R1 is lost. Only this CPU writes, and no program interrupts another one there. */
static void count(struct code *code, int member, int32_t by)
{
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, member);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, by);
	code_store(code, BPF_DW, BPF_REG_9, member, BPF_REG_1);
}

/* R1 = what task->member is, for a task in R8. */
static void load_task(struct code *code, int size, int offset)
{
	code_load(code, size, BPF_REG_1, BPF_REG_8, offset);
}

static int rest_bytes(const struct offcpu_code *env)
{
	return env->wakers >= 0 ? (int)sizeof(struct offcpu_wake) : 0;
}

/*
 * Writes the sample of the slot into perf's ring. It was taken unless this CPU's event is not enabled or is
 * not there: -EOPNOTSUPP, -ENOENT. Other errors are losses: of a full ring, which perf counts, and
 * those that are counted nowhere, which become `undelivered`.
 */
static void output(const struct offcpu_code *env, struct code *code)
{
	int written = code_label(code), not_open = code_label(code), done = code_label(code);

	code_store_imm(code, BPF_W, BPF_REG_9, SAMPLE(raw_bytes), 0);
	count(code, SLOT(taken), 1);
	code_mov(code, BPF_REG_1, BPF_REG_6);
	code_map(code, BPF_REG_2, env->outputs);
	code_mov_imm64(code, BPF_REG_3, BPF_F_CURRENT_CPU);
	code_mov(code, BPF_REG_4, BPF_REG_9);
	code_alu_imm(code, BPF_ADD, BPF_REG_4, SAMPLE(flags));
	code_load(code, BPF_DW, BPF_REG_5, BPF_REG_9, SAMPLE(kernel_bytes));
	code_alu_imm(code, BPF_AND, BPF_REG_5, OFFCPU_KERNEL_BYTES_MAX - 8);
	code_alu_imm(code, BPF_ADD, BPF_REG_5, SAMPLE(rest) - SAMPLE(flags) + rest_bytes(env));
	code_call(code, BPF_FUNC_perf_event_output);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, written);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, -EOPNOTSUPP, not_open);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, -ENOENT, not_open);
	code_jump(code, done);
	code_place(code, not_open);
	count(code, SLOT(taken), -1);
	code_place(code, written);
	code_place(code, done);
}

/* ---- a task leaves ---------------------------------------------------------------------------- */

/*
 * The sample of the task in R8, which leaves this CPU, is still pending: it is written now, in its own
 * context. Its user stack is the one that it came back to only if it has not moved.
 */
static void settle(const struct offcpu_code *env, struct code *code)
{
	int none = code_label(code), own = code_label(code), write = code_label(code);

	code_load(code, BPF_W, BPF_REG_1, BPF_REG_9, SAMPLE(raw_bytes));
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, none);
	load_task(code, BPF_W, env->pid);
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_9, SAMPLE(tid));
	code_jump_if(code, BPF_JEQ, BPF_REG_1, BPF_REG_2, own);
	/* a switch was not reported (seen in virtual machines) */
	code_jump(code, write);
	code_place(code, own);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_9, SAMPLE(flags));
	code_alu_imm(code, BPF_OR, BPF_REG_1, OFFCPU_OWN);
	code_store(code, BPF_W, BPF_REG_9, SAMPLE(flags), BPF_REG_1);
	code_mov(code, BPF_REG_1, BPF_REG_8);
	code_call(code, BPF_FUNC_task_pt_regs);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, write);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, env->ip);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_9, SAMPLE(user_ip));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, write);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, env->sp);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_9, SAMPLE(user_sp));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, write);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_9, SAMPLE(flags));
	code_alu_imm(code, BPF_OR, BPF_REG_1, OFFCPU_USER);
	code_store(code, BPF_W, BPF_REG_9, SAMPLE(flags), BPF_REG_1);
	code_place(code, write);
	output(env, code);
	code_place(code, none);
}

/* R5 = the state in which a task leaves: 0 if it could have gone on. */
static void load_state(const struct offcpu_code *env, struct code *code)
{
	int preempted = code_label(code);

	code_mov_imm(code, BPF_REG_5, 0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, ARG(0)); /* preempted: a bool */
	code_alu_imm(code, BPF_AND, BPF_REG_1, 0xff);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, preempted);
	if (env->has_prev_state) {
		code_load(code, BPF_DW, BPF_REG_5, BPF_REG_6, ARG(3));
		code_alu32(code, BPF_MOV, BPF_REG_5, BPF_REG_5);
	} else {
		code_load(code, BPF_W, BPF_REG_5, BPF_REG_8, env->state);
	}
	code_place(code, preempted);
}

/*
 * R0 = the place of the task in R8, R3 = its number; to `other` if there is none. The number is not that of
 * the owner yet.
 */
static void find_place(const struct offcpu_code *env, struct code *code, int key, int other)
{
	load_task(code, BPF_W, env->pid);
	code_mov(code, BPF_REG_3, BPF_REG_1);
	code_alu_imm(code, BPF_AND, BPF_REG_3, OFFCPU_PLACES - 1);
	look_up(code, env->places, key);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, other);
	load_task(code, BPF_W, env->pid);
	code_mov(code, BPF_REG_3, BPF_REG_1);
}

/*
 * R0 = the place that the task in R8 takes now, or already has, since it had come back meanwhile; to
 * `taken` if another task has it.
 */
static void take_place(const struct offcpu_code *env, struct code *code, int key, int taken)
{
	int own = code_label(code), done = code_label(code);

	find_place(env, code, key, taken);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_0, ENTRY(owner));
	code_jump_if(code, BPF_JEQ, BPF_REG_1, BPF_REG_3, own);
	code_mov(code, BPF_REG_2, BPF_REG_0);
	code_mov_imm(code, BPF_REG_0, 0);
	code_atomic(code, BPF_W, BPF_CMPXCHG, BPF_REG_2, ENTRY(owner), BPF_REG_3);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, taken);
	code_mov(code, BPF_REG_0, BPF_REG_2);
	code_jump(code, done);
	code_place(code, own);
	count(code, SLOT(unseen), 1);
	code_place(code, done);
}

/* R0 = the entry in the table that the task in R8 has; to `fresh` if it has none. */
static void find_entry(const struct offcpu_code *env, struct code *code, int key, int fresh)
{
	int seen = code_label(code);

	load_task(code, BPF_W, env->pid);
	code_mov(code, BPF_REG_3, BPF_REG_1);
	look_up(code, env->tasks, key);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, fresh);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_0, ENTRY(left_ns));
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_2, 0, seen);
	count(code, SLOT(unseen), 1); /* it had come back meanwhile */
	code_place(code, seen);
}

/*
 * The task in R8 ends: another one may have its number later. It has an entry if it was not seen to come
 * back.
 */
static void forget_task(const struct offcpu_code *env, struct code *code, int key)
{
	int other = code_label(code);

	find_place(env, code, key, other);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_0, ENTRY(owner));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_3, other);
	code_store_imm(code, BPF_W, BPF_REG_0, ENTRY(owner), 0);
	code_place(code, other);
	load_task(code, BPF_W, env->pid);
	code_mov(code, BPF_REG_3, BPF_REG_1);
	forget(code, env->tasks, key);
}

static void leave(const struct offcpu_code *env, struct code *code, int key)
{
	const int mark = code->stack, entry = code_stack(code, sizeof(struct offcpu_entry));
	int idle = code_label(code), taken = code_label(code), fresh = code_label(code);
	int found = code_label(code), ends = code_label(code);

	load_task(code, BPF_W, env->pid);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, idle);
	load_state(env, code);
	code_jump_if_imm(code, BPF_JSET, BPF_REG_5, STATE_DEAD, ends);
	code_store(code, BPF_DW, BPF_REG_10, entry + ENTRY(state), BPF_REG_5);
	take_place(env, code, key, taken);
	code_jump(code, found);
	code_place(code, taken);
	find_entry(env, code, key, fresh);
	code_place(code, found);
	code_load(code, BPF_DW, BPF_REG_5, BPF_REG_10, entry + ENTRY(state));
	code_store(code, BPF_DW, BPF_REG_0, ENTRY(left_ns), BPF_REG_7);
	code_store(code, BPF_DW, BPF_REG_0, ENTRY(state), BPF_REG_5);
	code_jump(code, idle);
	code_place(code, fresh);
	code_store(code, BPF_DW, BPF_REG_10, entry + ENTRY(left_ns), BPF_REG_7);
	for (int i = ENTRY(owner); i < (int)sizeof(struct offcpu_entry); i += 8)
		code_store_imm(code, BPF_DW, BPF_REG_10, entry + i, 0);
	code_load(code, BPF_W, BPF_REG_3, BPF_REG_10, key);
	code_mov(code, BPF_REG_4, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_4, entry);
	remember(code, env->tasks, key);
	code_jump(code, idle);
	code_place(code, ends);
	forget_task(env, code, key);
	code_place(code, idle);
	code_stack_back(code, mark);
}

/* ---- a task comes back ------------------------------------------------------------------------ */

/* Copies the wake that ended this absence into the sample, or says that none is known. */
static void fill_wake(const struct offcpu_code *env, struct code *code, int key)
{
	int none = code_label(code), done = code_label(code);

	load_task(code, BPF_W, env->pid);
	code_mov(code, BPF_REG_3, BPF_REG_1);
	look_up(code, env->wakers, key);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, none);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, WAKE(woken_ns));
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_9, SAMPLE(left_ns));
	code_jump_if(code, BPF_JLT, BPF_REG_1, BPF_REG_2, none);
	code_mov(code, BPF_REG_3, BPF_REG_0);
	code_mov(code, BPF_REG_1, BPF_REG_9);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, SAMPLE(rest));
	code_mov_imm(code, BPF_REG_2, sizeof(struct offcpu_wake));
	code_call(code, BPF_FUNC_probe_read_kernel);
	code_jump(code, done);
	code_place(code, none);
	code_store_imm(code, BPF_DW, BPF_REG_9, SAMPLE(rest) + WAKE(woken_ns), 0);
	code_place(code, done);
}

/* The stack in the kernel of the task in R8, which has not moved since it left. */
static void fill_stack(const struct offcpu_code *env, struct code *code)
{
	int taken = code_label(code);

	code_mov(code, BPF_REG_1, BPF_REG_8);
	code_mov(code, BPF_REG_2, BPF_REG_9);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, SAMPLE(rest) + rest_bytes(env));
	code_mov_imm(code, BPF_REG_3, (int32_t)(env->frames * sizeof(uint64_t)));
	code_mov_imm(code, BPF_REG_4, 0);
	code_call(code, BPF_FUNC_get_task_stack);
	code_jump_if_imm(code, BPF_JSGE, BPF_REG_0, 0, taken);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, taken);
	code_store(code, BPF_DW, BPF_REG_9, SAMPLE(kernel_bytes), BPF_REG_0);
}

/* Where the task in R8 had left user space; 0 if it has none. */
static void fill_user(const struct offcpu_code *env, struct code *code)
{
	int none = code_label(code);

	code_mov_imm(code, BPF_REG_0, 0);
	code_store(code, BPF_DW, BPF_REG_9, SAMPLE(user_ip), BPF_REG_0);
	load_task(code, BPF_W, env->flags);
	code_jump_if_imm(code, BPF_JSET, BPF_REG_1, FLAG_KERNEL_THREAD, none);
	code_mov(code, BPF_REG_1, BPF_REG_8);
	code_call(code, BPF_FUNC_task_pt_regs);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, none);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, env->ip);
	code_store(code, BPF_DW, BPF_REG_9, SAMPLE(user_ip), BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, env->sp);
	code_store(code, BPF_DW, BPF_REG_9, SAMPLE(user_sp), BPF_REG_1);
	code_place(code, none);
}

/* R1 = when the task in R8 left, R4 = its state then. Its entry is free again. To `unseen` if it has none. */
static void take_entry(const struct offcpu_code *env, struct code *code, int key, int unseen)
{
	int table = code_label(code), done = code_label(code);

	find_place(env, code, key, table);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_0, ENTRY(owner));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_3, table);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, ENTRY(left_ns));
	code_load(code, BPF_DW, BPF_REG_4, BPF_REG_0, ENTRY(state));
	code_mov_imm(code, BPF_REG_3, 0);
#if defined(__x86_64__)
	/* behind the loads, as everyone sees it */
	code_store(code, BPF_W, BPF_REG_0, ENTRY(owner), BPF_REG_3);
#else
	code_atomic(code, BPF_W, BPF_XCHG, BPF_REG_0, ENTRY(owner), BPF_REG_3);
#endif
	code_jump(code, done);
	code_place(code, table);
	load_task(code, BPF_W, env->pid);
	code_mov(code, BPF_REG_3, BPF_REG_1);
	look_up(code, env->tasks, key);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, unseen);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, ENTRY(left_ns));
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, unseen);
	code_load(code, BPF_DW, BPF_REG_4, BPF_REG_0, ENTRY(state));
	code_store_imm(code, BPF_DW, BPF_REG_0, ENTRY(left_ns), 0);
	code_place(code, done);
}

/* Writes the times of the task in R8 into the slot; jumps if it was away too short, or that is not known. */
static void measure(const struct offcpu_code *env, struct code *code, int key, int end)
{
	int unseen = code_label(code), shorter = code_label(code), longer = code_label(code);

	load_task(code, BPF_W, env->pid);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, end);
	take_entry(env, code, key, unseen);
	code_mov(code, BPF_REG_2, BPF_REG_7);
	code_alu(code, BPF_SUB, BPF_REG_2, BPF_REG_1);
	code_mov_imm64(code, BPF_REG_3, env->min_ns);
	code_jump_if(code, BPF_JLT, BPF_REG_2, BPF_REG_3, shorter);
	code_jump(code, longer);
	code_place(code, unseen);
	count(code, SLOT(unseen), 1);
	code_jump(code, end);
	code_place(code, shorter);
	count(code, SLOT(shorter), 1);
	code_jump(code, end);
	code_place(code, longer);
	code_store(code, BPF_DW, BPF_REG_9, SAMPLE(state), BPF_REG_4);
	code_store(code, BPF_DW, BPF_REG_9, SAMPLE(left_ns), BPF_REG_1);
	code_store(code, BPF_DW, BPF_REG_9, SAMPLE(back_ns), BPF_REG_7);
}

/* Jumps if samples of the task in R8 are not wanted. */
static void check_only(const struct offcpu_code *env, struct code *code, int end)
{
	int wanted = code_label(code);

	only_emit(env->only, &env->only_fields, false, code);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, wanted);
	count(code, SLOT(refused), 1);
	code_jump(code, end);
	code_place(code, wanted);
}

static void come_back(const struct offcpu_code *env, struct code *code, int key, int end)
{
	int now = code_label(code);

	measure(env, code, key, end);
	if (env->only)
		check_only(env, code, end);
	load_task(code, BPF_W, env->pid);
	code_store(code, BPF_W, BPF_REG_9, SAMPLE(tid), BPF_REG_1);
	load_task(code, BPF_W, env->tgid);
	code_store(code, BPF_W, BPF_REG_9, SAMPLE(tgid), BPF_REG_1);
	code_store_imm(code, BPF_W, BPF_REG_9, SAMPLE(flags), env->wakers >= 0 ? OFFCPU_WAKER : 0);
	fill_user(env, code);
	if (env->wakers >= 0)
		fill_wake(env, code, key);
	fill_stack(env, code);
	if (env->user) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, SAMPLE(user_ip));
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, now);
		code_store_imm(code, BPF_W, BPF_REG_9, SAMPLE(raw_bytes), 1);
		code_jump(code, end);
	}
	code_place(code, now);
	output(env, code);
}

/* ---- programs --------------------------------------------------------------------------------- */

void offcpu_code_switch(const struct offcpu_code *env, struct code *code)
{
	int end = code_label(code), key = code_stack(code, 8);

	begin(code);
	enter_part(env, code, env->slots, OFFCPU_SLOT_BYTES, end);
	code_call(code, BPF_FUNC_ktime_get_ns);
	code_mov(code, BPF_REG_7, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_8, BPF_REG_6, ARG(1));
	settle(env, code);
	leave(env, code, key);
	code_load(code, BPF_DW, BPF_REG_8, BPF_REG_6, ARG(2));
	come_back(env, code, key, end);
	end_program(code, end);
}

/* A task returns to user space. */
void offcpu_code_return(const struct offcpu_code *env, struct code *code)
{
	int end = code_label(code);

	begin(code);
	enter_part(env, code, env->slots, OFFCPU_SLOT_BYTES, end);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_9, SAMPLE(raw_bytes));
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, end);
	code_load(code, BPF_DW, BPF_REG_8, BPF_REG_6, ARG(0));
	load_task(code, BPF_W, env->pid);
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_9, SAMPLE(tid));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, end);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_9, SAMPLE(flags));
	code_alu_imm(code, BPF_OR, BPF_REG_1, OFFCPU_OWN | OFFCPU_USER);
	code_store(code, BPF_W, BPF_REG_9, SAMPLE(flags), BPF_REG_1);
	output(env, code);
	end_program(code, end);
}

/* One of the waker's stacks, with `flags` of the helper, to `frames` and its size to `bytes`. */
static void take_waker_stack(struct code *code, int32_t flags, int frames, int bytes)
{
	int taken = code_label(code);

	code_mov(code, BPF_REG_1, BPF_REG_6);
	code_mov(code, BPF_REG_2, BPF_REG_9);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, frames);
	code_mov_imm(code, BPF_REG_3, OFFCPU_WAKER_FRAMES_MAX * sizeof(uint64_t));
	code_mov_imm(code, BPF_REG_4, flags);
	code_call(code, BPF_FUNC_get_stack);
	code_jump_if_imm(code, BPF_JSGE, BPF_REG_0, 0, taken);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, taken);
	code_store(code, BPF_W, BPF_REG_9, bytes, BPF_REG_0);
}

/* R1 = when the task in R8 left, of which R3 and the key become its number; to `end` if it is not away. */
static void look_at_entry(const struct offcpu_code *env, struct code *code, int key, int end)
{
	int table = code_label(code), found = code_label(code);

	find_place(env, code, key, table);
	code_store(code, BPF_W, BPF_REG_10, key, BPF_REG_3);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_0, ENTRY(owner));
	code_jump_if(code, BPF_JEQ, BPF_REG_1, BPF_REG_3, found);
	code_place(code, table);
	load_task(code, BPF_W, env->pid);
	code_mov(code, BPF_REG_3, BPF_REG_1);
	look_up(code, env->tasks, key);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, end);
	code_place(code, found);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, ENTRY(left_ns));
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, end);
}

/* A task is woken, by the current one or in an interrupt of it. */
void offcpu_code_waking(const struct offcpu_code *env, struct code *code)
{
	int end = code_label(code), key = code_stack(code, 8), shorter = code_label(code), i;

	begin(code);
	code_call(code, BPF_FUNC_ktime_get_ns);
	code_mov(code, BPF_REG_7, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_8, BPF_REG_6, ARG(0));
	look_at_entry(env, code, key, end);
	code_mov(code, BPF_REG_8, BPF_REG_7);
	code_alu(code, BPF_SUB, BPF_REG_8, BPF_REG_1);
	enter_part(env, code, env->scratch, sizeof(struct offcpu_wake), end);
	code_store(code, BPF_DW, BPF_REG_9, WAKE(woken_ns), BPF_REG_7);
	code_store_imm(code, BPF_DW, BPF_REG_9, WAKE(kernel_bytes), 0); /* both */
	code_mov_imm64(code, BPF_REG_1, env->min_ns);
	code_jump_if(code, BPF_JLT, BPF_REG_8, BPF_REG_1, shorter);
	take_waker_stack(code, 0, WAKE(kernel), WAKE(kernel_bytes));
	take_waker_stack(code, BPF_F_USER_STACK, WAKE(user), WAKE(user_bytes));
	code_place(code, shorter);
	code_call(code, BPF_FUNC_get_current_task_btf);
	code_mov(code, BPF_REG_8, BPF_REG_0);
	load_task(code, BPF_W, env->tgid);
	code_store(code, BPF_W, BPF_REG_9, WAKE(tgid), BPF_REG_1);
	load_task(code, BPF_W, env->pid);
	code_store(code, BPF_W, BPF_REG_9, WAKE(tid), BPF_REG_1);
	for (i = 0; i < (int)OFFCPU_COMM_BYTES; i += 8) {
		load_task(code, BPF_DW, env->comm + i);
		code_store(code, BPF_DW, BPF_REG_9, WAKE(comm) + i, BPF_REG_1);
	}
	code_load(code, BPF_W, BPF_REG_3, BPF_REG_10, key);
	code_mov(code, BPF_REG_4, BPF_REG_9);
	remember(code, env->wakers, key);
	end_program(code, end);
}
