/* SPDX-License-Identifier: MIT */
/* probes/check: units, types and what is refused, with the kernel of probes_fixture.h. */
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

#include "probes/check.h"
#include "probes/parser.h"
#include "probes/tables.h"
#include "tests/unit/probes_fixture.h"

static struct probes_fixture fixture;

static int check_with(const struct check_options *options, const char *text, struct ast **ast,
	struct err *err)
{
	int ret;

	err->text[0] = '\0';
	*ast = NULL;
	ret = parser_parse(text, strlen(text), ast, err);
	if (!ret)
		ret = check_program(*ast, options, err);
	if (ret) {
		ast_destroy(*ast);
		*ast = NULL;
	}
	return ret;
}

static int check(const char *text, struct ast **ast, struct err *err)
{
	const struct check_options options = { .targets = fixture.targets };

	return check_with(&options, text, ast, err);
}

/* "i32", "u64", "string16", "user pointer", ... */
static const char *type_text(const struct ast_type *type, char *text)
{
	static const char *const words[] = { "none", "", "string", "pointer", "struct", "array",
		"tuple", "kstack",
		"ustack", "ksym", "usym", "inet", "buffer", "timestamp", "probe", "username", "aggregate" };
	const char *user = type->is_user ? "user " : "";

	if (type->kind == AST_INTEGER)
		sprintf(text, "%s%c%u", user, type->is_signed ? 'i' : 'u', type->bytes * 8);
	else if (type->kind == AST_POINTER)
		sprintf(text, "%spointer", user);
	else if (type->kind == AST_KSTACK || type->kind == AST_USTACK || type->kind == AST_TUPLE)
		sprintf(text, "%s%u", words[type->kind], type->count);
	else
		sprintf(text, "%s%s%u", user, words[type->kind], type->bytes);
	return text;
}

/* ---- types -------------------------------------------------------------------------------------- */

