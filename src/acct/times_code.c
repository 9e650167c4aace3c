/* SPDX-License-Identifier: MIT */
/*
 * The programs that measure: see times_code.h.
 *
 * Registers: R6 the cell of this CPU, R7 the time, R8 a state or a number that lives across calls, R9 the
 * arguments of the tracepoint.
 */
#include "acct/times_code.h"

#include <errno.h>

#include "acct/cells.h"

#define CELL(member) ((int)offsetof(struct cell, member))
#define TASK(member) ((int)offsetof(struct task_entry, member))
#define ARG(i) (8 * (i))
#define NAME_BYTES 16

/* Of task_struct's state and flags; these numbers have not changed since Linux 4.14. */
#define STATE_UNINTERRUPTIBLE 0x0002
#define STATE_DEAD 0x0080
#define STATE_NOLOAD 0x0400
#define FLAG_KERNEL_THREAD 0x00200000

static int find(const struct types *types, const char *structure, const char *path, uint32_t *offset,
	struct err *err)
{
	struct types_field field;
	int ret = types_field_of(types, structure, path, &field, err);

	if (ret)
		return err_set(err, EOPNOTSUPP, "this kernel has no field %s.%s", structure, path);
	*offset = field.offset;
	return 0;
}

/* The number of the system call that a task is in, in its saved registers; negative outside of one. */
static int find_call(struct times_code *env, const struct types *types, struct err *err)
{
	env->call_bytes = 8;
	if (!find(types, "pt_regs", "orig_ax", &env->call, err))
		return 0;
	env->call_bytes = 4;
	if (!find(types, "pt_regs", "syscallno", &env->call, err))
		return 0;
	return err_set(err, EOPNOTSUPP, "on this processor the boundary of system calls can't be measured");
}

int times_code_init(struct times_code *env, const struct types *types, bool divided, struct err *err)
{
	struct types_function tracepoint;
	int ret;

	env->divided = divided;
	ret = find(types, "task_struct", "pid", &env->pid, err);
	if (!ret)
		ret = find(types, "task_struct", "tgid", &env->tgid, err);
	if (!ret)
		ret = find(types, "task_struct", "comm", &env->name, err);
	if (!ret)
		ret = find(types, "task_struct", "flags", &env->flags, err);
	if (!ret && find(types, "task_struct", "__state", &env->state, err)) /* since Linux 5.14 */
		ret = find(types, "task_struct", "state", &env->state, err);
	if (!ret && divided)
		ret = find_call(env, types, err);
	if (ret)
		return ret;
	if (types_tracepoint(types, "sched_switch", &tracepoint))
		return err_set(err, EOPNOTSUPP, "this kernel does not describe its tracepoint sched_switch");
	env->has_prev_state = tracepoint.count > 3;
	if (types_constant(types, "CPUHP_BRINGUP_CPU", &env->bringup_state))
		env->bringup_state = -1;
	return 0;
}

/* ---- cells ------------------------------------------------------------------------------------ */

/* R6 = the cell of the CPU whose number is in R0; without one the program ends. */
static void enter_cell_of(const struct times_code *env, struct code *code, int end)
{
	code_jump_if_imm(code, BPF_JGE, BPF_REG_0, (int32_t)env->cpus, end);
	code_map_value(code, BPF_REG_6, env->cells, 0);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, sizeof(struct cell));
	code_alu(code, BPF_ADD, BPF_REG_6, BPF_REG_0);
}

static void enter_cell(const struct times_code *env, struct code *code, int end)
{
	code_call(code, BPF_FUNC_get_smp_processor_id);
	enter_cell_of(env, code, end);
}

static void end_program(struct code *code, int end)
{
	code_place(code, end);
	code_return(code, 0);
}

/* R7 = now */
static void read_clock(struct code *code)
{
	code_call(code, BPF_FUNC_ktime_get_ns);
	code_mov(code, BPF_REG_7, BPF_REG_0);
}

