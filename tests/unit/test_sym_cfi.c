/* SPDX-License-Identifier: MIT */
/*
 * symbolizerd/cfi, through parse_row(): the rows of a program that is compiled here are those of
 * readelf. A damaged file ends no process but the parser.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "symbolizerd/parse.h"
#include "tests/fixtures/symfixture.h"

#define RSP 7
#define RBP 6
#define RA 16

static const char program_c[] =
	"#include <stdlib.h>\n"
	"#include <string.h>\n"
	"volatile int sink;\n"
	"__attribute__((noinline)) int deep(int a, int b, int c)\n"
	"{\n"
	"	int big[64];\n"
	"	memset(big, a, sizeof(big));\n"
	"	for (int i = 0; i < c; i++)\n"
	"		sink += rand() + big[i & 63] * b;\n"
	"	return sink + a * b * c;\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	return deep(argc, 2, 3) + deep(argc + 1, sink, 5);\n"
	"}\n";

static struct symfixture fixture;

static bool is_x86_64(void)
{
#ifdef __x86_64__
	return true;
#else
	return false;
#endif
}

static struct parse *open_program(const char *name)
{
	g_autofree char *path = symfixture_path(&fixture, name);
	struct parse *parse = parse_create();
	struct parse_info info;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(parse_elf(parse, fd, NULL, 0, 0, &info), 0);
	close(fd);
	return parse;
}

static void check_row(struct parse *parse, const char *line, uint64_t address, const char *cfa)
{
	uint64_t offset = symfixture_offset(&fixture, "program", address);
	struct unwind_row row;

	if (parse_row(parse, offset, &row) != 0)
		fail_msg("no row: %s", line);
	assert_true(unwind_row_is_sound(&row, unwind_row_bytes(&row)));
	assert_true(row.start <= offset && offset < row.end);
	assert_int_equal(row.return_reg, RA);
	assert_int_equal(row.signal, 0);
	if (strcmp(cfa, "exp") == 0) {
		assert_int_equal(row.cfa.rule, UNWIND_ROW_EXPRESSION);
		return;
	}
	assert_int_equal(row.cfa.rule, UNWIND_ROW_REGISTER);
	if (row.cfa.reg != (g_str_has_prefix(cfa, "rsp") ? RSP : RBP) ||
		row.cfa.number != atoi(cfa + 4))
		fail_msg("register %u + %" PRIi64 ": %s", row.cfa.reg, row.cfa.number, line);
}

/* `LOC CFA registers ra` of readelf. */
static void test_rows_match_those_of_readelf(void **state)
{
	g_autofree char *output = NULL;
	g_auto(GStrv) lines = NULL;
	struct parse *parse;
	unsigned int count = 0, expressions = 0, i;

	(void)state;
	if (!is_x86_64())
		skip();
	assert_true(symfixture_run(&fixture, &output, "readelf -wF program"));
	parse = open_program("program");
	lines = g_strsplit(output, "\n", -1);
	for (i = 0; lines[i]; i++) {
		char cfa[32];
		uint64_t address;
		struct unwind_row row;

		if (strstr(lines[i], "CIE")) { /* its row holds nowhere */
			i += 2;
			continue;
		}
		if (sscanf(lines[i], "%16" SCNx64 " %31s", &address, cfa) != 2 ||
			strlen(lines[i]) < 18 || lines[i][16] != ' ' || strstr(lines[i], "FDE"))
			continue;
		check_row(parse, lines[i], address, cfa);
		parse_row(parse, symfixture_offset(&fixture, "program", address), &row);
		assert_true(g_str_has_suffix(g_strchomp(lines[i]), " c-8"));
		assert_int_equal(row.regs[RA].rule, UNWIND_ROW_AT_CFA);
		assert_int_equal(row.regs[RA].number, -8);
		expressions += strcmp(cfa, "exp") == 0;
		count++;
	}
	assert_true(count > 10);
	assert_true(expressions > 0); /* the PLT */
	parse_destroy(parse);
}

/* In the C library's table _start has no caller. */
static void test_start_has_no_caller(void **state)
{
	struct symfixture_symbol start = symfixture_find(&fixture, "program", "_start");
	struct parse *parse;
	struct unwind_row row;

	(void)state;
	if (!is_x86_64())
		skip();
	parse = open_program("program");
	assert_int_equal(parse_row(parse, symfixture_offset(&fixture, "program", start.address), &row), 0);
	assert_int_equal(row.regs[RA].rule, UNWIND_ROW_UNDEFINED);
	parse_destroy(parse);
}

static void test_addresses_without_a_rule_are_not_found(void **state)
{
	struct parse *parse;
	struct unwind_row row;

	(void)state;
	parse = parse_create();
	assert_int_equal(parse_row(parse, 0, &row), -EINVAL);
	parse_destroy(parse);
	parse = open_program("program");
	assert_int_equal(parse_row(parse, 0, &row), -ENOENT); /* the head of the file */
	assert_int_equal(parse_row(parse, UINT64_MAX, &row), -ENOENT);
	parse_destroy(parse);
}

/* In a child, as the parser has one: it may end by SIGBUS or SIGSEGV, but it must end. */
static int ask_damaged(const char *name, uint64_t from, uint64_t to)
{
	struct parse *parse;
	struct unwind_row row;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(20);
		parse = open_program(name);
		for (; from < to; from += 7)
			if (!parse_row(parse, from, &row) &&
				!unwind_row_is_sound(&row, unwind_row_bytes(&row)))
				_exit(1);
		parse_destroy(parse);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		fail_msg("%s: it does not end", name);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status));
	return WIFSIGNALED(status);
}

static void test_damaged_tables_are_harmless(void **state)
{
	struct symfixture_symbol deep = symfixture_find(&fixture, "program", "deep");
	uint64_t offset = symfixture_offset(&fixture, "program", deep.address);
	unsigned int seed = 20161103, round, crashes = 0, i;
	g_autofree char *path = symfixture_path(&fixture, "program"), *bytes = NULL;
	g_autofree char *damaged = symfixture_path(&fixture, "damaged");
	gsize size;

	(void)state;
	assert_true(g_file_get_contents(path, &bytes, &size, NULL));
	for (round = 0; round < 60; round++) {
		g_autofree char *copy = g_memdup2(bytes, size);

		/* behind the ELF head, so that there is something to read */
		for (i = 0; i < 400; i++)
			copy[64 + (unsigned int)rand_r(&seed) % (size - 64)] = (char)rand_r(&seed);
		assert_true(g_file_set_contents(damaged, copy, (gssize)size, NULL));
		crashes += (unsigned int)ask_damaged("damaged", offset, offset + deep.size);
	}
	print_message("of 60 damaged files %u ended their parser\n", crashes);
}

static int set_up(void **state)
{
	(void)state;
	symfixture_init(&fixture);
	symfixture_write(&fixture, "program.c", program_c);
	return symfixture_run(&fixture, NULL,
		"gcc -O2 -fomit-frame-pointer -fasynchronous-unwind-tables -Wl,-z,lazy -o program"
		" program.c") ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	symfixture_fini(&fixture);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_match_those_of_readelf),
		cmocka_unit_test(test_start_has_no_caller),
		cmocka_unit_test(test_addresses_without_a_rule_are_not_found),
		cmocka_unit_test(test_damaged_tables_are_harmless),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