static void test_expressions_have_types(void **state)
{
	static const struct { int line; const char *probe, *text, *type; } rows[] = {
		{ __LINE__, "BEGIN", "1", "i64" },
		{ __LINE__, "BEGIN", "0xffffffffffffffff", "u64" },
		{ __LINE__, "BEGIN", "-1", "i64" },
		{ __LINE__, "BEGIN", "pid", "u64" },
		{ __LINE__, "BEGIN", "pid + 1", "u64" },
		{ __LINE__, "BEGIN", "nsecs - pid", "i64" },
		{ __LINE__, "BEGIN", "pid + -1", "i64" },
		{ __LINE__, "BEGIN", "pid == 1 && cpu", "i64" },
		{ __LINE__, "BEGIN", "comm", "string16" },
		{ __LINE__, "BEGIN", "\"abc\"", "string4" },
		{ __LINE__, "BEGIN", "pid ? comm : \"a long text of 26 bytes...\"", "string27" },
		{ __LINE__, "BEGIN", "(uint8)pid", "u8" },
		{ __LINE__, "BEGIN", "(pid, comm, (1, 2))", "tuple3" },
		{ __LINE__, "BEGIN", "(pid, comm).1", "string16" },
		{ __LINE__, "BEGIN", "probe", "probe8" },
		{ __LINE__, "BEGIN", "username", "username8" },
		{ __LINE__, "BEGIN", "ST_ONE", "i64" },
		{ __LINE__, "BEGIN", "AF_INET", "i64" },
		{ __LINE__, "BEGIN", "curtask", "pointer" },
		{ __LINE__, "BEGIN", "curtask->pid", "i32" },
		{ __LINE__, "BEGIN", "curtask->parent->parent->comm", "string16" },
		{ __LINE__, "BEGIN", "curtask->in.name", "string8" },
		{ __LINE__, "BEGIN", "curtask->arr[2]", "i32" },
		{ __LINE__, "BEGIN", "curtask->comm[0]", "i8" },
		{ __LINE__, "BEGIN", "curtask->flag", "u32" },
		{ __LINE__, "BEGIN", "curtask->parent + 1", "pointer" },
		{ __LINE__, "BEGIN", "*kaddr(\"avenrun\")", "u64" },
		{ __LINE__, "BEGIN", "str(curtask->data)", "string200" },
		{ __LINE__, "BEGIN", "str(curtask->data, 15)", "string16" },
		{ __LINE__, "BEGIN", "str(comm)", "string16" },
		{ __LINE__, "BEGIN", "buf(curtask->arr)", "buffer12" },
		{ __LINE__, "BEGIN", "buf(curtask->data, 40)", "buffer40" },
		{ __LINE__, "BEGIN", "ntop(((struct sock *)curtask->data)->addr)", "inet4" },
		{ __LINE__, "BEGIN", "ntop(((struct sock *)curtask->data)->v6)", "inet16" },
		{ __LINE__, "BEGIN", "ntop(AF_INET6, ((struct sock *)curtask->data)->v6)", "inet16" },
		{ __LINE__, "BEGIN", "bswap(((struct sock *)curtask->data)->family)", "u16" },
		{ __LINE__, "k:vfs_read", "arg0", "u64" },
		{ __LINE__, "k:vfs_read", "args.task", "pointer" },
		{ __LINE__, "k:vfs_read", "args.flags", "i32" },
		{ __LINE__, "k:vfs_read", "args.task->parent->pid", "i32" },
		{ __LINE__, "k:vfs_read", "((struct task_struct *)arg0)->utime", "i64" },
		{ __LINE__, "k:vfs_read", "func", "ksym8" },
		{ __LINE__, "k:vfs_read", "kstack", "kstack127" },
		{ __LINE__, "k:vfs_read", "kstack(5)", "kstack5" },
		{ __LINE__, "k:vfs_read", "ustack(3)", "ustack3" },
		{ __LINE__, "fr:vfs_write", "retval", "i32" },
		{ __LINE__, "fr:get_sock", "retval->family", "u16" },
		{ __LINE__, "kr:vfs_read", "retval", "i64" },
		{ __LINE__, "kr:vfs_write", "retval", "i32" },
		{ __LINE__, "kr:vfs_read, kr:get_sock", "(uint8)pid", "u8" },
		{ __LINE__, "rt:my_switch", "args.n->pid", "i32" },
		{ __LINE__, "t:sched:sched_switch", "args->prev_comm", "string16" },
		{ __LINE__, "t:sched:sched_switch", "args.prev_pid", "i32" },
		{ __LINE__, "t:sched:sched_switch", "args.what", "string200" },
		{ __LINE__, "t:sched:sched_switch", "args.where", "string200" },
		{ __LINE__, "t:sched:sched_switch", "args.sk->addr", "u32" },
		{ __LINE__, "t:sched:sched_switch", "ntop(args.saddr)", "inet4" },
		{ __LINE__, "t:sched:sched_switch", "args.saddr[3]", "u8" },
		{ __LINE__, "t:sched:sched_switch", "args.port", "u16" },
		{ __LINE__, "syscall:open:entry", "args.filename", "user pointer" },
		{ __LINE__, "syscall:open:entry", "args.flags", "i32" }, /* 4 of the 8 bytes */
		{ __LINE__, "syscall:open:entry", "arg1", "user u64" },
		{ __LINE__, "syscall:open:return", "retval", "i64" },
		{ __LINE__, "syscall:open:return", "args.ret", "i64" },
		{ __LINE__, "u:/bin/sh:main", "arg0", "user u64" },
		{ __LINE__, "u:/bin/sh:main", "func", "usym16" },
		{ __LINE__, "u:/bin/sh:main", "((struct task_struct *)arg0)->parent", "user pointer" },
		{ __LINE__, "u:/bin/sh:main", "reg(\"ip\")", "u64" },
	};
	char text[512], type[64];
	struct err err;
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "%s { @z = %s; }", rows[i].probe, rows[i].text);
		if (check(text, &ast, &err))
			fail_msg("line %d: %s", rows[i].line, err.text);
		type_text(&ast->units->body->value->type, type);
		if (strcmp(type, rows[i].type) != 0)
			fail_msg("line %d: %s", rows[i].line, type);
		ast_destroy(ast);
	}
}

static const struct ast_expr *value_of(const char *text, struct ast **ast)
{
	struct err err;

	if (check(text, ast, &err))
		fail_msg("%s: %s", text, err.text);
	return (*ast)->units->body->value;
}

