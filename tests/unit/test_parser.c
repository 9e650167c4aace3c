/* SPDX-License-Identifier: MIT */
/* probes/parser: which texts are accepted, how operators bind, and the errors for all others. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/parser.h"
#include "probes/tables.h"

/* ---- a tree as a text, with all its parentheses ------------------------------------------------- */

static void print_type(const struct ast_type *type, char *out)
{
	if (type->kind == AST_POINTER) {
		print_type(type->item, out);
		strcat(out, "*");
	} else if (type->kind == AST_INTEGER) {
		sprintf(out + strlen(out), "%c%u", type->is_signed ? 'i' : 'u', type->bytes * 8);
	} else {
		sprintf(out + strlen(out), "%s%s", type->kind == AST_STRUCT ? "struct " : "",
			type->name ? type->name : "void");
	}
}

static const char *operator_text(int operator, char *text)
{
	static const char *const words[] = { "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "++", "--" };

	if (operator >= AST_OR)
		return words[operator - AST_OR];
	sprintf(text, "%c", operator);
	return text;
}

static void print(const struct ast_expr *expr, char *out);

static void print_list(const struct ast_expr *args, const char *around, char *out)
{
	sprintf(out + strlen(out), "%c", around[0]);
	for (; args; args = args->next) {
		print(args, out);
		if (args->next)
			strcat(out, ",");
	}
	sprintf(out + strlen(out), "%c", around[1]);
}

static void print_leaf(const struct ast_expr *expr, char *out)
{
	switch (expr->kind) {
	case AST_NUMBER:
		sprintf(out + strlen(out), "%" PRIu64, expr->number);
		break;
	case AST_PARAMETER:
		sprintf(out + strlen(out), "$%" PRIu64, expr->number);
		break;
	case AST_LITERAL:
		sprintf(out + strlen(out), "\"%s\"", expr->text);
		break;
	case AST_ARGUMENT:
		sprintf(out + strlen(out), "args.%s", expr->text);
		break;
	case AST_LOCAL:
		sprintf(out + strlen(out), "$%s", expr->text);
		break;
	case AST_MAP:
		sprintf(out + strlen(out), "@%s", expr->text);
		if (expr->count)
			print_list(expr->args, "[]", out);
		break;
	case AST_CALL:
		strcat(out, expr->text);
		print_list(expr->args, "()", out);
		break;
	case AST_TUPLE_OF:
		print_list(expr->args, "()", out);
		break;
	default:
		strcat(out, expr->text);
	}
}

static void print_inner(const struct ast_expr *expr, char *out)
{
	char text[2] = "";

	if (expr->left)
		print(expr->left, out);
	if (expr->kind == AST_FIELD)
		sprintf(out + strlen(out), "%s%s", expr->number ? "->" : ".", expr->text);
	else if (expr->kind == AST_ITEM)
		sprintf(out + strlen(out), ".%" PRIu64, expr->number);
	else if (expr->kind == AST_STEP && !expr->number)
		print(expr->right, out);
	else if (expr->kind == AST_CHOICE)
		strcat(out, "?");
	if (expr->kind == AST_DEREF)
		strcat(out, "*");
	else if (expr->kind == AST_INDEX)
		strcat(out, "[");
	else if (expr->operator)
		strcat(out, operator_text(expr->operator, text));
	if (expr->kind == AST_CAST) {
		print_type(&expr->cast, out);
		strcat(out, ":");
	}
	if (expr->right && !(expr->kind == AST_STEP && !expr->number))
		print(expr->right, out);
	if (expr->kind == AST_INDEX)
		strcat(out, "]");
	if (expr->third) {
		strcat(out, ":");
		print(expr->third, out);
	}
}

static void print(const struct ast_expr *expr, char *out)
{
	if (!expr->left && !expr->right) {
		print_leaf(expr, out);
		return;
	}
	strcat(out, "(");
	print_inner(expr, out);
	strcat(out, ")");
}

static void print_statements(const struct ast_statement *statement, char *out)
{
	static const char *const words[] = { "", "", "if ", "unroll ", "return" };
	char text[2] = "";

	for (; statement; statement = statement->next) {
		strcat(out, words[statement->kind]);
		if (statement->target) {
			print(statement->target, out);
			sprintf(out + strlen(out), " %s= ", statement->operator ?
				operator_text(statement->operator, text) : "");
		}
		if (statement->value)
			print(statement->value, out);
		if (statement->kind == AST_IF || statement->kind == AST_UNROLL) {
			strcat(out, " { ");
			print_statements(statement->body, out);
			strcat(out, "}");
		}
		if (statement->otherwise) {
			strcat(out, " else { ");
			print_statements(statement->otherwise, out);
			strcat(out, "}");
		}
		strcat(out, "; ");
	}
}

static int parse(const char *text, struct ast **ast, struct err *err)
{
	err->text[0] = '\0';
	return parser_parse(text, strlen(text), ast, err);
}

/* ---- expressions and statements ----------------------------------------------------------------- */

static void test_operators_bind_as_in_c(void **state)
{
	static const struct { int line; const char *text, *tree; } rows[] = {
		{ __LINE__, "1 + 2 * 3", "(1+(2*3))" },
		{ __LINE__, "1 - 2 - 3", "((1-2)-3)" },
		{ __LINE__, "a || b && c | d ^ e & f == g < h << i + j * -k",
			"(a||(b&&(c|(d^(e&(f==(g<(h<<(i+(j*(-k))))))))))" ")" },
		{ __LINE__, "a ? b : c ? d : e", "(a?b:(c?d:e))" },
		{ __LINE__, "!a == ~b", "((!a)==(~b))" },
		{ __LINE__, "- $ret", "(-$ret)" },
		{ __LINE__, "$a->b.c->d", "((($a->b).c)->d)" },
		{ __LINE__, "$a->b[1].c", "((($a->b)[1]).c)" },
		{ __LINE__, "*$p + 1", "((*$p)+1)" },
		{ __LINE__, "*($p + 1)", "(*($p+1))" },
		{ __LINE__, "args->fd + args.fd", "(args.fd+args.fd)" },
		{ __LINE__, "(int8)retval >= 1", "((i8:retval)>=1)" },
		{ __LINE__, "*(uint8 *)$p", "(*(u8*:$p))" },
		{ __LINE__, "((struct sock *)arg0)->sk", "((struct sock*:arg0)->sk)" },
		{ __LINE__, "(unsigned long long)x", "(u64:x)" },
		{ __LINE__, "(sigset_t *)x", "(sigset_t*:x)" },
		{ __LINE__, "(x) * y", "(x*y)" },
		{ __LINE__, "(x * y)", "(x*y)" },
		{ __LINE__, "(pid, comm, 3).1", "((pid,comm,3).1)" },
		{ __LINE__, "@m[(1, 2), tid]", "@m[(1,2),tid]" },
		{ __LINE__, "@[comm]", "@[comm]" },
		{ __LINE__, "@x++ + --$y", "((@x++)+(--$y))" },
		{ __LINE__, "str($1, 4)", "str($1,4)" },
		{ __LINE__, "ustack(5)", "ustack(5)" },
		{ __LINE__, "1_000 / 1e6", "(1000/1000000)" },
	};
	char text[512], out[1024];
	struct err err;
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "BEGIN { @z = %s; }", rows[i].text);
		if (parse(text, &ast, &err))
			fail_msg("line %d: %s", rows[i].line, err.text);
		out[0] = '\0';
		print(ast->rules->body->value, out);
		if (strcmp(out, rows[i].tree) != 0)
			fail_msg("line %d: %s", rows[i].line, out);
		ast_destroy(ast);
	}
}

