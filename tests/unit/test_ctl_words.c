/* SPDX-License-Identifier: MIT */
/*
 * fs/ctl_words: a write is split into lines, a line calls the handler of its word, and a wrong line
 * gets the usage.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fs/ctl_words.h"

static char called[256]; /* what the handlers were called with */

static int record(const char *word, struct ctl_words_call *call)
{
	unsigned int i;

	strcat(called, word);
	for (i = 0; i < call->argc; i++) {
		strcat(called, "<");
		strcat(called, call->argv[i]);
		strcat(called, ">");
	}
	return 0;
}

static int run_none(struct ctl_words_call *call, struct err *err)
{
	return record("none", call);
}

static int run_some(struct ctl_words_call *call, struct err *err)
{
	return record("some", call);
}

static int run_busy(struct ctl_words_call *call, struct err *err)
{
	record("busy", call);
	return err_set(err, EBUSY, "not now");
}

static int run_rest(struct ctl_words_call *call, struct err *err)
{
	return record("rest", call);
}

static const struct ctl_words_word words[] = {
	{"none", "", 0, 0, run_none, ""},
	{"some", "A [B [C]]", 1, 3, run_some, ""},
	{"busy", "[X]", 0, 1, run_busy, ""},
	{"rest", "TEXT", 1, 1, run_rest, "", .is_text = true},
	{NULL},
};

static int run_switch(struct ctl_words_call *call, struct err *err)
{
	static const char *const names[] = {"off", "on", "toggle"};

	return record(names[call->to], call);
}

static const struct ctl_words_word switches[] = {
	{SWITCH_WORD_USAGE, "", 0, 0, run_switch, "", true},
	{NULL},
};

static const struct ctl_words_word narrow[] = {
	{"on|NUMBER", "", 0, 0, run_switch, "", true},
	{NULL},
};

struct line_row {
	int line; /* a failing row names itself */
	const char *text;
	size_t size;
	int ret;
	const char *word;   /* NULL if not known */
	const char *called; /* "" if there is no handler */
	const char *reason; /* the beginning of the sentence */
};

#define TEXT(s) s, sizeof(s) - 1