static void test_fields_and_arguments_have_places(void **state)
{
	const struct ast_expr *expr;
	struct ast *ast;

	(void)state;
	expr = value_of("BEGIN { @ = curtask->in.name; }", &ast);
	assert_int_equal(expr->field.offset, 4); /* in inner */
	assert_int_equal(expr->left->field.offset, 32);
	ast_destroy(ast);
	expr = value_of("BEGIN { @ = curtask->flag; }", &ast);
	assert_int_equal(expr->field.offset, 56);
	assert_int_equal(expr->field.bits, 3);
	assert_int_equal(expr->field.bit_shift, 5);
	ast_destroy(ast);
	expr = value_of("t:sched:sched_switch { @ = args.what; }", &ast);
	assert_int_equal(expr->argument.source, AST_FROM_LOCATION);
	assert_int_equal(expr->argument.offset, 28);
	ast_destroy(ast);
	expr = value_of("t:sched:sched_switch { @ = args.where; }", &ast);
	assert_int_equal(expr->argument.source, AST_FROM_RELATIVE);
	ast_destroy(ast);
	expr = value_of("syscall:open:entry { @ = arg1; }", &ast);
	assert_int_equal(expr->argument.source, AST_FROM_CONTEXT);
	assert_int_equal(expr->argument.offset, 24);
	ast_destroy(ast);
	expr = value_of("f:vfs_read { @ = args.n; }", &ast);
	assert_int_equal(expr->argument.source, AST_FROM_PARAM);
	assert_int_equal(expr->argument.offset, 2);
	ast_destroy(ast);
}

/* C's layout: x at 0, p at 8, n at 16 (5 bytes), s at 24 (2 bytes), 32 in all; the second one at 32. */
static void test_structs_of_the_text_are_laid_out_as_in_c(void **state)
{
	static const char text[] = "struct a { int x; char *p; char n[5]; short s; };\n"
		"struct b { char c; struct a in; struct b *next; };\n"
		"BEGIN { @ = ((struct b *)arg)->next->in.s; }";
	char program[512];
	const struct ast_expr *expr;
	struct ast *ast;

	(void)state;
	snprintf(program, sizeof(program), "%.*s curtask%s", (int)(strstr(text, "arg)") - text), text,
		strstr(text, "arg)") + 3);
	expr = value_of(program, &ast);
	assert_int_equal(expr->field.offset, 22);
	assert_int_equal(expr->type.bytes, 2);
	assert_int_equal(expr->left->field.offset, 8);
	assert_int_equal(expr->left->left->field.offset, 32);
	assert_int_equal(ast->structs->bytes, 24);
	assert_int_equal(ast->structs->next->bytes, 40);
	ast_destroy(ast);
}

static void test_numbers_are_computed_and_pointers_scaled(void **state)
{
	static const struct { int line; const char *text; int64_t number; } rows[] = {
		{ __LINE__, "(1 << 11) - 1", 2047 },
		{ __LINE__, "-3 * 4", -12 },
		{ __LINE__, "~0", -1 },
		{ __LINE__, "-5 + 2", -3 },
		{ __LINE__, "-8 & -4", -8 },
		{ __LINE__, "-1 << 2", -4 },
		{ __LINE__, "1e6 / 1_000", 1000 },
		{ __LINE__, "ST_NEG", -1 },
		{ __LINE__, "$1 + $#", 44 },
		{ __LINE__, "cpid", 77 },
		{ __LINE__, "SIGKILL", 9 },
	};
	static const char *const args[] = { "0x2a", "word", NULL };
	const struct check_options options = { .targets = fixture.targets, .args = args, .child = 77 };
	char text[256];
	struct err err;
	struct ast *ast;
	const struct ast_expr *expr;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "BEGIN { @ = %s; }", rows[i].text);
		if (check_with(&options, text, &ast, &err))
			fail_msg("line %d: %s", rows[i].line, err.text);
		expr = ast->units->body->value;
		if (expr->kind != AST_NUMBER || (int64_t)expr->number != rows[i].number ||
			!expr->type.is_signed)
			fail_msg("line %d: kind %d, %" PRId64, rows[i].line, expr->kind,
				(int64_t)expr->number);
		ast_destroy(ast);
	}
	assert_int_equal(check_with(&options, "BEGIN { @ = str($2); @b = str($3); }", &ast, &err), 0);
	assert_string_equal(ast->units->body->value->text, "word");
	assert_string_equal(ast->units->body->next->value->text, "");
	ast_destroy(ast);
	expr = value_of("BEGIN { @ = curtask + cpu; }", &ast);
	assert_int_equal(expr->right->kind, AST_BINARY);
	assert_int_equal(expr->right->operator, '*');
	assert_int_equal(expr->right->right->number, 80);
	ast_destroy(ast);
}