static void test_statements(void **state)
{
	static const struct { int line; const char *text, *tree; } rows[] = {
		{ __LINE__, "", "" },
		{ __LINE__, ";;", "" },
		{ __LINE__, "@ = 1", "@ = 1; " },
		{ __LINE__, "@a += 1; $b <<= 2;", "@a += 1; $b <<= 2; " },
		{ __LINE__, "if (1) { @a = 1 } else if (2) { @b = 2 } @c = 3",
			"if 1 { @a = 1; } else { if 2 { @b = 2; }; }; @c = 3; " },
		{ __LINE__, "if (1) @a++; else exit()", "if 1 { (@a++); } else { exit(); }; " },
		{ __LINE__, "unroll(3) { printf(\"x\"); } return;",
			"unroll 3 { printf(\"x\"); }; return; " },
	};
	char text[512], out[1024];
	struct err err;
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "BEGIN {%s}", rows[i].text);
		if (parse(text, &ast, &err))
			fail_msg("line %d: %s", rows[i].line, err.text);
		out[0] = '\0';
		print_statements(ast->rules->body, out);
		if (strcmp(out, rows[i].tree) != 0)
			fail_msg("line %d: %s", rows[i].line, out);
		ast_destroy(ast);
	}
}

/* ---- rules -------------------------------------------------------------------------------------- */

