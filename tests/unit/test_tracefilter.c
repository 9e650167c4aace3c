/* SPDX-License-Identifier: MIT */
/* kernel/tracefilter: filters in the words of Linux's Documentation/trace/events.rst. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/filter.h"

static const struct filter_field fields[] = {
	{ .name = "prev_pid", .source = FILTER_RECORD, .offset = 8, .bytes = 4, .is_signed = 1 },
	{ .name = "prev_comm", .source = FILTER_TEXT, .offset = 12, .bytes = 16 },
	{ .name = "result", .source = FILTER_RESULT },
	{ .name = "size", .source = FILTER_ARGUMENT },
};

static int print(const char *text, GString *out, struct err *err)
{
	struct filter *filter;
	int ret = filter_create(text, fields, G_N_ELEMENTS(fields), &filter, err);

	assert_int_equal(ret, 0);
	ret = filter_print(filter, out, err);
	filter_destroy(filter);
	return ret;
}

static void test_what_tracefs_can_say(void **state)
{
	static const struct {
		const char *text, *expected;
		int line;
	} rows[] = {
		{ "prev_pid == 3", "prev_pid == 3", __LINE__ },
		{ "-5 < prev_pid", "prev_pid > -5", __LINE__ },
		{ "0x10 >= prev_pid", "prev_pid <= 16", __LINE__ },
		{ "prev_pid", "prev_pid != 0", __LINE__ },
		{ "prev_comm != \"a b\"", "prev_comm != \"a b\"", __LINE__ },
		{ "\"cat\" == comm", "COMM == \"cat\"", __LINE__ },
		{ "tid != 1 && cpu == 0", "(common_pid != 1) && (CPU == 0)", __LINE__ },
		{ "!(tid < 9) || cpu", "(!(common_pid < 9)) || (CPU != 0)", __LINE__ },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(GString) out = g_string_new(NULL);
		struct err err = { "" };

		if (print(rows[i].text, out, &err) || strcmp(out->str, rows[i].expected) != 0)
			fail_msg("line %d: '%s' %s", rows[i].line, out->str, err.text);
	}
}

static void test_what_it_cannot_say_is_told(void **state)
{
	static const struct {
		const char *text, *reason;
		int line;
	} rows[] = {
		{ "pid == 3", "processes", __LINE__ },
		{ "uid == 0 && prev_pid == 3", "users", __LINE__ },
		{ "result < 0", "results", __LINE__ },
		{ "size == 1", "arguments", __LINE__ },
		{ "prev_pid + 1 == 3", "arithmetic", __LINE__ },
		{ "prev_pid & 1", "arithmetic", __LINE__ },
		{ "prev_pid == tid", "with each other", __LINE__ },
		{ "comm == \"a*\"", "characters", __LINE__ },
		{ "1", "expressions", __LINE__ },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(GString) out = g_string_new(NULL);
		struct err err = { "" };

		if (print(rows[i].text, out, &err) != -EOPNOTSUPP || !strstr(err.text, rows[i].reason))
			fail_msg("line %d: '%s' %s", rows[i].line, out->str, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_tracefs_can_say),
		cmocka_unit_test(test_what_it_cannot_say_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