static void test_signs_follow_the_operands(void **state)
{
	static const struct { int line; const char *text; bool is_signed; } rows[] = {
		{ __LINE__, "pid < 5", false }, { __LINE__, "5 < pid", false }, { __LINE__,
			"pid < -5", true },
		{ __LINE__, "curtask->pid < 5", true }, { __LINE__, "curtask->pid < pid", true },
		{ __LINE__, "nsecs / 1000", false }, { __LINE__, "(nsecs - pid) / 1000", true },
		{ __LINE__, "1 < 2", true },
	};
	char text[256];
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "BEGIN { @ = %s; }", rows[i].text);
		if (value_of(text, &ast)->compares_signed != rows[i].is_signed)
			fail_msg("line %d", rows[i].line);
		ast_destroy(ast);
	}
}

/* ---- units -------------------------------------------------------------------------------------- */

static void test_probes_become_units(void **state)
{
	static const struct { int line; const char *text; uint32_t units, targets, first,
		warnings; } rows[] = {
		{ __LINE__, "BEGIN, END { @ = 1 }", 2, 2, 1, 0 },
		{ __LINE__, "k:vfs_* { @[func] = count() }", 1, 3, 3, 0 },
		{ __LINE__, "k:vfs_*, kr:vfs_read { @[func] = count() }", 2, 4, 3, 0 },
		{ __LINE__, "f:vfs_* { @[func] = count() }", 1, 2, 2, 0 }, /* with types */
		{ __LINE__, "k:vfs_read, k:vfs_write { @ = args.flags }", 2, 2, 1, 0 },
		{ __LINE__, "fr:vfs_read, fr:vfs_write { @ = retval }", 2, 2, 1, 0 },
		{ __LINE__, "k:vfs_read, k:gone, k:gone* { @ = 1 }", 1, 1, 1, 2 },
		{ __LINE__, "t:syscalls:sys_enter_open* { @ = 1 }", 1, 2, 2, 0 },
		{ __LINE__, "syscall:*:entry { @ = args.filename }", 2, 2, 1, 0 },
		{ __LINE__, "t:*:sched_* { @ = 1 }", 1, 1, 1, 0 },
		{ __LINE__, "k:ext_sync { @ = 1 }", 1, 1, 1, 0 },
		{ __LINE__, "rt:my_* { @ = 1 }", 1, 1, 1, 0 },
		{ __LINE__, "k:vfs_????? { @ = 1 }", 1, 1, 1, 0 },
	};
	uint32_t warnings;
	struct err err;
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (check(rows[i].text, &ast, &err))
			fail_msg("line %d: %s", rows[i].line, err.text);
		warnings = 0;
		for (const struct ast_warning *warning = ast->warnings; warning; warning = warning->next)
			warnings++;
		if (ast->unit_count != rows[i].units || ast->target_count != rows[i].targets ||
			ast->units->target_count != rows[i].first || warnings != rows[i].warnings)
			fail_msg("line %d: %u units, %u targets, %u in the first, %u warnings",
				rows[i].line,
				ast->unit_count, ast->target_count, ast->units->target_count, warnings);
		ast_destroy(ast);
	}
}

static void test_each_unit_has_its_own_offsets(void **state)
{
	struct ast *ast;
	const struct ast_unit *unit;

	(void)state;
	value_of("syscall:open:entry, syscall:openat:entry { @ = args.filename; $x = 1 }", &ast);
	unit = ast->units;
	assert_string_equal(unit->targets->text, "syscall:open:entry");
	assert_int_equal(unit->body->value->argument.offset, 16);
	assert_string_equal(unit->next->targets->name, "sys_enter_openat");
	assert_int_equal(unit->next->body->value->argument.offset, 24);
	assert_ptr_not_equal(unit->locals, unit->next->locals);
	assert_ptr_equal(unit->body->target->map, unit->next->body->target->map);
	ast_destroy(ast);
	value_of("k:vfs_* { @[probe] = count(); }", &ast);
	assert_string_equal(ast->units->targets->text, "kprobe:vfs_read");
	assert_int_equal(ast->units->targets->next->number, 1);
	ast_destroy(ast);
	/* one function at two places, and a third time at one of them */
	value_of("k:vfs_read, k:vfs_read+8, k:vfs_read { @[probe] = count(); }", &ast);
	assert_int_equal(ast->units->targets->next->probe->offset, 8);
	assert_null(ast->units->targets->next->next);
	ast_destroy(ast);
}