static void test_a_filter_ends_before_the_block(void **state)
{
	static const struct { int line; const char *text, *tree; } rows[] = {
		{ __LINE__, "k:f /pid/ {}", "pid" },
		{ __LINE__, "k:f/pid/{}", "pid" },
		{ __LINE__, "k:f /pid / 2 == 1/\n\n{}", "((pid/2)==1)" },
		{ __LINE__, "k:f /@s[a]/ // x\n/* y */ {}", "@s[a]" },
	};
	char out[1024];
	struct err err;
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (parse(rows[i].text, &ast, &err))
			fail_msg("line %d: %s", rows[i].line, err.text);
		out[0] = '\0';
		print(ast->rules->filter, out);
		if (strcmp(out, rows[i].tree) != 0)
			fail_msg("line %d: %s", rows[i].line, out);
		ast_destroy(ast);
	}
}

static void test_probes_have_their_parts(void **state)
{
	static const struct {
		int line;
		const char *text;
		enum ast_probe_kind kind;
		const char *path, *system, *name;
		uint64_t offset, count, period_ns;
	} rows[] = {
		{ __LINE__, "BEGIN", PROBE_BEGIN, "", "", "", 0, 0, 0 },
		{ __LINE__, "t:sched:sched_*", PROBE_TRACEPOINT, "", "sched", "sched_*", 0, 0, 0 },
		{ __LINE__, "syscall:read:entry", PROBE_TRACEPOINT, "", "syscalls",
			"sys_enter_read", 0, 0, 0 },
		{ __LINE__, "syscall:*:return", PROBE_TRACEPOINT, "", "syscalls", "sys_exit_*", 0, 0, 0 },
		{ __LINE__, "rt:sched_switch", PROBE_RAWTRACEPOINT, "", "", "sched_switch", 0, 0, 0 },
		{ __LINE__, "k:f+0x10", PROBE_KPROBE, "", "", "f", 16, 0, 0 },
		{ __LINE__, "kprobe:f:return", PROBE_KRETPROBE, "", "", "f", 0, 0, 0 },
		{ __LINE__, "kprobe:f:entry", PROBE_KPROBE, "", "", "f", 0, 0, 0 },
		{ __LINE__, "kfunc:f", PROBE_FENTRY, "", "", "f", 0, 0, 0 },
		{ __LINE__, "fr:f", PROBE_FEXIT, "", "", "f", 0, 0, 0 },
		{ __LINE__, "u:/bin/bash:main+4", PROBE_UPROBE, "/bin/bash", "", "main", 4, 0, 0 },
		{ __LINE__, "uprobe:/bin/x:0x1234", PROBE_UPROBE, "/bin/x", "", "", 0x1234, 0, 0 },
		{ __LINE__, "ur:libc:malloc", PROBE_URETPROBE, "libc", "", "malloc", 0, 0, 0 },
		{ __LINE__, "u:\"/a b\":\"n::f(int)\"", PROBE_UPROBE, "/a b", "", "n::f(int)", 0, 0, 0 },
		{ __LINE__, "usdt:/bin/x:prov:name", PROBE_USDT, "/bin/x", "prov", "name", 0, 0, 0 },
		{ __LINE__, "U:/bin/x:name", PROBE_USDT, "/bin/x", "", "name", 0, 0, 0 },
		{ __LINE__, "event:app:start", PROBE_EVENT, "", "app", "start", 0, 0, 0 },
		{ __LINE__, "profile:hz:100", PROBE_PROFILE, "", "", "", 0, 0, 10000000 },
		{ __LINE__, "i:ms:5", PROBE_INTERVAL, "", "", "", 0, 0, 5000000 },
		{ __LINE__, "interval:s:1", PROBE_INTERVAL, "", "", "", 0, 0, 1000000000 },
		{ __LINE__, "software:page-faults:100", PROBE_PERF, "", "", "page-faults", 0, 100, 0 },
		{ __LINE__, "hardware:cycles:u:1000", PROBE_PERF, "", "", "cycles:u", 0, 1000, 0 },
	};
	char text[512];
	struct err err;
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct ast_probe *probe;

		snprintf(text, sizeof(text), "%s { }", rows[i].text);
		if (parse(text, &ast, &err))
			fail_msg("line %d: %s", rows[i].line, err.text);
		probe = ast->rules->probes;
		if (probe->kind != rows[i].kind || strcmp(probe->path, rows[i].path) != 0 ||
			strcmp(probe->system, rows[i].system) != 0 || strcmp(probe->name,
				rows[i].name) != 0 ||
			probe->offset != rows[i].offset || probe->count != rows[i].count ||
			probe->period_ns != rows[i].period_ns || strcmp(probe->text, rows[i].text) != 0)
			fail_msg("line %d: kind %d path %s system %s name %s", rows[i].line,
				probe->kind, probe->path,
				probe->system, probe->name);
		ast_destroy(ast);
	}
}

