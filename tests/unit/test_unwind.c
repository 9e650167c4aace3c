/* SPDX-License-Identifier: MIT */
/*
 * symbolizer/unwind: rows that were made by hand unwind a stack with known words. No row causes a read
 * beyond the copy.
 */
#include <dwarf.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/unwind.h"

/* DWARF's numbers of x86_64, from its psABI */
#define RBX 3
#define RBP 6
#define RSP 7
#define RA 16

#define SP 0x7ffc0000
#define WORDS 8

/* Word i of the stack is 0x1000 + i; register i is 0x2000 + i; the place is 0x401000. */
struct copy {
	uint64_t regs[17];
	uint64_t stack[WORDS];
	struct unwind unwind;
};

static void begin(struct copy *copy)
{
	unsigned int i;

	for (i = 0; i < 17; i++)
		copy->regs[i] = 0x2000 + i;
	for (i = 0; i < WORDS; i++)
		copy->stack[i] = 0x1000 + i;
	copy->regs[RSP] = SP;
	copy->regs[RA] = 0x401000;
	assert_true(unwind_begin(&copy->unwind, EM_X86_64, copy->regs, 17,
		(const uint8_t *)copy->stack, sizeof(copy->stack)));
}

/* CFA = rsp + n, the return address below it, all other registers as they are. */
static struct unwind_row call_row(int64_t n)
{
	struct unwind_row row = {.machine = EM_X86_64, .return_reg = RA, .reg_count = 17};
	unsigned int i;

	for (i = 0; i < 17; i++)
		row.regs[i].rule = UNWIND_ROW_SAME;
	row.cfa = (struct unwind_row_value){.rule = UNWIND_ROW_REGISTER, .reg = RSP, .number = n};
	row.regs[RA] = (struct unwind_row_value){.rule = UNWIND_ROW_AT_CFA, .number = -8};
	return row;
}

static void test_call_leads_to_its_caller(void **state)
{
	struct unwind_row row = call_row(24);
	struct copy copy;

	(void)state;
	begin(&copy);
	row.regs[RBX] = (struct unwind_row_value){.rule = UNWIND_ROW_AT_CFA, .number = -16};
	row.regs[0].rule = UNWIND_ROW_UNDEFINED;
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_CALLER);
	assert_int_equal(unwind_pc(&copy.unwind), 0x1002);
	assert_int_equal(copy.unwind.regs[RSP], SP + 24);
	assert_int_equal(copy.unwind.regs[RBX], 0x1001);
	assert_int_equal(copy.unwind.regs[RBP], 0x2006);
	/* a register that is not known can't be used */
	row = call_row(0);
	row.cfa.reg = 0;
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_LOST);
}

static void test_undefined_return_address_ends_the_stack(void **state)
{
	struct unwind_row row = call_row(8);
	struct copy copy;

	(void)state;
	begin(&copy);
	row.regs[RA].rule = UNWIND_ROW_UNDEFINED;
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_END);
	row = call_row(8);
	copy.stack[0] = 0;
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_END);
}

/* The last word of the copy, one byte further, and every address that wraps. */
static void test_reads_stay_inside_of_the_copy(void **state)
{
	static const int64_t beyond[] = { 8 * WORDS + 1, 8 * WORDS + 8, 0, 7, -8, INT64_MAX, INT64_MIN };
	struct copy copy;
	struct unwind_row row;
	size_t i;

	(void)state;
	begin(&copy);
	row = call_row(8 * WORDS);
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_CALLER);
	assert_int_equal(unwind_pc(&copy.unwind), 0x1000 + WORDS - 1);
	for (i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		begin(&copy);
		row = call_row(beyond[i]);
		if (unwind_step(&copy.unwind, &row) != UNWIND_LOST)
			fail_msg("CFA = rsp + %lld", (long long)beyond[i]);
		assert_int_equal(unwind_pc(&copy.unwind), 0x401000);
	}
	begin(&copy);
	copy.unwind.stack_bytes = 7; /* not even a word */
	row = call_row(8);
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_LOST);
}

