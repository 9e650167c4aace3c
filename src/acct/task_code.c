/* SPDX-License-Identifier: MIT */
/*
 * The programs that measure what tasks do: see task_code.h. cell_code.h has the registers R6 to R8; R9 has
 * the arguments of the tracepoint.
 */
#include "acct/task_code.h"

#include "acct/cell_code.h"

#define TASK(member) ((int)offsetof(struct task_entry, member))
#define NAME_BYTES 16

/* Of task_struct's state and flags; these numbers have not changed since Linux 4.14. */
#define STATE_UNINTERRUPTIBLE 0x0002
#define STATE_DEAD 0x0080
#define STATE_NOLOAD 0x0400
#define FLAG_KERNEL_THREAD 0x00200000

/* R8 = EXACT_USER if the next task is one of user space and not in a system call, else EXACT_TASK. */
static void find_next_state(const struct times_env *env, struct code *code)
{
	int done = code_label(code), no_number = code_label(code);

	code_mov_imm(code, BPF_REG_8, EXACT_TASK);
	if (!env->divided)
		return;
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(2));
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_1, env->flags);
	code_jump_if_imm(code, BPF_JSET, BPF_REG_2, FLAG_KERNEL_THREAD, done);
	code_call(code, BPF_FUNC_task_pt_regs);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	code_load(code, env->call_bytes == 8 ? BPF_DW : BPF_W, BPF_REG_1, BPF_REG_0, env->call);
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

/* [member of R0] += R2 */
static void add_to(struct code *code, int offset)
{
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_0, offset);
	code_alu(code, BPF_ADD, BPF_REG_3, BPF_REG_2);
	code_store(code, BPF_DW, BPF_REG_0, offset, BPF_REG_3);
}

/*
 * R0 = the entry of the task in argument `arg`, or 0. Its number is put at `key` on the stack. The idle tasks
 * have none: jumps to `none`.
 */
static void look_up_task(const struct times_env *env, struct code *code, int arg, int key, int none)
{
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(arg));
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_1, env->pid);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_2, 0, none);
	code_store(code, BPF_W, BPF_REG_10, key, BPF_REG_2);
	code_map(code, BPF_REG_1, env->tasks);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, key);
	code_call(code, BPF_FUNC_map_lookup_elem);
}

static void copy_name(const struct times_env *env, struct code *code, int task, int to, int offset)
{
	int i;

	for (i = 0; i < NAME_BYTES; i++) {
		code_load(code, BPF_B, BPF_REG_2, task, env->name + i);
		code_store(code, BPF_B, to, offset + i, BPF_REG_2);
	}
}

/* Makes the entry of the task in argument `arg`, whose past is not known; counts it if there is no room. */
static void add_task(const struct times_env *env, struct code *code, int arg, int key, enum task_state state)
{
	const int mark = code->stack, entry = code_stack(code, sizeof(struct task_entry));
	int stored = code_label(code), done = code_label(code);
	size_t i;

	for (i = 0; i < sizeof(struct task_entry); i += 8)
		code_store_imm(code, BPF_DW, BPF_REG_10, entry + (int)i, 0);
	code_store(code, BPF_DW, BPF_REG_10, entry + TASK(since_ns), BPF_REG_7);
	code_store_imm(code, BPF_W, BPF_REG_10, entry + TASK(state), state);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(arg));
	code_load(code, BPF_W, BPF_REG_2, BPF_REG_1, env->tgid);
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
	cell_code_count(code, CELL(dropped));
	code_jump(code, done);
	code_place(code, stored);
	cell_code_count(code, CELL(added));
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
static void leave_cpu(const struct times_env *env, struct code *code, int key)
{
	int done = code_label(code), known = code_label(code), sleeps = code_label(code);
	int not_run = code_label(code), forced = code_label(code), counted = code_label(code);
	int blocked = code_label(code), store = code_label(code);

	look_up_task(env, code, 1, key, done);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, known);
	add_task(env, code, 1, key, TASK_RUNNING);
	look_up_task(env, code, 1, key, done);
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
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(0)); /* preempted: a bool */
	code_alu_imm(code, BPF_AND, BPF_REG_1, 0xff);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, forced);
	if (env->has_prev_state) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(3));
		code_alu32(code, BPF_MOV, BPF_REG_1, BPF_REG_1);
	} else {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(1));
		code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, env->state);
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

