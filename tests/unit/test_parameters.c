/* SPDX-License-Identifier: MIT */
/* probes/parameters: the arguments of a command line in a text, and nothing else of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "probes/parameters.h"

static const char *const args[] = { "42", "a \"b\"\\\n", "-7", "0x10", NULL };

static void test_values_are_put_in(void **state)
{
	static const struct { int line; const char *text, *replaced; } rows[] = {
		{ __LINE__, "", "" },
		{ __LINE__, "BEGIN { @ = $1 + $4; }", "BEGIN { @ = 42 + 0x10; }" },
		{ __LINE__, "$3 $9 $#", "(-7) 0 4" },
		{ __LINE__, "str($2) str ( $1)", "str(\"a \\\"b\\\"\\\\\\x0a\") str ( \"42\")" },
		{ __LINE__, "str($9)", "str(\"\")" },
		{ __LINE__, "xstr($1) $x1 $_1 @x1", "xstr(42) $x1 $_1 @x1" },
		{ __LINE__, "\"$1 \\\" $1\" $1", "\"$1 \\\" $1\" 42" },
		{ __LINE__, "// $2\n$1 /* $2 */ $1 /* $2", "// $2\n42 /* $2 */ 42 /* $2" },
		{ __LINE__, "uprobe:/usr/lib/*/libc.so:f /$1/ { }",
			"uprobe:/usr/lib/*/libc.so:f /42/ { }" },
		{ __LINE__, "#define N $1\n", "#define N 42\n" },
		{ __LINE__, "pid == cpid && (cpid)", "pid == 99 && (99)" },
		{ __LINE__, "$cpid @cpid a.cpid a->cpid xcpid cpidx \"cpid\"",
			"$cpid @cpid a.cpid a->cpid xcpid cpidx \"cpid\"" },
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		g_autoptr(GString) out = g_string_new(NULL);

		if (parameters_replace(rows[i].text, args, 99, out, &err) || strcmp(out->str,
			rows[i].replaced) != 0)
			fail_msg("line %d: %s", rows[i].line, out->str);
	}
}

static void test_words_are_no_numbers(void **state)
{
	g_autoptr(GString) out = g_string_new(NULL);
	struct err err;

	(void)state;
	assert_int_equal(parameters_replace("@ = $2;", args, 0, out, &err), -EINVAL);
	assert_non_null(strstr(err.text, "use str($2)"));
}

static void test_without_a_command_cpid_stays(void **state)
{
	g_autoptr(GString) out = g_string_new(NULL);
	struct err err;

	(void)state;
	assert_int_equal(parameters_replace("cpid $# $1", NULL, 0, out, &err), 0);
	assert_string_equal(out->str, "cpid 0 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_put_in),
		cmocka_unit_test(test_words_are_no_numbers),
		cmocka_unit_test(test_without_a_command_cpid_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