/* Frames of calls have ascending addresses. That of a signal handler may have any address. */
static void test_stack_goes_up_except_at_signals(void **state)
{
	struct unwind_row row = call_row(16);
	struct copy copy;

	(void)state;
	begin(&copy);
	row.regs[RSP] = (struct unwind_row_value){.rule = UNWIND_ROW_CFA, .number = -17};
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_LOST);
	row.signal = 1;
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_CALLER);
	assert_int_equal(copy.unwind.regs[RSP], SP - 1);
}

/* What the linker writes for the PLT: rsp + 8 + ((rip & 15) >= 11) << 3. */
static void test_expression_of_the_plt_is_evaluated(void **state)
{
	static const struct unwind_row_op ops[] = {
		{.atom = DW_OP_bregx, .reg = RSP, .number = 8},
		{.atom = DW_OP_bregx, .reg = RA},
		{.atom = DW_OP_lit15},
		{.atom = DW_OP_and},
		{.atom = DW_OP_lit11},
		{.atom = DW_OP_ge},
		{.atom = DW_OP_lit3},
		{.atom = DW_OP_shl},
		{.atom = DW_OP_plus},
	};
	struct unwind_row row = call_row(0);
	struct copy copy;
	unsigned int last;

	(void)state;
	memcpy(row.ops, ops, sizeof(ops));
	row.op_count = 9;
	row.cfa = (struct unwind_row_value){.rule = UNWIND_ROW_EXPRESSION, .first = 0, .count = 9};
	for (last = 0; last < 16; last++) {
		begin(&copy);
		copy.unwind.regs[RA] = 0x401000 + last;
		assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_CALLER);
		assert_int_equal(unwind_pc(&copy.unwind), last >= 11 ? 0x1001 : 0x1000);
	}
}

/* What the C library writes for signals: registers in memory at rsp + n, the CFA too. */
static void test_expressions_of_signal_frames_are_evaluated(void **state)
{
	static const struct unwind_row_op ops[] = {
		{.atom = DW_OP_bregx, .reg = RSP, .number = 16},
		{.atom = DW_OP_deref},
		{.atom = DW_OP_bregx, .reg = RSP, .number = 24},
	};
	struct unwind_row row = call_row(0);
	struct copy copy;

	(void)state;
	begin(&copy);
	memcpy(row.ops, ops, sizeof(ops));
	row.op_count = 3;
	row.signal = 1;
	row.cfa = (struct unwind_row_value){.rule = UNWIND_ROW_EXPRESSION, .first = 0, .count = 2};
	row.regs[RA] =
		(struct unwind_row_value){.rule = UNWIND_ROW_AT_EXPRESSION, .first = 2, .count = 1};
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_CALLER);
	assert_int_equal(unwind_pc(&copy.unwind), 0x1003);
	assert_int_equal(copy.unwind.regs[RSP], 0x1002);
}

/* Operations of any kind in any order: evaluation ends, and stays inside of the copy. */
static void test_random_expressions_end_inside_of_the_copy(void **state)
{
	unsigned int seed = 20161103, round, i;
	struct copy copy;

	(void)state;
	for (round = 0; round < 20000; round++) {
		struct unwind_row row = call_row(16);

		begin(&copy);
		row.op_count = (uint8_t)(rand_r(&seed) % (UNWIND_ROW_OPS_MAX + 1));
		for (i = 0; i < row.op_count; i++)
			row.ops[i] = (struct unwind_row_op){
				.atom = (uint8_t)rand_r(&seed),
				.reg = (uint8_t)rand_r(&seed),
				.number = rand_r(&seed) % 3 ? rand_r(&seed) % 64 : INT64_MIN,
			};
		row.cfa = (struct unwind_row_value){
			.rule = UNWIND_ROW_EXPRESSION, .count = row.op_count};
		row.regs[RA] = (struct unwind_row_value){
			.rule = (uint8_t)(rand_r(&seed) % UNWIND_ROW_RULES), .count = row.op_count};
		unwind_step(&copy.unwind, &row);
	}
}