static void test_a_process_can_be_named_for_usdt(void **state)
{
	struct err err;
	struct ast *ast;

	(void)state;
	assert_int_equal(parse("usdt:1234:prov:name {}", &ast, &err), 0);
	assert_int_equal(ast->rules->probes->pid, 1234);
	ast_destroy(ast);
}

static void test_structs_and_rules_are_in_order(void **state)
{
	static const char text[] = "struct a { int x, *y; char n[16]; };\nunion b { struct a a; long l; };\n"
				   "BEGIN, END { }\nk:f { }";
	const struct ast_member *member;
	struct err err;
	struct ast *ast;

	(void)state;
	assert_int_equal(parse(text, &ast, &err), 0);
	assert_int_equal(ast->rule_count, 2);
	assert_int_equal(ast->rules->probes->next->kind, PROBE_END);
	assert_int_equal(ast->rules->next->place.line, 4);
	member = ast->structs->members;
	assert_string_equal(member->name, "x");
	assert_int_equal(member->next->type.kind, AST_POINTER);
	assert_int_equal(member->next->next->type.kind, AST_ARRAY);
	assert_int_equal(member->next->next->type.count, 16);
	assert_true(ast->structs->next->is_union);
	ast_destroy(ast);
}

/* ---- errors ------------------------------------------------------------------------------------- */

static void test_errors(void **state)
{
	static const struct { int line; const char *text; int ret; const char *message; } rows[] = {
		/* more text may make them right */
		{ __LINE__, "", -EAGAIN, "line 1, column 1: the text ends too early: a probe is missing" },
		{ __LINE__, "// nothing yet\n", -EAGAIN, "line 2, column 1: the text ends too early" },
		{ __LINE__, "kpro", -EAGAIN, "line 1, column 1: the text ends too early" },
		{ __LINE__, "kprobe:f", -EAGAIN, "line 1, column 9: the text ends too early: a '/'" },
		{ __LINE__, "kprobe:f,\n", -EAGAIN, "line 2, column 1: the text ends too early" },
		{ __LINE__, "kprobe:f /pid/\n", -EAGAIN, "line 2, column 1: the text ends too early" },
		{ __LINE__, "kprobe:f {\n", -EAGAIN,
			"line 2, column 1: the text ends too early: '}' is missing" },
		{ __LINE__, "kprobe:f { @x = 1 +", -EAGAIN, "line 1, column 20: the text ends too early" },
		{ __LINE__, "kprobe:f { @x", -EAGAIN, "line 1, column 14: the text ends too early" },
		{ __LINE__, "kprobe:f { foo", -EAGAIN, "line 1, column 15: the text ends too early" },
		{ __LINE__, "struct a { int x;", -EAGAIN, "line 1, column 18: the text ends too early" },
		{ __LINE__, "kprobe:f { @x = 1 <", -EAGAIN, "line 1, column 20: the text ends too early" },
		/* nothing does */
		{ __LINE__, "kprobe:f { @x = count( }", -EINVAL, "line 1, column 24: a value is missing" },
		{ __LINE__, "kpro:f { }", -EINVAL, "line 1, column 1: there is no kind of probes 'kpro'" },
		{ __LINE__, "kprobe { }", -EINVAL,
			"line 1, column 1: the probe is not of the form kprobe:FUNC" },
		{ __LINE__, "kprobe:f:x { }", -EINVAL,
			"line 1, column 1: the probe is not of the form kprobe:FUNC" },
		{ __LINE__, "fentry:f+8 { }", -EINVAL,
			"line 1, column 1: the probe is not of the form fentry:FUNC" },
		{ __LINE__, "kretprobe:f+8 { }", -EINVAL,
			"line 1, column 1: the probe is not of the form kretprobe:FUNC" },
		{ __LINE__, "uretprobe:/a:f+8 { }", -EINVAL,
			"line 1, column 1: the probe is not of the form uretprobe:PATH:FUNC" },
		{ __LINE__, "uretprobe:/a:0x10 { }", -EINVAL,
			"line 1, column 1: the probe is not of the form uretprobe:PATH:FUNC" },
		{ __LINE__, "t:a { }", -EINVAL,
			"line 1, column 1: the probe is not of the form tracepoint:" },
		{ __LINE__, "profile:hz:0 { }", -EINVAL,
			"line 1, column 1: the probe is not of the form profile:" },
		{ __LINE__, "i:us:1 { }", -EINVAL, "line 1, column 1: the period is not between" },
		{ __LINE__, "{ }", -EINVAL, "line 1, column 1: a probe is missing" },
		{ __LINE__, "BEGIN { } }", -EINVAL, "line 1, column 11: a probe is missing" },
		{ __LINE__, "BEGIN x", -EAGAIN, "line 1, column 7: the text ends too early: a '/' with" },
		{ __LINE__, "BEGIN x {", -EINVAL,
			"line 1, column 7: a '/' with a filter or a '{' is missing" },
		{ __LINE__, "BEGIN { 1 }", -EINVAL, "line 1, column 9: this does nothing" },
		{ __LINE__, "BEGIN { @x = 1 @y = 2 }", -EINVAL, "line 1, column 16: ';' is missing" },
		{ __LINE__, "BEGIN { @x = ; }", -EINVAL, "line 1, column 14: a value is missing" },
		{ __LINE__, "BEGIN { @x[] = 1 }", -EINVAL, "line 1, column 14: the key is missing" },
		{ __LINE__, "BEGIN { pid = 1 }", -EINVAL,
			"line 1, column 13: only maps (@x) and variables" },
		{ __LINE__, "BEGIN { pid++; }", -EINVAL,
			"line 1, column 12: only maps (@x) and variables" },
		{ __LINE__, "BEGIN { nothing(1); }", -EINVAL,
			"line 1, column 9: there is no function 'nothing'" },
		{ __LINE__, "BEGIN { @ = args; }", -EINVAL,
			"line 1, column 17: args is used as args.NAME" },
		{ __LINE__, "struct a { int x:3; };", -EOPNOTSUPP, "line 1, column 17: bit fields" },
		/* bpftrace has them */
		{ __LINE__, "BEGIN { for ($x : @m) { } }", -EOPNOTSUPP,
			"line 1, column 9: for loops are not supported" },
		{ __LINE__, "BEGIN { while (1) { } }", -EOPNOTSUPP,
			"line 1, column 9: while loops are not supported" },
		{ __LINE__, "BEGIN { system(\"ls\") }", -EOPNOTSUPP,
			"line 1, column 9: system() is not supported" },
		{ __LINE__, "BEGIN { @ = sarg0 }", -EOPNOTSUPP,
			"line 1, column 13: arguments on the stack" },
		{ __LINE__, "watchpoint:1:8:w { }", -EOPNOTSUPP, "line 1, column 1: watchpoint probes" },
		{ __LINE__, "config = { }", -EOPNOTSUPP,
			"line 1, column 1: config blocks are not supported" },
	};
	struct err err;
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int ret = parse(rows[i].text, &ast, &err);

		if (ret != rows[i].ret || strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0)
			fail_msg("line %d: %d \"%s\"", rows[i].line, ret, err.text);
	}
}