/* From now (R7) on the CPU is in the state in R8. R1 = the state until now, R2 = the time in it. */
static void exchange(struct code *code)
{
	code_mov(code, BPF_REG_3, BPF_REG_7);
	code_alu_imm(code, BPF_LSH, BPF_REG_3, CELL_STATE_BITS);
	code_alu(code, BPF_OR, BPF_REG_3, BPF_REG_8);
	code_atomic(code, BPF_DW, BPF_XCHG, BPF_REG_6, CELL(last), BPF_REG_3);
	code_mov(code, BPF_REG_1, BPF_REG_3);
	code_alu_imm(code, BPF_AND, BPF_REG_1, CELL_STATES - 1);
	code_alu_imm(code, BPF_RSH, BPF_REG_3, CELL_STATE_BITS);
	code_mov(code, BPF_REG_2, BPF_REG_7);
	code_alu(code, BPF_SUB, BPF_REG_2, BPF_REG_3);
}

/* ns[R1] += R2 */
static void charge(struct code *code)
{
	code_alu_imm(code, BPF_AND, BPF_REG_1, CELL_STATES - 1);
	code_alu_imm(code, BPF_LSH, BPF_REG_1, 3);
	code_mov(code, BPF_REG_3, BPF_REG_6);
	code_alu(code, BPF_ADD, BPF_REG_3, BPF_REG_1);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_3, CELL(ns), BPF_REG_2);
}

/* The CPU changes to the state in R8, now. */
static void change(struct code *code)
{
	read_clock(code);
	exchange(code);
	charge(code);
}

/*
 * The same at the beginning of an interrupt. Some switches from the idle task are not reported (seen in
 * virtual machines): if a task is interrupted and the CPU counts as idle, the task has run since.
 */
static void change_from_task(struct code *code)
{
	int done = code_label(code);

	read_clock(code);
	exchange(code);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, EXACT_IDLE, done);
	code_mov(code, BPF_REG_7, BPF_REG_2);
	code_mov(code, BPF_REG_8, BPF_REG_1);
	code_call(code, BPF_FUNC_get_current_pid_tgid);
	code_mov(code, BPF_REG_2, BPF_REG_7);
	code_mov(code, BPF_REG_1, BPF_REG_8);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, CELL(under));
	code_place(code, done);
	charge(code);
}

/* R8 = the state below interrupts. The idle task is the one with the number 0. */
static void find_under(struct code *code)
{
	int task = code_label(code), done = code_label(code);

	code_call(code, BPF_FUNC_get_current_pid_tgid);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, task);
	code_mov_imm(code, BPF_REG_8, EXACT_IDLE);
	code_jump(code, done);
	code_place(code, task);
	code_load(code, BPF_DW, BPF_REG_8, BPF_REG_6, CELL(under));
	code_alu_imm(code, BPF_AND, BPF_REG_8, CELL_STATES - 1);
	code_place(code, done);
}

void times_code_irq_entry(const struct times_code *env, struct code *code)
{
	int end = code_label(code);

	enter_cell(env, code, end);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_6, CELL(depth));
	code_alu_imm(code, BPF_ADD, BPF_REG_1, 1);
	code_store(code, BPF_W, BPF_REG_6, CELL(depth), BPF_REG_1);
	code_mov_imm(code, BPF_REG_8, EXACT_IRQ);
	change_from_task(code);
	end_program(code, end);
}

void times_code_irq_exit(const struct times_code *env, struct code *code)
{
	int end = code_label(code), known = code_label(code), outermost = code_label(code);

	enter_cell(env, code, end);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_6, CELL(depth));
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, outermost);
	code_alu_imm(code, BPF_SUB, BPF_REG_1, 1);
	code_store(code, BPF_W, BPF_REG_6, CELL(depth), BPF_REG_1);
	code_mov_imm(code, BPF_REG_8, EXACT_IRQ);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, known);
	code_place(code, outermost);
	code_mov_imm(code, BPF_REG_8, EXACT_SOFTIRQ);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_6, CELL(softirq));
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, known);
	find_under(code);
	code_place(code, known);
	change(code);
	end_program(code, end);
}

/* A soft interrupt never runs inside of a hard one: if the depth says so, an exit was not reported. */
void times_code_softirq_entry(const struct times_code *env, struct code *code)
{
	int end = code_label(code);

	enter_cell(env, code, end);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(depth), 0);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(softirq), 1);
	code_mov_imm(code, BPF_REG_8, EXACT_SOFTIRQ);
	change_from_task(code);
	end_program(code, end);
}

