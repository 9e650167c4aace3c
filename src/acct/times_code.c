/* SPDX-License-Identifier: MIT */
/*
 * The programs that measure the states of CPUs: see times_code.h. cell_code.h has the registers; R9 has the
 * arguments of the tracepoint where they are needed.
 */
#include "acct/times_code.h"

#include "acct/cell_code.h"

/* ---- interrupts -------------------------------------------------------------------------------- */

/*
 * The same at the beginning of an interrupt. Some switches from the idle task are not reported (seen in
 * virtual machines): if a task is interrupted and the CPU counts as idle, the task has run since.
 */
static void change_from_task(struct code *code)
{
	int done = code_label(code);

	cell_code_read_clock(code);
	cell_code_exchange(code);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, EXACT_IDLE, done);
	code_mov(code, BPF_REG_7, BPF_REG_2);
	code_mov(code, BPF_REG_8, BPF_REG_1);
	code_call(code, BPF_FUNC_get_current_pid_tgid);
	code_mov(code, BPF_REG_2, BPF_REG_7);
	code_mov(code, BPF_REG_1, BPF_REG_8);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, CELL(under));
	code_place(code, done);
	cell_code_charge(code);
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

void times_code_irq_entry(const struct times_env *env, struct code *code)
{
	int end = code_label(code);

	cell_code_enter(env, code, end);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_6, CELL(depth));
	code_alu_imm(code, BPF_ADD, BPF_REG_1, 1);
	code_store(code, BPF_W, BPF_REG_6, CELL(depth), BPF_REG_1);
	code_mov_imm(code, BPF_REG_8, EXACT_IRQ);
	change_from_task(code);
	cell_code_end(code, end);
}

void times_code_irq_exit(const struct times_env *env, struct code *code)
{
	int end = code_label(code), known = code_label(code), outermost = code_label(code);

	cell_code_enter(env, code, end);
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
	cell_code_change(code);
	cell_code_end(code, end);
}

/* A soft interrupt never runs inside of a hard one: if the depth says so, an exit was not reported. */
void times_code_softirq_entry(const struct times_env *env, struct code *code)
{
	int end = code_label(code);

	cell_code_enter(env, code, end);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(depth), 0);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(softirq), 1);
	code_mov_imm(code, BPF_REG_8, EXACT_SOFTIRQ);
	change_from_task(code);
	cell_code_end(code, end);
}

void times_code_softirq_exit(const struct times_env *env, struct code *code)
{
	int end = code_label(code);

	cell_code_enter(env, code, end);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(depth), 0);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(softirq), 0);
	find_under(code);
	cell_code_change(code);
	cell_code_end(code, end);
}

void times_code_look(const struct times_env *env, struct code *code)
{
	int end = code_label(code);

	/* an interrupt of another CPU brought us here, whose entry and exit do the rest */
	cell_code_enter(env, code, end);
	code_load(code, BPF_DW, BPF_REG_8, BPF_REG_6, CELL(last));
	code_alu_imm(code, BPF_AND, BPF_REG_8, CELL_STATES - 1);
	cell_code_change(code);
	cell_code_end(code, end);
}

/*
 * The time while the CPU was offline is in no state: it moves `base`. The CPU runs no program yet. The
 * arguments of cpuhp_enter are the CPU, the state that it is to reach, and the one that this step is for.
 */
void times_code_cpu_starts(const struct times_env *env, struct code *code)
{
	int end = code_label(code);

	code_mov(code, BPF_REG_9, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_9, CELL_CODE_ARG(2));
	code_alu32(code, BPF_MOV, BPF_REG_1, BPF_REG_1);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, (int32_t)env->bringup_state, end);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_9, CELL_CODE_ARG(0));
	code_alu32(code, BPF_MOV, BPF_REG_0, BPF_REG_0);
	cell_code_enter_of(env, code, end);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(depth), 0);
	code_store_imm(code, BPF_W, BPF_REG_6, CELL(softirq), 0);
	code_mov_imm(code, BPF_REG_8, EXACT_IDLE);
	cell_code_read_clock(code);
	cell_code_exchange(code);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_6, CELL(base), BPF_REG_2);
	cell_code_end(code, end);
}

/* ---- system calls ----------------------------------------------------------------------------- */

static void change_task(const struct times_env *env, struct code *code, enum exact_state state)
{
	int end = code_label(code);

	cell_code_enter(env, code, end);
	code_mov_imm(code, BPF_REG_8, state);
	code_store(code, BPF_DW, BPF_REG_6, CELL(under), BPF_REG_8);
	cell_code_change(code);
	cell_code_end(code, end);
}

void times_code_call_enter(const struct times_env *env, struct code *code)
{
	change_task(env, code, EXACT_TASK);
}

void times_code_call_exit(const struct times_env *env, struct code *code)
{
	change_task(env, code, EXACT_USER);
}