/* A text that `part` repeats between a beginning and an end. */
static int parse_repeated(const char *before, const char *part, unsigned int times, const char *behind)
{
	size_t length = strlen(before) + strlen(part) * times + strlen(behind);
	char *text = calloc(1, length + 1);
	struct ast *ast;
	struct err err = { "" };
	int ret;

	strcpy(text, before);
	for (unsigned int i = 0; i < times; i++)
		strcpy(text + strlen(before) + strlen(part) * i, part);
	strcat(text, behind);
	ret = parser_parse(text, length, &ast, &err);
	free(text);
	if (!ret)
		ast_destroy(ast);
	return ret;
}

static void test_depth_and_sizes_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(parse_repeated("BEGIN{@=", "(", 20, "1"), -EAGAIN);
	assert_int_equal(parse_repeated("BEGIN{@=", "(", 30000, "1"), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{@=", "-", 30000, "1}"), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{@=1", "+1", 60, "}"), 0);
	assert_int_equal(parse_repeated("BEGIN{@=1", "+1", 30000, "}"), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{@=$a", "->b", 10000, "}"), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{@=1", "?1:1", 10000, "}"), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{", "if(1){", 10000, "}"), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{@[1", ",1", 30, "]=1}"), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{printf(\"\"", ",1", 40, ")}"), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{@=\"", "x", 2000, "\"}"), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{}", "#", 70000, ""), -E2BIG);
	assert_int_equal(parse_repeated("BEGIN{", "$a=1;", 10000, "}"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operators_bind_as_in_c),
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_a_filter_ends_before_the_block),
		cmocka_unit_test(test_probes_have_their_parts),
		cmocka_unit_test(test_a_process_can_be_named_for_usdt),
		cmocka_unit_test(test_structs_and_rules_are_in_order),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_depth_and_sizes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
