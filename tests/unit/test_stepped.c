/* SPDX-License-Identifier: MIT */
/* probes/stepped: instructions by their bytes in Intel's manual; arch/x86/kernel/uprobes.c emulates some. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/stepped.h"

static void test_instructions_that_are_emulated_are_known(void **state)
{
	static const struct {
		const char *what;
		uint8_t code[STEPPED_BYTES];
		bool expected;
		int line;
	} rows[] = {
		{ "push %rbp", { 0x55, 0x48, 0x89, 0xe5 }, false, __LINE__ },
		{ "push %r15", { 0x41, 0x57 }, false, __LINE__ },
		{ "nop", { 0x90 }, false, __LINE__ },
		{ "nopl 0(%rax,%rax)", { 0x0f, 0x1f, 0x44, 0, 0 }, false, __LINE__ },
		{ "nopw 0(%rax,%rax)", { 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, false, __LINE__ },
		{ "call", { 0xe8, 1, 2, 3, 4 }, false, __LINE__ },
		{ "jmp", { 0xe9, 1, 2, 3, 4 }, false, __LINE__ },
		{ "je", { 0x0f, 0x84, 1, 2, 3, 4 }, false, __LINE__ },
		{ "mov %rsp,%rbp", { 0x48, 0x89, 0xe5 }, true, __LINE__ },
		{ "sub $8,%rsp", { 0x48, 0x83, 0xec, 8 }, true, __LINE__ },
		{ "lea (%rdi,%rdi),%rax", { 0x48, 0x8d, 0x04, 0x3f }, true, __LINE__ },
		{ "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa }, true, __LINE__ },
		{ "xor %eax,%eax", { 0x31, 0xc0 }, true, __LINE__ },
	};

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (stepped_is_likely(rows[i].code, STEPPED_BYTES) != rows[i].expected)
			fail_msg("line %d: %s", rows[i].line, rows[i].what);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions_that_are_emulated_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
