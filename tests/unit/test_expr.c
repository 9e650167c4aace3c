/* SPDX-License-Identifier: MIT */
/* probes/expr: what is accepted, how it binds, and where errors are. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "probes/expr.h"

/* Names: n is a number, s a string. */
static int resolve(void *arg, const char *name, enum ast_type_kind *type, uint64_t *value, struct err *err)
{
	(void)arg;
	*value = 0;
	*type = name[0] == 's' ? AST_STRING : AST_INTEGER;
	return strlen(name) == 1 ? 0 : -ENOENT;
}

/* The tree with all its parentheses. */
static void print(const struct ast_expr *node, char *out)
{
	static const char *const words[] = { "||", "&&", "==", "!=", "<=", ">=", "<<", ">>" };
	char sign[2] = { (char)node->operator, '\0' };
	const char *operator = node->operator >= 256 ? words[node->operator - 256] : sign;

	switch (node->kind) {
	case AST_NUMBER:
		sprintf(out + strlen(out), "%" PRIu64, node->number);
		return;
	case AST_LITERAL:
		sprintf(out + strlen(out), "\"%s\"", node->text);
		return;
	case AST_NAME:
		strcat(out, node->text);
		return;
	default:
		break;
	}
	strcat(out, "(");
	if (node->left)
		print(node->left, out);
	strcat(out, operator);
	print(node->right, out);
	strcat(out, ")");
}

/* As C's grammar joins them. */
static void test_operators_bind_as_in_c(void **state)
{
	static const struct { int line; const char *text, *tree; } rows[] = {
		{ __LINE__, "a", "a" },
		{ __LINE__, " 0x1f ", "31" },
		{ __LINE__, "18446744073709551615", "18446744073709551615" },
		{ __LINE__, "a+b*c", "(a+(b*c))" },
		{ __LINE__, "a-b-c", "((a-b)-c)" },
		{ __LINE__, "a&b==c", "(a&(b==c))" },
		{ __LINE__, "a|b^c&d", "(a|(b^(c&d)))" },
		{ __LINE__, "a||b&&c||d", "((a||(b&&c))||d)" },
		{ __LINE__, "!a==-b", "((!a)==(-b))" },
		{ __LINE__, "~(a+b)<<2", "((~(a+b))<<2)" },
		{ __LINE__, "a<b==c>=d", "((a<b)==(c>=d))" },
		{ __LINE__, "s==\"x y\"&&a%10/3", "((s==\"x y\")&&((a%10)/3))" },
		{ __LINE__, "a!=b>>1", "(a!=(b>>1))" },
		{ __LINE__, "a<<63|0/a", "((a<<63)|(0/a))" },
	};
	struct err err = { "" };
	struct expr *expr;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char tree[256] = "";

		if (expr_parse(rows[i].text, &expr, &err))
			fail_msg("line %d: %s", rows[i].line, err.text);
		print(expr_root(expr), tree);
		if (strcmp(tree, rows[i].tree) != 0)
			fail_msg("line %d: %s", rows[i].line, tree);
		if (expr_check(expr, resolve, NULL, &err))
			fail_msg("line %d: %s", rows[i].line, err.text);
		expr_destroy(expr);
	}
}