/* R3 = floor(log2(R2)), at most the last slot; 0 for 0. R1 and R4 are used. */
static void find_slot(struct code *code)
{
	int smaller = code_label(code);

	code_mov(code, BPF_REG_1, BPF_REG_2);
	code_log2(code, BPF_REG_3, BPF_REG_1, BPF_REG_4);
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
	cell_code_count(code, CELL(waits));
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

/* The task that enters the CPU. */
static void enter_cpu(const struct times_env *env, struct code *code, int key)
{
	int done = code_label(code), known = code_label(code);
	int paused = code_label(code), store = code_label(code);

	look_up_task(env, code, 2, key, done);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, known);
	add_task(env, code, 2, key, TASK_RUNNABLE);
	look_up_task(env, code, 2, key, done);
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
 * Some switches are not reported. If the task that leaves is not the one that entered last, that one has left
 * unseen: its time on the CPU is not known.
 */
static void forget_unseen(const struct times_env *env, struct code *code, int key)
{
	int done = code_label(code);

	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(1));
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, env->pid);
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

void task_code_switch(const struct times_env *env, struct code *code)
{
	int end = code_label(code), task = code_label(code), key = code_stack(code, 8);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	cell_code_enter(env, code, end);
	/* no interrupt is under way at a switch, whatever was not reported */
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(depth), 0);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(softirq), 0);
	find_next_state(env, code);
	code_store(code, BPF_DW, BPF_REG_6, CELL(under), BPF_REG_8);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(2));
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, env->pid);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, 0, task);
	code_mov_imm(code, BPF_REG_8, EXACT_IDLE);
	code_place(code, task);
	cell_code_change(code);
	cell_code_count(code, CELL(switches));
	forget_unseen(env, code, key);
	leave_cpu(env, code, key);
	enter_cpu(env, code, key);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(2));
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, env->pid);
	code_store(code, BPF_DW, BPF_REG_6, CELL(current), BPF_REG_1);
	cell_code_end(code, end);
}

void task_code_wakeup(const struct times_env *env, struct code *code)
{
	int end = code_label(code), known = code_label(code), key = code_stack(code, 8);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	cell_code_enter(env, code, end);
	cell_code_read_clock(code);
	look_up_task(env, code, 0, key, end);
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
	cell_code_end(code, end);
}

/* A new task. An entry with its number is that of one that has ended, and goes. */
void task_code_wakeup_new(const struct times_env *env, struct code *code)
{
	int end = code_label(code), is_new = code_label(code), key = code_stack(code, 8);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	cell_code_enter(env, code, end);
	cell_code_read_clock(code);
	look_up_task(env, code, 0, key, end);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, is_new);
	cell_code_count(code, CELL(replaced));
	code_map(code, BPF_REG_1, env->tasks);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, key);
	code_call(code, BPF_FUNC_map_delete_elem);
	code_place(code, is_new);
	add_task(env, code, 0, key, TASK_RUNNABLE);
	cell_code_end(code, end);
}

void task_code_exec(const struct times_env *env, struct code *code)
{
	int end = code_label(code), key = code_stack(code, 8);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	look_up_task(env, code, 0, key, end);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, end);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(0));
	copy_name(env, code, BPF_REG_1, BPF_REG_0, TASK(name));
	cell_code_end(code, end);
}

void task_code_migrate(const struct times_env *env, struct code *code)
{
	int end = code_label(code);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_9, CELL_CODE_ARG(1));
	code_alu32(code, BPF_MOV, BPF_REG_0, BPF_REG_0);
	cell_code_enter_of(env, code, end);
	cell_code_count(code, CELL(migrations));
	cell_code_end(code, end);
}
