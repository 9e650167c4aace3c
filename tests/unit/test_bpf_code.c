/* SPDX-License-Identifier: MIT */
/*
 * bpf/code: the instructions that it makes, by the encoding in the kernel's documentation
 * (Documentation/bpf/standardization/instruction-set.rst), without the kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/code.h"

/* One instruction as its 64 bits: opcode, registers, offset, constant. */
static uint64_t bits(const struct code *code, uint32_t i)
{
	uint64_t word;

	assert_true(i < code->count);
	memcpy(&word, &code->insns[i], sizeof(word));
	return word;
}

/* Opcode 0xbf: 64-bit move of a register; destination is the low half of the second byte. */
static void test_encoding(void **state)
{
	struct code code;
	int label;

	(void)state;
	code_init(&code);
	code_mov(&code, BPF_REG_6, BPF_REG_1);
	code_mov_imm64(&code, BPF_REG_2, 0xfffffffffffffffe);
	code_mov_imm64(&code, BPF_REG_2, 0x1122334455667788);
	code_load(&code, BPF_W, BPF_REG_3, BPF_REG_6, 16);
	code_store(&code, BPF_DW, BPF_REG_10, -8, BPF_REG_3);
	code_atomic(&code, BPF_DW, BPF_ADD | BPF_FETCH, BPF_REG_1, 8, BPF_REG_2);
	label = code_label(&code);
	code_jump_if_imm(&code, BPF_JNE, BPF_REG_3, 5, label);
	code_call(&code, 14);
	code_place(&code, label);
	code_return(&code, 1);
	assert_int_equal(code_finish(&code, NULL), 0);
	assert_int_equal(code.count, 11);
	assert_int_equal(bits(&code, 0), 0x00000000000016bf);
	assert_int_equal(bits(&code, 1), 0xfffffffe000002b7);
	assert_int_equal(bits(&code, 2), 0x5566778800000218);
	assert_int_equal(bits(&code, 3), 0x1122334400000000);
	assert_int_equal(bits(&code, 4), 0x0000000000106361);
	assert_int_equal(bits(&code, 5), 0x00000000fff83a7b);
	assert_int_equal(bits(&code, 6), 0x00000001000821db);
	assert_int_equal(bits(&code, 7), 0x0000000500010355); /* over the call */
	assert_int_equal(bits(&code, 8), 0x0000000e00000085);
	assert_int_equal(bits(&code, 9), 0x00000001000000b7);
	assert_int_equal(bits(&code, 10), 0x0000000000000095);
	code_fini(&code);
}

/* Jumps back and forth, also over constants of two instructions, which look like labels inside. */
static void test_jumps_reach_their_labels(void **state)
{
	struct code code;
	int top, end;

	(void)state;
	code_init(&code);
	top = code_label(&code);
	end = code_label(&code);
	code_place(&code, top);
	code_mov_imm64(&code, BPF_REG_1, UINT64_C(5) << 32 | 5); /* 0, 1: the second half has opcode 0 */
	code_jump_if(&code, BPF_JEQ, BPF_REG_1, BPF_REG_2, end);  /* 2: to 4 */
	code_jump(&code, top);                                    /* 3: to 0 */
	code_place(&code, end);
	code_exit(&code);
	assert_int_equal(code_finish(&code, NULL), 0);
	assert_int_equal(code.insns[1].off, 0);
	assert_int_equal(code.insns[2].off, 1);
	assert_int_equal(code.insns[3].off, -4);
	code_fini(&code);
}

static void test_the_stack_is_counted(void **state)
{
	struct err err = { "" };
	struct code code;
	int mark;

	(void)state;
	code_init(&code);
	assert_int_equal(code_stack(&code, 1), -8);
	mark = code.stack;
	assert_int_equal(code_stack(&code, 500), -512);
	code_stack_back(&code, mark);
	assert_int_equal(code_stack(&code, 16), -24);
	code_return(&code, 0);
	assert_int_equal(code_finish(&code, &err), 0);
	assert_int_equal(code_stack(&code, 496), -520);
	assert_int_equal(code_finish(&code, &err), -E2BIG);
	assert_non_null(strstr(err.text, "512 bytes"));
	code_fini(&code);
}

static void test_errors_are_kept(void **state)
{
	struct err err = { "" };
	struct code code;
	int i;

	(void)state;
	code_init(&code);
	code_jump(&code, code_label(&code));
	assert_int_equal(code_finish(&code, &err), -EINVAL);
	code_fini(&code);

	code_init(&code);
	code_load(&code, BPF_B, BPF_REG_1, BPF_REG_2, 40000);
	code_return(&code, 0);
	assert_int_equal(code_finish(&code, &err), -E2BIG);
	assert_non_null(strstr(err.text, "32 KiB"));
	code_fini(&code);

	code_init(&code);
	for (i = 0; i < CODE_INSTRUCTIONS_MAX + 1; i++)
		code_mov_imm(&code, BPF_REG_0, 0);
	assert_int_equal(code_finish(&code, &err), -E2BIG);
	assert_int_equal(code.count, CODE_INSTRUCTIONS_MAX);
	code_fini(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encoding),
		cmocka_unit_test(test_jumps_reach_their_labels),
		cmocka_unit_test(test_the_stack_is_counted),
		cmocka_unit_test(test_errors_are_kept),
	};

	return cmocka_run_group_tests_name("bpf_code", tests, NULL, NULL);
}