/* ---- maps and variables ------------------------------------------------------------------------- */

static void test_maps_have_keys_and_values(void **state)
{
	static const struct { int line; const char *text; enum ast_value_kind kind; const char *key,
		*value; } rows[] = {
		{ __LINE__, "BEGIN { @m[pid] = count() }", AST_COUNT, "u64", "none0" },
		{ __LINE__, "BEGIN { @m[comm] = hist(cpu, 2) }", AST_HIST, "string16", "u64" },
		{ __LINE__, "BEGIN { @m[1] = sum(-1) }", AST_SUM, "u64", "i64" },
		{ __LINE__, "BEGIN { @m[-1] = 1; @m[pid] = 2; }", AST_PLAIN, "i64", "u64" },
		{ __LINE__, "BEGIN { @m[\"ab\"] = 1; @m[comm] = -2; }", AST_PLAIN, "string16", "i64" },
		{ __LINE__, "BEGIN { @m[1] = 0xffffffff00000000; @m[1] >>= 32; }", AST_PLAIN, "u64", "u64" },
		{ __LINE__, "BEGIN { @m[1] = 1; @m[1] -= 2; }", AST_PLAIN, "u64", "i64" },
		{ __LINE__, "BEGIN { @m[curtask] = curtask }", AST_PLAIN, "u64", "pointer" },
		{ __LINE__, "BEGIN { @m[kstack] = 1 } k:vfs_read { }", AST_PLAIN, NULL, NULL },
		{ __LINE__, "k:vfs_read { @m[kstack(3)]++ }", AST_PLAIN, "kstack3", "i64" },
		{ __LINE__, "BEGIN { @m[(1, comm)] = lhist(cpu, 0, 10, 2) }", AST_LHIST, "tuple2", "u64" },
		{ __LINE__, "END /@m[1] == 2/ { $x = @m[2]; @y = $x; } BEGIN { @m[pid] = nsecs }",
			AST_PLAIN, "u64", "u64" },
	};
	char type[64];
	struct err err;
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int ret = check(rows[i].text, &ast, &err);

		if (!rows[i].key) { /* BEGIN has no stack */
			assert_int_equal(ret, -EINVAL);
			continue;
		}
		if (ret)
			fail_msg("line %d: %s", rows[i].line, err.text);
		if (ast->maps->value_kind != rows[i].kind || ast->maps->key_count != 1 ||
			strcmp(type_text(&ast->maps->keys[0], type), rows[i].key) != 0)
			fail_msg("line %d: kind %d, key %s", rows[i].line, ast->maps->value_kind,
				type_text(&ast->maps->keys[0], type));
		if (strcmp(type_text(&ast->maps->value, type), rows[i].value) != 0)
			fail_msg("line %d: value %s", rows[i].line, type);
		ast_destroy(ast);
	}
}

static void test_variables_have_types_and_numbers(void **state)
{
	struct ast *ast;
	char type[64];

	(void)state;
	value_of("BEGIN { $a = ((struct sock *)curtask->data)->family; $a = bswap($a); $b = "
		"comm; $c = curtask; "
		 "@ = $c->pid; $d = ntop(0); $d = ntop(((struct sock *)curtask->data)->v6); }", &ast);
	assert_int_equal(ast->units->local_count, 4);
	assert_string_equal(type_text(&ast->units->locals->type, type), "u16");
	assert_string_equal(type_text(&ast->units->locals->next->type, type), "string16");
	assert_int_equal(ast->units->locals->next->number, 1);
	assert_string_equal(type_text(&ast->units->locals->next->next->type, type), "pointer");
	assert_string_equal(type_text(&ast->units->locals->next->next->next->type, type), "inet16");
	ast_destroy(ast);
}