static void test_frame_pointer_leads_to_the_caller(void **state)
{
	struct copy copy;

	(void)state;
	begin(&copy);
	copy.unwind.regs[RBP] = SP + 16;
	assert_int_equal(unwind_step_by_frame_pointer(&copy.unwind), UNWIND_CALLER);
	assert_int_equal(unwind_pc(&copy.unwind), 0x1003);
	assert_int_equal(copy.unwind.regs[RBP], 0x1002);
	assert_int_equal(copy.unwind.regs[RSP], SP + 32);
	/* now it leads nowhere */
	assert_int_equal(unwind_step_by_frame_pointer(&copy.unwind), UNWIND_LOST);
	begin(&copy);
	copy.unwind.regs[RBP] = SP - 8;
	assert_int_equal(unwind_step_by_frame_pointer(&copy.unwind), UNWIND_LOST);
	copy.unwind.regs[RBP] = SP + 8 * (WORDS - 1); /* its second word is behind the end */
	assert_int_equal(unwind_step_by_frame_pointer(&copy.unwind), UNWIND_LOST);
	copy.unwind.regs[RBP] = UINT64_MAX - 4;
	assert_int_equal(unwind_step_by_frame_pointer(&copy.unwind), UNWIND_LOST);
}

static void test_other_machines_are_refused(void **state)
{
	struct unwind_row row = call_row(8);
	uint64_t regs[33] = { 0 };
	struct unwind unwind;
	struct copy copy;

	(void)state;
	assert_false(unwind_begin(&unwind, EM_386, regs, 17, NULL, 0));
	assert_false(unwind_begin(&unwind, EM_X86_64, regs, 16, NULL, 0));
	assert_true(unwind_begin(&unwind, EM_AARCH64, regs, 33, NULL, 0));
	begin(&copy);
	row.machine = EM_AARCH64;
	assert_int_equal(unwind_step(&copy.unwind, &row), UNWIND_LOST);
}

/* What a parser may send: each field beyond its bounds makes the row unsound. */
static void test_unsound_rows_are_refused(void **state)
{
	const size_t bytes = offsetof(struct unwind_row, ops);
	struct unwind_row row = call_row(8), bad;

	(void)state;
	assert_true(unwind_row_is_sound(&row, bytes));
	assert_false(unwind_row_is_sound(&row, bytes - 1));
	assert_false(unwind_row_is_sound(&row, bytes + 1));
	bad = row;
	bad.reg_count = UNWIND_ROW_REGS_MAX + 1;
	assert_false(unwind_row_is_sound(&bad, bytes));
	bad = row;
	bad.return_reg = 17;
	assert_false(unwind_row_is_sound(&bad, bytes));
	bad = row;
	bad.cfa.reg = UNWIND_ROW_REGS_MAX;
	assert_false(unwind_row_is_sound(&bad, bytes));
	bad = row;
	bad.regs[16].rule = UNWIND_ROW_RULES;
	assert_false(unwind_row_is_sound(&bad, bytes));
	bad = row;
	bad.op_count = 2;
	assert_true(unwind_row_is_sound(&bad, bytes + 2 * sizeof(struct unwind_row_op)));
	bad.regs[2].first = 1;
	bad.regs[2].count = 2;
	assert_false(unwind_row_is_sound(&bad, bytes + 2 * sizeof(struct unwind_row_op)));
	bad.regs[2].first = 255;
	bad.regs[2].count = 2;
	assert_false(unwind_row_is_sound(&bad, bytes + 2 * sizeof(struct unwind_row_op)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_leads_to_its_caller),
		cmocka_unit_test(test_undefined_return_address_ends_the_stack),
		cmocka_unit_test(test_reads_stay_inside_of_the_copy),
		cmocka_unit_test(test_stack_goes_up_except_at_signals),
		cmocka_unit_test(test_expression_of_the_plt_is_evaluated),
		cmocka_unit_test(test_expressions_of_signal_frames_are_evaluated),
		cmocka_unit_test(test_random_expressions_end_inside_of_the_copy),
		cmocka_unit_test(test_frame_pointer_leads_to_the_caller),
		cmocka_unit_test(test_other_machines_are_refused),
		cmocka_unit_test(test_unsound_rows_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
