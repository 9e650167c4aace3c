/* SPDX-License-Identifier: MIT */
/* probes/targets: patterns, lists and formats of tracepoints. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/probes_fixture.h"

static struct probes_fixture fixture;

static void test_patterns_match(void **state)
{
	static const struct { int line; const char *pattern, *name; bool matches; } rows[] = {
		{ __LINE__, "abc", "abc", true }, { __LINE__, "abc", "abcd", false }, { __LINE__,
			"abc", "ab", false },
		{ __LINE__, "*", "", true }, { __LINE__, "*", "x", true }, { __LINE__, "", "", true },
		{ __LINE__, "a*c", "abbc", true }, { __LINE__, "a*c", "abbcd", false },
		{ __LINE__, "a?c", "abc", true }, { __LINE__, "a?c", "ac", false }, { __LINE__, "?",
			"", false },
		{ __LINE__, "*a*b", "xaxbxb", true }, { __LINE__, "*ab", "aab", true },
		{ __LINE__, "f.constprop.*", "f.constprop.0", true }, { __LINE__, "f.*", "fx", false },
	};
	char name[4096], pattern[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (targets_match(rows[i].pattern, rows[i].name) != rows[i].matches)
			fail_msg("line %d", rows[i].line);
	/* no pattern takes time that doubles with each '*' */
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(pattern); i += 2)
		memcpy(pattern + i, "a*", 2);
	memcpy(pattern + sizeof(pattern) - 2, "b", 2);
	assert_false(targets_match(pattern, name));
	assert_true(targets_is_pattern("a?"));
	assert_false(targets_is_pattern("ab"));
}

static int collect(void *arg, const char *system, const char *name)
{
	sprintf((char *)arg + strlen(arg), "%s%s%s ", system, *system ? ":" : "", name);
	return 0;
}

static void test_functions_are_those_that_can_be_traced(void **state)
{
	char out[256] = "";

	(void)state;
	assert_int_equal(targets_functions(fixture.targets, "*", false, collect, out), 0);
	assert_string_equal(out, "do_nothing ext_sync get_sock vfs_read vfs_static.constprop.0 vfs_write ");
	out[0] = '\0';
	assert_int_equal(targets_functions(fixture.targets, "*", true, collect, out), 0);
	assert_string_equal(out, "do_nothing get_sock vfs_read vfs_write ");
	out[0] = '\0';
	targets_functions(fixture.targets, "ext_sync", false, collect, out);
	targets_functions(fixture.targets, "ext_sync", true, collect, out);
	targets_functions(fixture.targets, "gone", false, collect, out);
	assert_string_equal(out, "ext_sync ");
}

/* Where the kernel has no list, BTF's functions are taken. */
static void test_functions_without_a_list_are_those_of_btf(void **state)
{
	const struct targets_paths paths = { fixture.btf, "/nonexistent" };
	struct targets *targets;
	char out[256] = "";
	struct err err;

	(void)state;
	assert_int_equal(targets_open(&paths, &targets, &err), 0);
	assert_int_equal(targets_functions(targets, "vfs_*", false, collect, out), 0);
	assert_string_equal(out, "vfs_read vfs_write ");
	assert_int_equal(targets_tracepoints(targets, "*", "*", collect, out), -ENOENT);
	targets_close(targets);
}

static void test_tracepoints_are_listed(void **state)
{
	char out[256] = "";

	(void)state;
	assert_int_equal(targets_tracepoints(fixture.targets, "sched", "*", collect, out), 0);
	assert_int_equal(targets_tracepoints(fixture.targets, "sys*", "*exit*", collect, out), 0);
	assert_int_equal(targets_tracepoints(fixture.targets, "sched", "sched_switch", collect, out), 0);
	assert_int_equal(targets_tracepoints(fixture.targets, "sched", "gone", collect, out), 0);
	assert_int_equal(targets_tracepoints(fixture.targets, "gone", "*", collect, out), 0);
	assert_int_equal(targets_tracepoints(fixture.targets, "../sched", "sched_switch", collect, out), 0);
	assert_string_equal(out, "sched:sched_switch syscalls:sys_exit_open sched:sched_switch ");
	out[0] = '\0';
	assert_int_equal(targets_rawtracepoints(fixture.targets, "*", collect, out), 0);
	assert_string_equal(out, "my_switch ");
}

static void test_formats_have_fields(void **state)
{
	struct targets_format format;
	struct err err;

	(void)state;
	assert_int_equal(targets_format(fixture.targets, "sched", "sched_switch", &format, &err), 0);
	assert_int_equal(format.id, 14);
	assert_int_equal(format.count, 7);
	assert_string_equal(format.fields[0].name, "prev_comm");
	assert_string_equal(format.fields[0].type, "char");
	assert_int_equal(format.fields[0].count, 16);
	assert_string_equal(format.fields[2].name, "what");
	assert_true(format.fields[2].is_location && format.fields[2].is_array);
	assert_string_equal(format.fields[3].type, "struct sock *");
	assert_int_equal(format.fields[3].offset, 32);
	assert_true(format.fields[6].is_relative);
	assert_int_equal(targets_format(fixture.targets, "sched", "gone", &format, &err), -ENOENT);
	assert_int_equal(targets_format(fixture.targets, "..", "sched_switch", &format, &err), -ENOENT);
}

static void test_formats_that_are_none_are_refused(void **state)
{
	static const char *const texts[] = {
		"", "ID: 0\n", "field:int x;\toffset:8;\tsize:4;\tsigned:1;\n", /* no number */
		"ID: 1\nfield:int;\toffset:8;\tsize:4;\n", "ID: 1\nfield:int x\n", "ID: 1\nfield:",
		"ID: 1\nfield:int x;\toffset:a;\n",
			"ID: 1\nfield:int [4];\toffset:8;\tsize:4;\tsigned:1;\n",
	};
	struct targets_format format;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (targets_parse_format(texts[i], &format) != -EINVAL)
			fail_msg("%zu", i);
}

static int setup(void **state)
{
	(void)state;
	probes_fixture_open(&fixture);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	probes_fixture_close(&fixture);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns_match),
		cmocka_unit_test(test_functions_are_those_that_can_be_traced),
		cmocka_unit_test(test_functions_without_a_list_are_those_of_btf),
		cmocka_unit_test(test_tracepoints_are_listed),
		cmocka_unit_test(test_formats_have_fields),
		cmocka_unit_test(test_formats_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