static const struct line_row line_rows[] = {
	{__LINE__, TEXT("none"), 0, "none", "none", ""},
	{__LINE__, TEXT(" \t none\t "), 0, "none", "none", ""},
	{__LINE__, TEXT("some a"), 0, "some", "some<a>", ""},
	{__LINE__, TEXT("some\ta  b\t\tc"), 0, "some", "some<a><b><c>", ""},
	{__LINE__, TEXT("some 'a b'"), 0, "some", "some<'a><b'>", ""},
	{__LINE__, TEXT("some \"\""), 0, "some", "some<\"\">", ""},
	{__LINE__, TEXT("some none"), 0, "some", "some<none>", ""},
	{__LINE__, TEXT("rest a  b\tc \t"), 0, "rest", "rest<a  b\tc>", ""},
	{__LINE__, TEXT(" \trest\t 1 2 3 4 5 6 7 8 9 10"), 0, "rest", "rest<1 2 3 4 5 6 7 8 9 10>", ""},
	{__LINE__, TEXT("rest \t"), -EINVAL, "rest", "", "'rest' needs an argument"},
	{__LINE__, TEXT("busy"), -EBUSY, "busy", "busy", "not now"},
	{__LINE__, TEXT("busy x"), -EBUSY, "busy", "busy<x>", "not now"},
	{__LINE__, TEXT(""), -EINVAL, NULL, "", "an empty command"},
	{__LINE__, TEXT(" \t"), -EINVAL, NULL, "", "an empty command"},
	{__LINE__, TEXT("None"), -EINVAL, NULL, "", "unknown word: did you mean 'none'?"},
	{__LINE__, TEXT("bsuy"), -EINVAL, NULL, "", "unknown word: did you mean 'busy'?"},
	{__LINE__, TEXT("elephant"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("help"), 0, NULL, "", "what can be written is"},
	{__LINE__, TEXT("help me"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("non"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("nonee"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("none\r"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("'none'"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("none x"), -EINVAL, "none", "", "'none' takes no argument"},
	{__LINE__, TEXT("some"), -EINVAL, "some", "", "'some' needs an argument"},
	{__LINE__, TEXT("some 1 2 3 4"), -EINVAL, "some", "", "'some' has too many"},
	{__LINE__, TEXT("some 1 2 3 4 5 6 7 8 9 10"), -EINVAL, "some", "", "'some' has too many"},
	{__LINE__, TEXT("none\0"), -EINVAL, NULL, "", "a NUL byte"},
	{__LINE__, TEXT("\0none"), -EINVAL, NULL, "", "a NUL byte"},
	{__LINE__, TEXT("some a\0b"), -EINVAL, NULL, "", "a NUL byte"},
};

static void check_line(const struct ctl_words_word *table, const struct line_row *row)
{
	const struct ctl_words_word *word = table;
	struct ctl_words_call call = {.session = NULL};
	struct err err = {""};
	int ret;

	called[0] = '\0';
	ret = ctl_words_run(table, &call, row->text, row->size, &word, &err);
	if (ret != row->ret || strcmp(called, row->called) ||
		strncmp(err.text, row->reason, strlen(row->reason)) ||
		(!row->reason[0] && err.text[0]) || !!word != !!row->word ||
		(word && strcmp(word->word, row->word)))
		fail_msg("row of line %d: ret %d, called '%s', word %s, '%s'", row->line, ret,
			called, word ? word->word : "-", err.text);
}

static void test_lines_call_the_handler_of_their_word(void **state)
{
	for (size_t i = 0; i < sizeof(line_rows) / sizeof(line_rows[0]); i++)
		check_line(words, &line_rows[i]);
}

static const struct line_row switch_rows[] = {
	{__LINE__, TEXT("0"), 0, SWITCH_WORD_USAGE, "off", ""},
	{__LINE__, TEXT(" 1\t"), 0, SWITCH_WORD_USAGE, "on", ""},
	{__LINE__, TEXT("0x1F"), 0, SWITCH_WORD_USAGE, "on", ""},
	{__LINE__, TEXT("00"), 0, SWITCH_WORD_USAGE, "off", ""},
	{__LINE__, TEXT("18446744073709551615"), 0, SWITCH_WORD_USAGE, "on", ""},
	{__LINE__, TEXT("18446744073709551616"), -EINVAL, NULL, "", "the number is too large"},
	{__LINE__, TEXT("-1"), 0, SWITCH_WORD_USAGE, "on", ""},
	{__LINE__, TEXT("-0"), 0, SWITCH_WORD_USAGE, "off", ""},
	{__LINE__, TEXT("on"), 0, SWITCH_WORD_USAGE, "on", ""},
	{__LINE__, TEXT("off"), 0, SWITCH_WORD_USAGE, "off", ""},
	{__LINE__, TEXT("toggle"), 0, SWITCH_WORD_USAGE, "toggle", ""},
	{__LINE__, TEXT("On"), -EINVAL, NULL, "", "unknown word: did you mean 'on'?"},
	{__LINE__, TEXT("toggel"), -EINVAL, NULL, "", "unknown word: did you mean 'toggle'?"},
	{__LINE__, TEXT("-on"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("-"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("--1"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("-18446744073709551616"), -EINVAL, NULL, "", "the number is too large"},
	{__LINE__, TEXT("1x"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("NUMBER"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("on|off"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("1 1"), -EINVAL, SWITCH_WORD_USAGE, "", "'on|off|toggle|NUMBER' takes no"},
};

static const struct line_row narrow_rows[] = {
	{__LINE__, TEXT("on"), 0, "on|NUMBER", "on", ""},
	{__LINE__, TEXT("0"), 0, "on|NUMBER", "off", ""},
	{__LINE__, TEXT("off"), -EINVAL, NULL, "", "unknown word"},
	{__LINE__, TEXT("toggle"), -EINVAL, NULL, "", "unknown word"},
};

static void test_switches_take_names_and_numbers(void **state)
{
	for (size_t i = 0; i < sizeof(switch_rows) / sizeof(switch_rows[0]); i++)
		check_line(switches, &switch_rows[i]);
	for (size_t i = 0; i < sizeof(narrow_rows) / sizeof(narrow_rows[0]); i++)
		check_line(narrow, &narrow_rows[i]);
}

struct split_row {
	int line;
	const char *text;
	size_t size;
	unsigned int count;
	const char *joined; /* the lines with | behind each; NUL bytes as 0 */
};

static const struct split_row split_rows[] = {
	{__LINE__, TEXT(""), 0, ""},
	{__LINE__, TEXT("a"), 1, "a|"},
	{__LINE__, TEXT("a\n"), 1, "a|"},
	{__LINE__, TEXT("\n"), 1, "|"},
	{__LINE__, TEXT("a\nb"), 2, "a|b|"},
	{__LINE__, TEXT("a\n\nb\n"), 3, "a||b|"},
	{__LINE__, TEXT("a\n\n"), 2, "a||"},
	{__LINE__, TEXT("a\0\nb"), 2, "a0|b|"},
};

static void test_writes_are_split_into_lines(void **state)
{
	size_t i, k;

	for (i = 0; i < sizeof(split_rows) / sizeof(split_rows[0]); i++) {
		const struct split_row *row = &split_rows[i];
		const char *data = row->text, *line;
		size_t left = row->size, len;
		GString *joined = g_string_new(NULL);
		unsigned int count = 0;

		while (ctl_words_next_line(&data, &left, &line, &len)) {
			for (k = 0; k < len; k++)
				g_string_append_c(joined, line[k] ? line[k] : '0');
			g_string_append_c(joined, '|');
			count++;
		}
		if (count != row->count || strcmp(joined->str, row->joined))
			fail_msg("row of line %d: %u lines: '%s'", row->line, count, joined->str);
		g_string_free(joined, TRUE);
	}
}

static void test_usage_is_made_from_the_table(void **state)
{
	GString *out = g_string_new("usage: ");

	ctl_words_usage(words, NULL, out);
	assert_string_equal(out->str, "usage: none | some A [B [C]] | busy [X] | rest TEXT");
	g_string_truncate(out, 0);
	ctl_words_usage(words, &words[1], out);
	assert_string_equal(out->str, "some A [B [C]]");
	g_string_truncate(out, 0);
	ctl_words_usage(words, &words[0], out);
	assert_string_equal(out->str, "none");
	g_string_free(out, TRUE);
}

static void test_arguments_are_converted(void **state)
{
	char hex[] = "0x10", on_word[] = "on", off_word[] = "off", huge[] = "99999999999999999999",
	     capital[] = "On";
	struct ctl_words_call call = {.argc = 5, .argv = {hex, on_word, off_word, huge, capital}};
	struct err err = {""};
	uint64_t number = 7;
	enum switch_word to = SWITCH_WORD_TOGGLE;

	assert_int_equal(ctl_words_number(&call, 0, &number, &err), 0);
	assert_int_equal(number, 16);
	assert_string_equal(err.text, "");
	assert_int_equal(ctl_words_number(&call, 1, &number, &err), -EINVAL);
	assert_string_equal(err.text, "not a number");
	assert_int_equal(ctl_words_number(&call, 3, &number, &err), -EINVAL);
	assert_string_equal(err.text, "the number is too large");
	assert_int_equal(number, 16);
	assert_int_equal(ctl_words_switch(&call, 1, &to, &err), 0);
	assert_int_equal(to, SWITCH_WORD_ON);
	assert_int_equal(ctl_words_switch(&call, 2, &to, &err), 0);
	assert_int_equal(to, SWITCH_WORD_OFF);
	assert_int_equal(ctl_words_switch(&call, 0, &to, &err), 0);
	assert_int_equal(to, SWITCH_WORD_ON);
	assert_int_equal(ctl_words_switch(&call, 4, &to, &err), -EINVAL);
	assert_string_equal(err.text, "neither on, off, toggle nor a number");
	assert_int_equal(ctl_words_switch(&call, 3, &to, &err), -EINVAL);
	assert_string_equal(err.text, "the number is too large");
	assert_int_equal(to, SWITCH_WORD_ON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_call_the_handler_of_their_word),
		cmocka_unit_test(test_switches_take_names_and_numbers),
		cmocka_unit_test(test_writes_are_split_into_lines),
		cmocka_unit_test(test_usage_is_made_from_the_table),
		cmocka_unit_test(test_arguments_are_converted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