void times_code_softirq_exit(const struct times_code *env, struct code *code)
{
	int end = code_label(code);

	enter_cell(env, code, end);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(depth), 0);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(softirq), 0);
	find_under(code);
	change(code);
	end_program(code, end);
}

void times_code_look(const struct times_code *env, struct code *code)
{
	int end = code_label(code);

	/* an interrupt of another CPU brought us here, whose entry and exit do the rest */
	enter_cell(env, code, end);
	code_load(code, BPF_DW, BPF_REG_8, BPF_REG_6, CELL(last));
	code_alu_imm(code, BPF_AND, BPF_REG_8, CELL_STATES - 1);
	change(code);
	end_program(code, end);
}

/* The time while the CPU was offline is in no state: it moves `base`. The CPU runs no program yet. */
void times_code_cpu_starts(const struct times_code *env, struct code *code)
{
	int end = code_label(code);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(1));
	code_alu32(code, BPF_MOV, BPF_REG_1, BPF_REG_1);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, (int32_t)env->bringup_state, end);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_9, ARG(0));
	code_alu32(code, BPF_MOV, BPF_REG_0, BPF_REG_0);
	enter_cell_of(env, code, end);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(depth), 0);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(softirq), 0);
	code_mov_imm(code, BPF_REG_8, EXACT_IDLE);
	read_clock(code);
	exchange(code);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_6, CELL(base), BPF_REG_2);
	end_program(code, end);
}

/* ---- system calls ----------------------------------------------------------------------------- */

static void change_task(const struct times_code *env, struct code *code, enum exact_state state)
{
	int end = code_label(code);

	enter_cell(env, code, end);
	code_mov_imm(code, BPF_REG_8, state);
	code_store(code, BPF_DW, BPF_REG_6, CELL(under), BPF_REG_8);
	change(code);
	end_program(code, end);
}

void times_code_call_enter(const struct times_code *env, struct code *code)
{
	change_task(env, code, EXACT_TASK);
}

void times_code_call_exit(const struct times_code *env, struct code *code)
{
	change_task(env, code, EXACT_USER);
}

/* R8 = EXACT_USER if the next task is one of user space and not in a system call, else EXACT_TASK. */
static void find_next_state(const struct times_code *env, struct code *code)
{
	int done = code_label(code), no_number = code_label(code);

	code_mov_imm(code, BPF_REG_8, EXACT_TASK);
	if (!env->divided)
		return;
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(2));
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_1, (int)env->flags);
	code_jump_if_imm(code, BPF_JSET, BPF_REG_2, FLAG_KERNEL_THREAD, done);
	code_call(code, BPF_FUNC_task_pt_regs);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	code_load(code, env->call_bytes == 8 ? BPF_DW : BPF_W, BPF_REG_1, BPF_REG_0, (int)env->call);
	if (env->call_bytes == 4) {
		code_alu_imm(code, BPF_LSH, BPF_REG_1, 32);
		code_alu_imm(code, BPF_ARSH, BPF_REG_1, 32);
	}
	code_jump_if_imm(code, BPF_JSLT, BPF_REG_1, 0, no_number);
	code_jump(code, done);
	code_place(code, no_number);
	code_mov_imm(code, BPF_REG_8, EXACT_USER);
	code_place(code, done);
}

/* ---- tasks ------------------------------------------------------------------------------------ */

/* [member of R0] += R2 */
static void add_to(struct code *code, int offset)
{
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_0, offset);
	code_alu(code, BPF_ADD, BPF_REG_3, BPF_REG_2);
	code_store(code, BPF_DW, BPF_REG_0, offset, BPF_REG_3);
}

static void count_in_cell(struct code *code, int offset)
{
	code_mov_imm(code, BPF_REG_1, 1);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_6, offset, BPF_REG_1);
}

/*
 * R0 = the entry of the task in argument `arg`, or 0. Its number is put at `key` on the stack. The idle tasks
 * have none: jumps to `none`.
 */
static void look_up(const struct times_code *env, struct code *code, int arg, int key, int none)
{
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(arg));
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_1, (int)env->pid);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_2, 0, none);
	code_store(code, BPF_W, BPF_REG_10, key, BPF_REG_2);
	code_map(code, BPF_REG_1, env->tasks);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, key);
	code_call(code, BPF_FUNC_map_lookup_elem);
}

