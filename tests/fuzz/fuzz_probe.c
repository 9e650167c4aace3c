/* SPDX-License-Identifier: MIT */
/*
 * probes/parser and probes/check with texts that anyone may have written: they return, with a sentence
 * where they refuse, and what is accepted has types everywhere.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/check.h"
#include "probes/parser.h"
#include "probes/tables.h"
#include "tests/unit/probes_fixture.h"

static struct probes_fixture fixture;

static void remove_fixture(void)
{
	probes_fixture_close(&fixture);
}

static void look_at_expr(const struct ast_expr *expr)
{
	if (!expr)
		return;
	FUZZ_CHECK(expr->kind != AST_NAME && expr->kind != AST_PARAMETER);
	FUZZ_CHECK(expr->type.kind != AST_NONE || expr->kind == AST_CALL || expr->kind == AST_MAP);
	FUZZ_CHECK(expr->type.kind <= AST_AGGREGATE);
	FUZZ_CHECK(expr->kind != AST_MAP || (expr->map && expr->map->has_value));
	FUZZ_CHECK(expr->kind != AST_LOCAL || (expr->local && expr->local->type.kind != AST_NONE));
	FUZZ_CHECK((expr->kind != AST_DEREF && expr->kind != AST_FIELD && expr->kind != AST_INDEX) ||
		expr->type.bytes);
	look_at_expr(expr->left);
	look_at_expr(expr->right);
	look_at_expr(expr->third);
	for (const struct ast_expr *arg = expr->args; arg; arg = arg->next)
		look_at_expr(arg);
}

static void look_at_statements(const struct ast_statement *statement)
{
	for (; statement; statement = statement->next) {
		look_at_expr(statement->target);
		look_at_expr(statement->value);
		look_at_statements(statement->body);
		look_at_statements(statement->otherwise);
	}
}

static void look_at(const struct ast *ast)
{
	uint32_t units = 0, maps = 0;

	for (const struct ast_unit *unit = ast->units; unit; unit = unit->next, units++) {
		FUZZ_CHECK(unit->number == units && unit->targets && unit->kind < PROBE_KINDS);
		look_at_expr(unit->filter);
		look_at_statements(unit->body);
	}
	for (const struct ast_map *map = ast->maps; map; map = map->next, maps++)
		FUZZ_CHECK(map->number == maps && map->key_count <= AST_KEYS_MAX);
	FUZZ_CHECK(units == ast->unit_count && maps == ast->map_count);
	FUZZ_CHECK(ast->target_count <= AST_TARGETS_MAX && ast->bytes <= AST_BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const args[] = { "12", "word", NULL };
	struct check_options options = { .args = args, .pid = 1, .child = 2 };
	struct err err = { "" };
	struct ast *ast;
	int ret;

	if (!fixture.targets) {
		probes_fixture_open(&fixture);
		atexit(remove_fixture);
	}
	options.targets = fixture.targets;
	ret = parser_parse((const char *)data, size, &ast, &err);
	if (!ret) {
		ret = check_program(ast, &options, &err);
		if (!ret)
			look_at(ast);
		ast_destroy(ast);
	}
	FUZZ_CHECK(ret == 0 || ret == -EINVAL || ret == -EAGAIN || ret == -EOPNOTSUPP || ret == -E2BIG ||
		ret == -ENOENT);
	FUZZ_CHECK(!ret == !err.text[0]);
	return 0;
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	static const char *const texts[] = {
		"BEGIN { printf(\"%-8s %d %p\\n\", comm, pid, curtask); @[1] = count(); "
		"print(@, 5, 10); clear(@); }",
		"#!/usr/bin/x\n#define A (1 << 4)\n#ifdef B\n`\n#else\nkprobe:vfs_*,\nk:gone /A "
		"/ 2 == pid/ {\n"
		"@[func, kstack(3)] = hist(arg0, 2); }\n#endif\n",
		"syscall:open:entry, syscall:openat:entry { @f[tid] = args.filename; @n[tid] = nsecs; }\n"
		"syscall:open:return /@f[tid]/ { @us[str(@f[tid])] = lhist((nsecs - @n[tid]) / "
		"1e3, 0, 100, 10); "
		"delete(@f[tid]); zero(@us); }",
		"struct a { int x; struct a *next; char n[8]; };\n"
		"fexit:vfs_read { $a = (struct a *)args.task; @x = $a->next->n; @y = retval; $a "
		"= $a + 1; }",
		"tracepoint:sched:sched_switch { if (args.prev_pid > 0 && args.sk->family == AF_INET) "
		"{ $s = ntop(args.sk->addr); printf(\"%s %s\\n\", $s, args.what); } else { "
		"@x++; --$y; return; } }",
		"profile:hz:99 { @[ustack(5), comm] = sum(-1); @t = (pid, comm).1; unroll(3) { "
		"@l = @t == \"x\" ? 1 : 2; } }",
		"uprobe:/bin/sh:main+4, U:/bin/sh:p:n, u:\"/a b\":f { @ = buf(arg0, $1); "
		"printf(\"%r\", @); "
		"cat(str($2)); join(arg1); time(\"%H\\x41\"); exit(); } interval:s:1 { print(@); }",
		"BEGIN { $t = curtask->parent->in.name; $p = *(uint8 *)curtask; @c = "
		"curtask->arr[1] + curtask->flag; "
		"@b = bswap((uint16)$p) + ~-!$p; sample(); mark(\"m\"); strncmp(comm, $t, 4) == 0 }",
	};

	if (number >= G_N_ELEMENTS(texts))
		return false;
	g_byte_array_append(out, (const guint8 *)texts[number], (guint)strlen(texts[number]));
	return true;
}
