/* SPDX-License-Identifier: MIT */
/*
 * tui/fit: names of other processes take the columns that they are given and contain no control
 * characters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>

#include "tui/fit.h"

static void assert_fits(const char *name, unsigned int columns, const char *expected)
{
	g_autoptr(GString) out = g_string_new(NULL);

	fit_append(out, name, columns);
	assert_string_equal(out->str, expected);
}

static void test_a_name_is_padded_or_cut_to_its_columns(void **state)
{
	assert_fits("main", 6, "main  ");
	assert_fits("main", 4, "main");
	assert_fits("main", 2, "ma");
	assert_fits("main", 0, "");
	assert_fits("", 3, "   ");
}

static void test_control_characters_become_hexadecimal(void **state)
{
	assert_fits("\033[2J", 10, "\\x1b[2J   ");
	assert_fits("a\nb\x7f", 10, "a\\x0ab\\x7f");
	assert_fits("\\", 4, "\\x5c");
}

static void test_what_is_not_utf8_becomes_hexadecimal(void **state)
{
	assert_fits("\xff\xc3", 8, "\\xff\\xc3");
	/* an overlong slash; a right-to-left override; C1's CSI */
	assert_fits("\xc0\xaf", 8, "\\xc0\\xaf");
	assert_fits("\xe2\x80\xae", 12, "\\xe2\\x80\\xae");
	assert_fits("\xc2\x9b", 8, "\\xc2\\x9b");
}

static void test_wide_characters_take_two_columns(void **state)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip();
	assert_fits("\xe6\xbc\xa2\xe5\xad\x97", 5, "\xe6\xbc\xa2\xe5\xad\x97 ");
	assert_fits("\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2 ");
	/* a combining accent takes no column, and may follow the last one */
	assert_fits("e\xcc\x81", 9, "e\\xcc\\x81");
	setlocale(LC_CTYPE, "C");
}

static void test_without_utf8_only_ascii_is_shown(void **state)
{
	setlocale(LC_CTYPE, "C");
	assert_fits("\xc3\xa9", 9, "\\xc3\\xa9 ");
}

static void test_lines_keep_their_backslashes(void **state)
{
	g_autoptr(GString) out = g_string_new(NULL);

	fit_append_line(out, "\\x1b\033", 20, false);
	assert_string_equal(out->str, "\\x1b\\x1b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_is_padded_or_cut_to_its_columns),
		cmocka_unit_test(test_control_characters_become_hexadecimal),
		cmocka_unit_test(test_what_is_not_utf8_becomes_hexadecimal),
		cmocka_unit_test(test_wide_characters_take_two_columns),
		cmocka_unit_test(test_without_utf8_only_ascii_is_shown),
		cmocka_unit_test(test_lines_keep_their_backslashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