static void copy_name(const struct times_code *env, struct code *code, int task, int to, int offset)
{
	int i;

	for (i = 0; i < NAME_BYTES; i++) {
		code_load(code, BPF_B, BPF_REG_2, task, (int)env->name + i);
		code_store(code, BPF_B, to, offset + i, BPF_REG_2);
	}
}

/* Makes the entry of the task in argument `arg`, whose past is not known; counts it if there is no room. */
static void add_task(const struct times_code *env, struct code *code, int arg, int key, enum task_state state)
{
	const int mark = code->stack, entry = code_stack(code, sizeof(struct task_entry));
	int stored = code_label(code), done = code_label(code);
	size_t i;

	for (i = 0; i < sizeof(struct task_entry); i += 8)
		code_store_imm(code, BPF_DW, BPF_REG_10, entry + (int)i, 0);
	code_store(code, BPF_DW, BPF_REG_10, entry + TASK(since_ns), BPF_REG_7);
	code_store_imm(code, BPF_W, BPF_REG_10, entry + TASK(state), state);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(arg));
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_1, (int)env->tgid);
	code_store(code, BPF_W, BPF_REG_10, entry + TASK(process), BPF_REG_2);
	copy_name(env, code, BPF_REG_1, BPF_REG_10, entry + TASK(name));
	code_map(code, BPF_REG_1, env->tasks);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, key);
	code_mov(code, BPF_REG_3, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_3, entry);
	code_mov_imm(code, BPF_REG_4, BPF_ANY);
	code_call(code, BPF_FUNC_map_update_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, stored);
	count_in_cell(code, CELL(dropped));
	code_jump(code, done);
	code_place(code, stored);
	count_in_cell(code, CELL(added));
	code_place(code, done);
	code_stack_back(code, mark);
}

/* R2 = the time since the last change of the entry in R0, R1 = its state; the next change begins now. */
static void begin_change(struct code *code)
{
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_0, TASK(since_ns));
	code_mov(code, BPF_REG_2, BPF_REG_7);
	code_alu(code, BPF_SUB, BPF_REG_2, BPF_REG_3);
	code_store(code, BPF_DW, BPF_REG_0, TASK(since_ns), BPF_REG_7);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_0, TASK(state));
}

/* The task that leaves the CPU. */
static void leave(const struct times_code *env, struct code *code, int key)
{
	int done = code_label(code), known = code_label(code), sleeps = code_label(code);
	int not_run = code_label(code), forced = code_label(code), counted = code_label(code);
	int blocked = code_label(code), store = code_label(code);

	look_up(env, code, 1, key, done);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, known);
	add_task(env, code, 1, key, TASK_RUNNING);
	look_up(env, code, 1, key, done);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	code_place(code, known);
	begin_change(code);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, TASK_RUNNING, not_run);
	add_to(code, TASK(running_ns));
	code_jump(code, counted);
	code_place(code, not_run);
	add_to(code, TASK(unknown_ns));
	code_place(code, counted);
	code_mov_imm(code, BPF_REG_2, 1);
	code_mov_imm(code, BPF_REG_4, TASK_RUNNABLE);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(0)); /* preempted: a bool */
	code_alu_imm(code, BPF_AND, BPF_REG_1, 0xff);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, forced);
	if (env->has_prev_state) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(3));
		code_alu32(code, BPF_MOV, BPF_REG_1, BPF_REG_1);
	} else {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(1));
		code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, (int)env->state);
	}
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, sleeps);
	code_place(code, forced);
	add_to(code, TASK(involuntary));
	code_jump(code, store);
	code_place(code, sleeps);
	add_to(code, TASK(voluntary));
	code_mov_imm(code, BPF_REG_4, TASK_ENDED);
	code_jump_if_imm(code, BPF_JSET, BPF_REG_1, STATE_DEAD, store);
	code_mov_imm(code, BPF_REG_4, TASK_SLEEPING);
	code_jump_if_imm(code, BPF_JSET, BPF_REG_1, STATE_NOLOAD, store);
	code_jump_if_imm(code, BPF_JSET, BPF_REG_1, STATE_UNINTERRUPTIBLE, blocked);
	code_jump(code, store);
	code_place(code, blocked);
	code_mov_imm(code, BPF_REG_4, TASK_BLOCKED);
	code_place(code, store);
	code_store(code, BPF_W, BPF_REG_0, TASK(state), BPF_REG_4);
	code_place(code, done);
}

