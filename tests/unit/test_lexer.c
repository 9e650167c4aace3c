/* SPDX-License-Identifier: MIT */
/* probes/lexer: tokens, what is left out between them, and the directives. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "probes/lexer.h"

static void print_sign(int sign, char *out)
{
	static const char *const words[] = { "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "++", "--" };
	const int operator = sign & ~TOKEN_ASSIGNS;

	if (sign == TOKEN_ARROW)
		strcat(out, "->");
	else if (operator >= AST_OR)
		strcat(out, words[operator - AST_OR]);
	else
		sprintf(out + strlen(out), "%c", operator);
	if (sign & TOKEN_ASSIGNS)
		strcat(out, "=");
}

/* All tokens, with a blank behind each; the result of the last call. */
static int tokens_of(const char *text, char *out, struct err *err)
{
	struct ast *ast = ast_create(text, strlen(text));
	struct lexer lexer;
	struct token token;
	int ret;

	assert_non_null(ast);
	err->text[0] = out[0] = '\0';
	lexer_init(&lexer, ast, err);
	for (;;) {
		ret = lexer_next(&lexer, &token);
		if (ret || token.kind == TOKEN_END)
			break;
		assert_true(strlen(out) + token.length < 3500);
		if (token.kind == TOKEN_NUMBER)
			sprintf(out + strlen(out), "%" PRIu64, token.number);
		else if (token.kind == TOKEN_PARAMETER)
			sprintf(out + strlen(out), "$%" PRIu64, token.number);
		else if (token.kind == TOKEN_SIGN)
			print_sign(token.sign, out);
		else
			sprintf(out + strlen(out), "%c%.*s", "??\"n@$"[token.kind],
				(int)token.length, token.text);
		strcat(out, " ");
	}
	ast_destroy(ast);
	return ret;
}

static void test_texts_become_tokens(void **state)
{
	static const struct { int line; const char *text, *tokens; } rows[] = {
		{ __LINE__, "", "" },
		{ __LINE__, "a_1 b", "na_1 nb " },
		{ __LINE__, "@ @x $y $1 $23 $#", "@ @x $y $1 $23 $0 " },
		{ __LINE__, "0 10 1_000 0x1F 017 1e6 2e0", "0 10 1000 31 15 1000000 2 " },
		{ __LINE__, "18446744073709551615", "18446744073709551615 " },
		{ __LINE__, "\"a b\" \"\"", "\"a b \" " },
		{ __LINE__, "\"\\n\\t\\\\\\\"\\x41\\102\"", "\"\n\t\\\"AB " },
		{ __LINE__, "a<<=b>>c<=d->e--f", "na <<= nb >> nc <= nd -> ne -- nf " },
		{ __LINE__, "+=-=*=/=%=&=|=^=", "+= -= *= /= %= &= |= ^= " },
		{ __LINE__, "a//b\nc/*d\ne*/f", "na nc nf " },
		{ __LINE__, "#!/usr/bin/env x\na\n#! b\nc", "na nc " },
		{ __LINE__, "#include <linux/fs.h> // x\na", "na " },
	};
	char out[4096];
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int ret = tokens_of(rows[i].text, out, &err);

		if (ret || strcmp(out, rows[i].tokens) != 0)
			fail_msg("line %d: %d \"%s\" %s", rows[i].line, ret, out, err.text);
	}
}

/* As the preprocessor of C. */
static void test_directives_leave_text_out(void **state)
{
	static const struct { int line; const char *text, *tokens; } rows[] = {
		{ __LINE__, "#ifdef X\na\n#else\nb\n#endif\nc", "nb nc " },
		{ __LINE__, "#ifndef X\na\n#else\nb\n#endif\nc", "na nc " },
		{ __LINE__, "#ifndef BPFTRACE_HAVE_BTF\na\n#endif\nb", "nb " },
		{ __LINE__, "#ifdef BPFTRACE_HAVE_BTF\na\n#endif\nb", "na nb " },
		{ __LINE__, "#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif", "nb " },
		{ __LINE__, "#if 1\n#if 0\na\n#endif\nb\n#endif", "nb " },
		{ __LINE__, "#if 0\n#if 1\na\n#else\nb\n#endif\n' is no token\n#endif\nc", "nc " },
		{ __LINE__,
			"#define X\n#if defined(X)\na\n#endif\n#undef X\n#if !defined X\nb\n#endif",
				"na nb " },
		{ __LINE__, "#define A 5\n#if A\nA\n#endif", "5 " },
		{ __LINE__, "#define A (1 << B) // c\n#define B 3\nA x", "( 1 << 3 ) nx " },
		{ __LINE__, "#define A A B\n#define B A\nA", "nA nA " }, /* not replaced in its own text */
		{ __LINE__, "#define A\nA A b A", "nb " },
		{ __LINE__, "#define S \"a // b\"\nS", "\"a // b " },
		{ __LINE__, "a #define b\n", NULL }, /* not at the beginning of its line */
	};
	char out[4096];
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int ret = tokens_of(rows[i].text, out, &err);

		if (!rows[i].tokens != (ret == -EINVAL) || (rows[i].tokens && strcmp(out,
			rows[i].tokens) != 0))
			fail_msg("line %d: %d \"%s\" %s", rows[i].line, ret, out, err.text);
	}
}

