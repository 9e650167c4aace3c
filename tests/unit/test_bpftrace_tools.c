/* SPDX-License-Identifier: MIT */
/*
 * The tools of Debian's package bpftrace, as they are installed: the parser takes each of them, and the
 * checker all whose functions and fields the running kernel has. Skipped where they are not installed, or
 * the kernel does not describe its types.
 */
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/check.h"
#include "probes/parser.h"
#include "probes/targets.h"

/* Of 38. On a kernel with other names of functions more are refused, each with the name that is missing. */
#define TAKEN_LEAST 34

static size_t read_tool(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "r");
	size_t bytes;

	assert_non_null(file);
	bytes = fread(text, 1, room, file);
	assert_true(feof(file));
	fclose(file);
	return bytes;
}

static bool is_of_the_kernel(const char *message)
{
	return strstr(message, "this kernel has no ") || strstr(message, "of this kernel has no field") ||
		strstr(message, "nothing in this kernel matches") || strstr(message, "has no argument");
}

static void test_tools_are_taken(void **state)
{
	static char text[AST_TEXT_MAX];
	struct check_options options = { .targets = NULL };
	struct targets *targets;
	unsigned int taken = 0;
	struct err err;
	glob_t tools;

	(void)state;
	assert_int_equal(targets_open(NULL, &targets, &err), 0);
	options.targets = targets;
	if (glob("/usr/sbin/*.bt", 0, NULL, &tools) || tools.gl_pathc < 38 ||
		!targets_types(targets, NULL)) {
		targets_close(targets);
		skip();
	}
	for (size_t i = 0; i < tools.gl_pathc; i++) {
		size_t bytes = read_tool(tools.gl_pathv[i], text, sizeof(text));
		struct ast *ast;
		int ret = parser_parse(text, bytes, &ast, &err);

		if (ret)
			fail_msg("%s: %d %s", tools.gl_pathv[i], ret, err.text);
		ret = check_program(ast, &options, &err);
		if (ret && !is_of_the_kernel(err.text))
			fail_msg("%s: %d %s", tools.gl_pathv[i], ret, err.text);
		if (ret)
			print_message("%s: %s\n", tools.gl_pathv[i], err.text);
		taken += !ret;
		ast_destroy(ast);
	}
	globfree(&tools);
	targets_close(targets);
	assert_true(taken >= TAKEN_LEAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tools_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