/* R3 = floor(log2(R2)), at most the last slot; 0 for 0. R1 is used. */
static void find_slot(struct code *code)
{
	int bits, smaller;

	code_mov(code, BPF_REG_1, BPF_REG_2);
	code_mov_imm(code, BPF_REG_3, 0);
	for (bits = 32; bits; bits /= 2) {
		smaller = code_label(code);
		code_mov(code, BPF_REG_4, BPF_REG_1);
		code_alu_imm(code, BPF_RSH, BPF_REG_4, bits);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_4, 0, smaller);
		code_mov(code, BPF_REG_1, BPF_REG_4);
		code_alu_imm(code, BPF_ADD, BPF_REG_3, bits);
		code_place(code, smaller);
	}
	smaller = code_label(code);
	code_jump_if_imm(code, BPF_JLT, BPF_REG_3, CELL_WAIT_SLOTS, smaller);
	code_mov_imm(code, BPF_REG_3, CELL_WAIT_SLOTS - 1);
	code_place(code, smaller);
}

/* Adds the wait in R2 to the cell and to the entry in R0. */
static void add_wait(struct code *code)
{
	int shorter = code_label(code), same = code_label(code);

	add_to(code, TASK(runnable_ns));
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_0, TASK(epoch));
	code_load(code, BPF_DW, BPF_REG_4, BPF_REG_6, CELL(epoch));
	code_jump_if(code, BPF_JEQ, BPF_REG_3, BPF_REG_4, same);
	code_store(code, BPF_DW, BPF_REG_0, TASK(epoch), BPF_REG_4);
	code_store_imm(code, BPF_DW, BPF_REG_0, TASK(longest_ns), 0);
	code_place(code, same);
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_0, TASK(longest_ns));
	code_jump_if(code, BPF_JGE, BPF_REG_3, BPF_REG_2, shorter);
	code_store(code, BPF_DW, BPF_REG_0, TASK(longest_ns), BPF_REG_2);
	code_place(code, shorter);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_6, CELL(wait_ns), BPF_REG_2);
	count_in_cell(code, CELL(waits));
	find_slot(code);
	code_alu_imm(code, BPF_LSH, BPF_REG_3, 3);
	code_alu(code, BPF_ADD, BPF_REG_3, BPF_REG_6);
	code_mov_imm(code, BPF_REG_1, 1);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_3, CELL(wait_slots), BPF_REG_1);
}

/*
 * Adds a time in R2 in a state in R1 in which the task did not run: at a wakeup, or later if that was not
 * reported.
 */
static void add_pause(struct code *code)
{
	int done = code_label(code), blocked = code_label(code), unknown = code_label(code);

	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, TASK_BLOCKED, blocked);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, TASK_SLEEPING, unknown);
	add_to(code, TASK(sleeping_ns));
	code_jump(code, done);
	code_place(code, unknown);
	add_to(code, TASK(unknown_ns));
	code_jump(code, done);
	code_place(code, blocked);
	add_to(code, TASK(blocked_ns));
	code_place(code, done);
}

/* The task that comes to the CPU. */
static void come(const struct times_code *env, struct code *code, int key)
{
	int done = code_label(code), known = code_label(code);
	int paused = code_label(code), store = code_label(code);

	look_up(env, code, 2, key, done);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, known);
	add_task(env, code, 2, key, TASK_RUNNABLE);
	look_up(env, code, 2, key, done);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	code_store_imm(code, BPF_W, BPF_REG_0, TASK(state), TASK_ENDED); /* no wait is known */
	code_place(code, known);
	begin_change(code);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, TASK_RUNNABLE, paused);
	add_wait(code);
	code_jump(code, store);
	code_place(code, paused);
	add_pause(code);
	code_place(code, store);
	code_store_imm(code, BPF_W, BPF_REG_0, TASK(state), TASK_RUNNING);
	code_mov(code, BPF_REG_8, BPF_REG_0);
	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_store(code, BPF_DW, BPF_REG_8, TASK(cpu), BPF_REG_0);
	code_place(code, done);
}