/* The column of each error, from 1. */
static void test_errors_have_their_column(void **state)
{
	static const struct { int line; const char *text, *begin;
	} rows[] = {
		{__LINE__, "", "column 1: a name"},
		{__LINE__, "a &&", "column 5: a name"},
		{__LINE__, "a = 3", "column 3: '=' sets"},
		{__LINE__, "(a", "column 3: ')' is"},
		{__LINE__, "a b", "column 3: an operator is missing, at '^b'"},
		{__LINE__, "a ) b", "column 3: an operator"},
		{__LINE__, "3x", "column 1: this is not a number"},
		{__LINE__, "18446744073709551616", "column 1: the number has more"},
		{__LINE__, "a == \"x", "column 6: the string has no end"},
		{__LINE__, "a ` b", "column 3: this is no part"},
		{__LINE__, "a == $b", "column 6: a name, a number"},
		{__LINE__, "@a", "column 1: a name, a number"},
		{__LINE__, "a ? 1 : 2", "column 3: an operator"},
		{__LINE__, "a->b", "column 2: an operator"},
		{__LINE__, "(int)a", "column 6: an operator"},
		{__LINE__, "pid++", "column 4: an operator"},
		{__LINE__, "s == 3", "column 3: a string and a number"},
		{__LINE__, "a && s < \"x\"", "column 8: strings can be"},
		{__LINE__, "s == s", "column 3: one side must"},
		{__LINE__, "\"a\" == \"b\"", "column 5: one side must"},
		{__LINE__, "s", "column 1: a string alone"},
		{__LINE__, "a + unknown", "column 5: there is nothing named 'unknown'"},
		{__LINE__, "1 / 0", "column 3: this divides by 0, at '^/ 0'"},
		{__LINE__, "a == b % 0", "column 8: this divides by 0"},
	};
	struct err err;
	struct expr *expr;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int ret;

		err.text[0] = '\0';
		ret = expr_parse(rows[i].text, &expr, &err);
		if (!ret) {
			ret = expr_check(expr, resolve, NULL, &err);
			expr_destroy(expr);
		}
		if (ret != -EINVAL || strncmp(err.text, rows[i].begin, strlen(rows[i].begin)) != 0)
			fail_msg("line %d: %d %s", rows[i].line, ret, err.text);
	}
}

/* `open` so many times, 1, and `close` as often. */
static int parse_nested(const char *open, unsigned int count, const char *close)
{
	char text[EXPR_TEXT_MAX * 2] = "";
	struct err err = { "" };
	struct expr *expr;
	size_t at = 0;
	int ret;

	for (unsigned int i = 0; i < 2 * count + 1; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s",
			i == count ? "1" : i < count ? open : close);
	ret = expr_parse(text, &expr, &err);
	if (!ret)
		expr_destroy(expr);
	return ret;
}

/* The limits that kprof(5) names. */
static void test_limits_are_those_of_the_page(void **state)
{
	static const char *const rows[][2] = { { "(", ")" }, { "!", "" }, { "", "||1" }, { "", "+1" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(parse_nested(rows[i][0], 63, rows[i][1]), 0);
		assert_int_equal(parse_nested(rows[i][0], 64, rows[i][1]), -E2BIG);
	}
	assert_int_equal(parse_nested(" ", 1023, ""), 0);
	assert_int_equal(parse_nested(" ", 1024, ""), -E2BIG);
}

static void test_long_texts_are_refused(void **state)
{
	static char text[EXPR_TEXT_MAX + 2];
	struct err err = { "" };
	struct expr *expr;

	(void)state;
	memset(text, 'a', EXPR_TEXT_MAX + 1);
	assert_int_equal(expr_parse(text, &expr, &err), -E2BIG);
	memset(text, '(', EXPR_TEXT_MAX);
	text[EXPR_TEXT_MAX] = '\0';
	assert_int_equal(expr_parse(text, &expr, &err), -E2BIG);
	assert_non_null(strstr(err.text, "within each other"));
	memset(text, '!', EXPR_TEXT_MAX - 1);
	text[EXPR_TEXT_MAX - 1] = 'a';
	assert_int_equal(expr_parse(text, &expr, &err), -E2BIG);
	for (size_t i = 0; i < EXPR_TEXT_MAX; i++)
		text[i] = i % 2 ? '+' : '1';
	assert_int_equal(expr_parse(text, &expr, &err), -E2BIG);
	assert_non_null(strstr(err.text, "nested too deep"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operators_bind_as_in_c),
		cmocka_unit_test(test_errors_have_their_column),
		cmocka_unit_test(test_long_texts_are_refused),
		cmocka_unit_test(test_limits_are_those_of_the_page),
	};

	return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