/* ---- refused ------------------------------------------------------------------------------------ */

static void test_errors(void **state)
{
	static const struct { int line; const char *text; int ret; const char *message; } rows[] = {
		{ __LINE__, "BEGIN { @ = nothing }", -EINVAL,
			"line 1, column 13: there is no built-in or constant" },
		{ __LINE__, "BEGIN { @ = @x }", -EINVAL, "line 1, column 13: @x is never assigned" },
		{ __LINE__, "BEGIN { print(@x) }", -EINVAL, "line 1, column 15: @x is never assigned" },
		{ __LINE__, "BEGIN { delete(@x[1]) }", -EINVAL, "line 1, column 16: @x is never assigned" },
		{ __LINE__, "BEGIN { @ = $x }", -EINVAL, "line 1, column 13: $x is never assigned" },
		{ __LINE__, "BEGIN { @x[1] = 1; @x = 2 }", -EINVAL,
			"line 1, column 20: @x has 1 keys elsewhere, and 0 here" },
		{ __LINE__, "BEGIN { @x[1] = 1; @x[comm] = 2 }", -EINVAL,
			"line 1, column 23: a key of @x is an integer" },
		{ __LINE__, "BEGIN { @x = 1; @x = comm }", -EINVAL,
			"line 1, column 17: @x is an integer elsewhere, and a string" },
		{ __LINE__, "BEGIN { @x = 1; @x = count() }", -EINVAL,
			"line 1, column 17: @x is assigned something else" },
		{ __LINE__, "BEGIN { @x = count(); @x = 1 }", -EINVAL,
			"line 1, column 23: @x is an aggregation elsewhere" },
		{ __LINE__, "BEGIN { @x = count(); @x++ }", -EINVAL,
			"line 1, column 23: @x is an aggregation elsewhere" },
		{ __LINE__, "BEGIN { @x = count(); @y = @x }", -EINVAL,
			"line 1, column 28: @x is an aggregation, which can" },
		{ __LINE__, "BEGIN { @x = lhist(1, 0, 5, 1); @x = lhist(1, 0, 6, 1) }", -EINVAL,
			"line 1, column 33: @x is assi" },
		{ __LINE__, "BEGIN { $x = count() }", -EINVAL,
			"line 1, column 9: count() can only be assigned to a map" },
		{ __LINE__, "BEGIN { @x = 1 + count() }", -EINVAL,
			"line 1, column 18: count() can only be assigned" },
		{ __LINE__, "BEGIN { count() }", -EINVAL,
			"line 1, column 9: count() can only be assigned to a map" },
		{ __LINE__, "BEGIN { @x = printf(\"\") }", -EINVAL,
			"line 1, column 14: printf() gives no value" },
		{ __LINE__, "BEGIN { str(1) }", -EINVAL,
			"line 1, column 9: this does nothing with its value" },
		{ __LINE__, "BEGIN { @x = retval }", -EINVAL,
			"line 1, column 14: BEGIN probes have no 'retval'" },
		{ __LINE__, "BEGIN { @x = arg0 + arg12 }", -EINVAL,
			"line 1, column 14: BEGIN probes have no 'arg0'" },
		{ __LINE__, "BEGIN { @x = kstack }", -EINVAL,
			"line 1, column 14: BEGIN probes have no 'kstack'" },
		{ __LINE__, "k:vfs_read { @x = args.gone }", -EINVAL,
			"line 1, column 19: vfs_read has no argument 'gone'" },
		{ __LINE__, "t:sched:sched_switch { @x = args.prev_pit }", -EINVAL,
			"line 1, column 29: sched:sched_switch has no field 'prev_pit'; "
			"nearest: prev_pid" },
		{ __LINE__, "t:sched:sched_switch { @x = arg0 }", -EINVAL,
			"line 1, column 29: a tracepoint's arguments are" },
		{ __LINE__, "t:sched:sched_switch { @x = retval }", -EINVAL,
			"line 1, column 29: a tracepoint has no retval" },
		{ __LINE__, "fr:do_nothing { @x = retval }", -EINVAL,
			"line 1, column 22: do_nothing returns nothing" },
		{ __LINE__, "k:vfs_reed { }", -ENOENT,
			"line 1, column 1: this kernel has no k:vfs_reed; nearest: vfs_read" },
		{ __LINE__, "f:vfs_static.constprop.0 { }", -ENOENT,
			"line 1, column 1: this kernel has no f:vfs_static" },
		{ __LINE__, "t:sched:sched_swich { }", -ENOENT,
			"line 1, column 1: this kernel has no t:sched:sched_swich; nea" },
		{ __LINE__, "k:gone* { }", -ENOENT,
			"line 1, column 1: nothing in this kernel matches k:gone*" },
		{ __LINE__, "BEGIN { @x = curtask->gone }", -EINVAL,
			"line 1, column 21: 'task_struct' of this kernel has no" },
		{ __LINE__, "BEGIN { @x = curtask.pid }", -EINVAL,
			"line 1, column 21: this is a pointer: use ->" },
		{ __LINE__, "BEGIN { @x = curtask->in->a }", -EINVAL,
			"line 1, column 25: this is a struct: use '.'" },
		{ __LINE__, "k:vfs_read { @x = arg0->pid }", -EINVAL,
			"line 1, column 23: this is no struct: cast it" },
		{ __LINE__, "k:vfs_read { @x = ((struct gone *)arg0)->pid }", -EINVAL,
			"line 1, column 20: the kernel has no type" },
		{ __LINE__, "BEGIN { @x = curtask->in }", -EINVAL,
			"line 1, column 9: a struct can't be stored in a map" },
		{ __LINE__, "BEGIN { @x = curtask->arr }", -EINVAL,
			"line 1, column 9: an array can't be stored in a map" },
		{ __LINE__, "BEGIN { @x = curtask->arr[3] }", -EINVAL,
			"line 1, column 27: the array has 3 items" },
		{ __LINE__, "BEGIN { @x = *curtask->data }", -EINVAL,
			"line 1, column 14: what this points to has no size" },
		{ __LINE__, "BEGIN { @x = comm + 1 }", -EINVAL,
			"line 1, column 19: this can't be done with a string and an" },
		{ __LINE__, "BEGIN { @x = comm < \"a\" }", -EINVAL,
			"line 1, column 19: strings can be compared by" },
		{ __LINE__, "BEGIN /comm/ { }", -EINVAL,
			"line 1, column 8: a string is neither true nor false" },
		{ __LINE__, "BEGIN { @x = pid ? 1 : comm }", -EINVAL,
			"line 1, column 18: the two sides are an integer and a" },
		{ __LINE__, "BEGIN { @x = pid / 0 }", -EINVAL, "line 1, column 18: this divides by 0" },
		{ __LINE__, "BEGIN { @x = (1, 2).2 }", -EINVAL,
			"line 1, column 20: the tuple has 2 values" },
		{ __LINE__, "BEGIN { printf(\"%d\", comm) }", -EINVAL,
			"line 1, column 22: a string can't be printed with '%d'" },
		{ __LINE__, "BEGIN { printf(\"%s\", pid) }", -EINVAL,
			"line 1, column 22: an integer can't be printed with '%s': str() reads a string" },
		{ __LINE__, "BEGIN { printf(\"%d\") }", -EINVAL,
			"line 1, column 9: the value for '%d' is missing" },
		{ __LINE__, "BEGIN { printf(\"%%\", 1) }", -EINVAL,
			"line 1, column 22: the format has no conversion for this" },
		{ __LINE__, "BEGIN { printf(\"%f\", 1) }", -EINVAL,
			"line 1, column 16: the format has no conversion '%'" },
		{ __LINE__, "BEGIN { printf(comm) }", -EINVAL,
			"line 1, column 16: the format must be a string in quotes" },
		{ __LINE__, "BEGIN { @ = hist(comm) }", -EINVAL,
			"line 1, column 18: hist(x[, bits]) takes an integer here" },
		{ __LINE__, "BEGIN { @ = hist(1, 6) }", -EINVAL,
			"line 1, column 13: hist(x, bits) takes 0 to 5 bits" },
		{ __LINE__, "BEGIN { @ = lhist(1, 5, 5, 1) }", -EINVAL,
			"line 1, column 13: lhist(x, low, high, step) needs" },
		{ __LINE__, "BEGIN { @ = lhist(1, 0, 1e6, 1) }", -EINVAL,
			"line 1, column 13: lhist() would have more than" },
		{ __LINE__, "BEGIN { @ = lhist(1, 0, pid, 1) }", -EINVAL,
			"line 1, column 25: this must be a number" },
		{ __LINE__, "BEGIN { @ = sum() }", -EINVAL,
			"line 1, column 13: a value is missing: sum(x)" },
		{ __LINE__, "BEGIN { @ = count(1) }", -EINVAL,
			"line 1, column 19: there are too many values: count()" },
		{ __LINE__, "BEGIN { clear(1) }", -EINVAL,
			"line 1, column 15: clear(@m) takes a map without keys" },
		{ __LINE__, "BEGIN { @x[1] = 1; clear(@x[1]) }", -EINVAL,
			"line 1, column 26: clear(@m) takes a map without keys" },
		{ __LINE__, "BEGIN { unroll(pid) { } }", -EINVAL,
			"line 1, column 16: this must be a number" },
		{ __LINE__, "BEGIN { unroll(101) { } }", -EINVAL,
			"line 1, column 16: unroll takes 1 to 100" },
		{ __LINE__, "BEGIN { @ = cpid }", -EINVAL, "line 1, column 13: cpid is the process of -c" },
		{ __LINE__, "BEGIN { @ = reg(\"ip\") }", -EINVAL,
			"line 1, column 13: reg(name) can't be used in BEGIN probes" },
		{ __LINE__, "BEGIN { @ = kstack(perf) }", -EOPNOTSUPP,
			"line 1, column 13: modes of stacks are not supported" },
		{ __LINE__, "BEGIN { @ = pid(1) }", -EOPNOTSUPP,
			"line 1, column 13: pid() is not supported" },
		{ __LINE__, "struct a { struct gone x; }; BEGIN { }", -EINVAL,
			"line 1, column 8: the kernel has no type 'gone'" },
		{ __LINE__, "struct a { int x; }; struct a { int x; }; BEGIN { }", -EINVAL,
			"line 1, column 29: 'struct a' is" },
		{ __LINE__, "struct a { struct a x; }; BEGIN { }", -EINVAL,
			"line 1, column 8: the size of 'x' in 'struct a'" },
	};
	struct err err;
	struct ast *ast;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int ret = check(rows[i].text, &ast, &err);

		if (ret != rows[i].ret || strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0)
			fail_msg("line %d: %d \"%s\"", rows[i].line, ret, err.text);
	}
}