/*
 * Some switches are not reported. If the task that leaves is not the one that came last, that one has left
 * unseen: its time on the CPU is not known.
 */
static void forget_unseen(const struct times_code *env, struct code *code, int key)
{
	int done = code_label(code);

	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(1));
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, (int)env->pid);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_6, CELL(current));
	code_jump_if(code, BPF_JEQ, BPF_REG_1, BPF_REG_2, done);
	code_store(code, BPF_W, BPF_REG_10, key, BPF_REG_2);
	code_map(code, BPF_REG_1, env->tasks);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, key);
	code_call(code, BPF_FUNC_map_lookup_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_0, TASK(state));
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, TASK_RUNNING, done);
	code_mov(code, BPF_REG_8, BPF_REG_0);
	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_8, TASK(cpu));
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_0, done);
	code_mov(code, BPF_REG_0, BPF_REG_8);
	begin_change(code);
	add_to(code, TASK(unknown_ns));
	code_store_imm(code, BPF_W, BPF_REG_0, TASK(state), TASK_UNKNOWN);
	code_place(code, done);
}

void times_code_switch(const struct times_code *env, struct code *code)
{
	int end = code_label(code), task = code_label(code), key = code_stack(code, 8);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	enter_cell(env, code, end);
	/* no interrupt is under way at a switch, whatever was not reported */
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(depth), 0);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(softirq), 0);
	find_next_state(env, code);
	code_store(code, BPF_DW, BPF_REG_6, CELL(under), BPF_REG_8);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(2));
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, (int)env->pid);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, task);
	code_mov_imm(code, BPF_REG_8, EXACT_IDLE);
	code_place(code, task);
	change(code);
	count_in_cell(code, CELL(switches));
	forget_unseen(env, code, key);
	leave(env, code, key);
	come(env, code, key);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(2));
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, (int)env->pid);
	code_store(code, BPF_DW, BPF_REG_6, CELL(current), BPF_REG_1);
	end_program(code, end);
}

void times_code_wakeup(const struct times_code *env, struct code *code)
{
	int end = code_label(code), known = code_label(code), key = code_stack(code, 8);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	enter_cell(env, code, end);
	read_clock(code);
	look_up(env, code, 0, key, end);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, known);
	add_task(env, code, 0, key, TASK_RUNNABLE);
	code_jump(code, end);
	code_place(code, known);
	/* one that has not left the CPU yet goes on */
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_0, TASK(state));
	code_jump_if_imm(code, BPF_JLT, BPF_REG_1, TASK_SLEEPING, end);
	begin_change(code);
	add_pause(code);
	code_store_imm(code, BPF_W, BPF_REG_0, TASK(state), TASK_RUNNABLE);
	end_program(code, end);
}

/* A new task. An entry with its number is that of one that has ended, and goes. */
void times_code_wakeup_new(const struct times_code *env, struct code *code)
{
	int end = code_label(code), is_new = code_label(code), key = code_stack(code, 8);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	enter_cell(env, code, end);
	read_clock(code);
	look_up(env, code, 0, key, end);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, is_new);
	count_in_cell(code, CELL(replaced));
	code_map(code, BPF_REG_1, env->tasks);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, key);
	code_call(code, BPF_FUNC_map_delete_elem);
	code_place(code, is_new);
	add_task(env, code, 0, key, TASK_RUNNABLE);
	end_program(code, end);
}

void times_code_exec(const struct times_code *env, struct code *code)
{
	int end = code_label(code), key = code_stack(code, 8);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	look_up(env, code, 0, key, end);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, end);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, ARG(0));
	copy_name(env, code, BPF_REG_1, BPF_REG_0, TASK(name));
	end_program(code, end);
}

void times_code_migrate(const struct times_code *env, struct code *code)
{
	int end = code_label(code);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_9, ARG(1));
	code_alu32(code, BPF_MOV, BPF_REG_0, BPF_REG_0);
	enter_cell_of(env, code, end);
	count_in_cell(code, CELL(migrations));
	end_program(code, end);
}
