/* SPDX-License-Identifier: MIT */
/* Instructions that change the cell of a CPU: see cell_code.h. */
#include "acct/cell_code.h"

void cell_code_enter_of(const struct times_env *env, struct code *code, int end)
{
	code_jump_if_imm(code, BPF_JGE, BPF_REG_0, (int32_t)env->cpus, end);
	code_map_value(code, BPF_REG_6, env->cells, 0);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, sizeof(struct cell));
	code_alu(code, BPF_ADD, BPF_REG_6, BPF_REG_0);
}

void cell_code_enter(const struct times_env *env, struct code *code, int end)
{
	code_call(code, BPF_FUNC_get_smp_processor_id);
	cell_code_enter_of(env, code, end);
}

void cell_code_end(struct code *code, int end)
{
	code_place(code, end);
	code_return(code, 0);
}

void cell_code_read_clock(struct code *code)
{
	code_call(code, BPF_FUNC_ktime_get_ns);
	code_mov(code, BPF_REG_7, BPF_REG_0);
}

void cell_code_exchange(struct code *code)
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

void cell_code_charge(struct code *code)
{
	code_alu_imm(code, BPF_AND, BPF_REG_1, CELL_STATES - 1);
	code_alu_imm(code, BPF_LSH, BPF_REG_1, 3);
	code_mov(code, BPF_REG_3, BPF_REG_6);
	code_alu(code, BPF_ADD, BPF_REG_3, BPF_REG_1);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_3, CELL(ns), BPF_REG_2);
}

void cell_code_change(struct code *code)
{
	cell_code_read_clock(code);
	cell_code_exchange(code);
	cell_code_charge(code);
}

void cell_code_count(struct code *code, int offset)
{
	code_mov_imm(code, BPF_REG_1, 1);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_6, offset, BPF_REG_1);
}