/* -EAGAIN is for what more text could make right. */
static void test_errors_have_a_place_and_say_whether_more_text_helps(void **state)
{
	static const struct { int line; const char *text; int ret; const char *message; } rows[] = {
		{ __LINE__, "a\n  `", -EINVAL,
			"line 2, column 3: this is no part of the language\n  `\n  ^" },
		{ __LINE__, "\ta \x01", -EINVAL,
			"line 1, column 4: this is no part of the language\n\ta ?\n\t  ^" },
		{ __LINE__, "\"abc", -EAGAIN,
			"line 1, column 1: the text ends too early: the string has no end" },
		{ __LINE__, "\"abc\n\"", -EINVAL, "line 1, column 1: the string has no end in its line" },
		{ __LINE__, "a /* b\n c", -EAGAIN,
			"line 1, column 3: the text ends too early: a comment has no end" },
		{ __LINE__, "a\n#if 1\nb\n", -EAGAIN,
			"line 2, column 2: the text ends too early: the #endif is" },
		{ __LINE__, "#endif\n", -EINVAL, "line 1, column 2: there is no #if that this belongs to" },
		{ __LINE__, "#if 1\n#else\n#else\n#endif", -EINVAL, "line 3, column 2: there is no #if" },
		{ __LINE__, "#if 1 + 1\n", -EOPNOTSUPP, "line 1, column 7: an #if of more than" },
		{ __LINE__, "#define F(x) x\n", -EOPNOTSUPP, "line 1, column 9: #define with parameters" },
		{ __LINE__, "#error x\n", -EINVAL, "line 1, column 1: there is no such directive" },
		{ __LINE__, "18446744073709551616", -EINVAL,
			"line 1, column 1: the number has more than 64 bits" },
		{ __LINE__, "1e20", -EINVAL, "line 1, column 1: the number has more than 64 bits" },
		{ __LINE__, "1x", -EINVAL, "line 1, column 1: this is not a number" },
		{ __LINE__, "09", -EINVAL, "line 1, column 1: this is not a number" },
		{ __LINE__, "\"\\q\"", -EINVAL, "line 1, column 2: there is no such escape in a string" },
		{ __LINE__, "\"\\0\"", -EINVAL, "line 1, column 2: a string can't have a NUL byte" },
		{ __LINE__, "$", -EAGAIN, "line 1, column 1: the text ends too early: a name or number" },
		{ __LINE__, "$ ", -EINVAL, "line 1, column 1: a name or number is missing behind '$'" },
		{ __LINE__, "$0 ", -EINVAL, "line 1, column 1: parameters are $1 to $1000" },
	};
	char out[4096];
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int ret = tokens_of(rows[i].text, out, &err);

		if (ret != rows[i].ret || strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0)
			fail_msg("line %d: %d \"%s\"", rows[i].line, ret, err.text);
	}
}

/* Names that double each other end with an error and not with the memory. */
static void test_expansions_are_bounded(void **state)
{
	char text[4096] = "#define a0 x x\n", out[4096];
	struct err err;

	(void)state;
	for (int i = 1; i < 10; i++)
		sprintf(text + strlen(text), "#define a%d a%d a%d\n", i, i - 1, i - 1);
	strcat(text, "a9");
	assert_int_equal(tokens_of(text, out, &err), -E2BIG);
	assert_non_null(strstr(err.text, "too many names of #define"));
}

static const char *probe_at(const char *text, char *out)
{
	struct ast *ast = ast_create(text, strlen(text));
	struct err err = { "" };
	struct lexer lexer;
	struct token token;

	lexer_init(&lexer, ast, &err);
	assert_int_equal(lexer_next_probe(&lexer, &token), 0);
	sprintf(out, "%.*s", (int)token.length, token.text);
	ast_destroy(ast);
	return out;
}

static void test_names_of_probes_end_where_a_filter_begins(void **state)
{
	char out[256];

	(void)state;
	assert_string_equal(probe_at("kprobe:vfs_*/pid/{", out), "kprobe:vfs_*");
	assert_string_equal(probe_at(" // x\n kprobe:a.b.* , c", out), "kprobe:a.b.*");
	assert_string_equal(probe_at("uprobe:/bin/a-b:main{", out), "uprobe:/bin/a-b:main");
	assert_string_equal(probe_at("uprobe:./a:main/1/{", out), "uprobe:./a:main");
	assert_string_equal(probe_at("uprobe:\"/a b,{/c\":\"f(int, x)\" {", out),
		"uprobe:\"/a b,{/c\":\"f(int, x)\"");
	assert_string_equal(probe_at("/* x */", out), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_become_tokens),
		cmocka_unit_test(test_directives_leave_text_out),
		cmocka_unit_test(test_errors_have_a_place_and_say_whether_more_text_helps),
		cmocka_unit_test(test_expansions_are_bounded),
		cmocka_unit_test(test_names_of_probes_end_where_a_filter_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