static void test_without_types_and_tracepoints_the_rest_works(void **state)
{
	const struct targets_paths paths = { "/dev/null", "/nonexistent" };
	struct check_options options = { .targets = NULL };
	struct targets *targets;
	struct err err;
	struct ast *ast;

	(void)state;
	assert_int_equal(targets_open(&paths, &targets, &err), 0);
	options.targets = targets;
	assert_int_equal(check_with(&options, "profile:hz:99 { @[comm] = count() }", &ast, &err), 0);
	ast_destroy(ast);
	assert_int_equal(check_with(&options, "BEGIN { @ = ((struct sock *)curtask)->a }", &ast,
		&err), -EOPNOTSUPP);
	assert_int_equal(check_with(&options, "BEGIN { @ = curtask->pid }", &ast, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "line 1, column 20: what this points to is not known"));
	assert_int_equal(check_with(&options, "k:vfs_read { }", &ast, &err), -ENOENT);
	assert_non_null(strstr(err.text, "kprobe probes can't be found on this machine"));
	assert_int_equal(check_with(&options, "t:a:b { }", &ast, &err), -ENOENT);
	targets_close(targets);
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
		cmocka_unit_test(test_expressions_have_types),
		cmocka_unit_test(test_fields_and_arguments_have_places),
		cmocka_unit_test(test_structs_of_the_text_are_laid_out_as_in_c),
		cmocka_unit_test(test_numbers_are_computed_and_pointers_scaled),
		cmocka_unit_test(test_signs_follow_the_operands),
		cmocka_unit_test(test_probes_become_units),
		cmocka_unit_test(test_each_unit_has_its_own_offsets),
		cmocka_unit_test(test_maps_have_keys_and_values),
		cmocka_unit_test(test_variables_have_types_and_numbers),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_without_types_and_tracepoints_the_rest_works),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
