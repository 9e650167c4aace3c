/* SPDX-License-Identifier: MIT */
/* kernel/point and kernel/describe: states of tasks are shown by the kernel's letters, where it has those. */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/record.h"
#include "kernel/describe.h"
#include "kernel/point.h"

#define FIELDS \
	"name: sched_switch\nID: 7\nformat:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" \
	"\tfield:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n\n"
#define PRINT FIELDS "print fmt: \"prev_state=%s%s\", __print_flags(REC->prev_state & 255, \"|\", "

/* The pairs of Linux 6.18 and of 5.10. */
static const char new_text[] = PRINT
	"{ 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, "
	"{ 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) "
	": \"R\"\n";
static const char old_text[] = PRINT
	"{ 0x0001, \"S\" }, { 0x0002, \"D\" }, { 0x0004, \"T\" }, { 0x0008, \"t\" }, "
	"{ 0x0010, \"X\" }, { 0x0020, \"Z\" }, { 0x0040, \"P\" }, { 0x0080, \"I\" }) : \"R\"\n";
/* Before 4.14 dead tasks were before zombies; and one that ends early. */
static const char other_letters[] = PRINT
	"{ 0x0001, \"S\" }, { 0x0002, \"D\" }, { 0x0004, \"T\" }, { 0x0008, \"t\" }, "
	"{ 0x0010, \"Z\" }, { 0x0020, \"X\" }, { 0x0040, \"x\" }, { 0x0080, \"K\" }) : \"R\"\n";
static const char other_bits[] = PRINT "{ 0x0002, \"S\" }, { 0x0004, \"D\" }) : \"R\"\n";
static const char short_text[] = PRINT "{ 0x0001, \"S\" }";

static struct point *parse(const char *format)
{
	struct point *point;
	struct err err = { "" };

	if (point_parse(format, &point, &err))
		fail_msg("%s", err.text);
	return point;
}

static void test_states_have_letters_where_the_kernel_has_these(void **state)
{
	static const struct {
		int line;
		const char *text, *format;
	} rows[] = {
		{ __LINE__, new_text, "prev_state=%s" },
		{ __LINE__, old_text, "prev_state=%s" },
		{ __LINE__, other_letters, "prev_state=%ld" },
		{ __LINE__, other_bits, "prev_state=%ld" },
		{ __LINE__, short_text, "prev_state=%ld" },
		{ __LINE__, FIELDS, "prev_state=%ld" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct point *point = parse(rows[i].text);
		g_autofree char *format = describe_point_format(point);

		if (strcmp(format, rows[i].format) != 0)
			fail_msg("line %d: %s", rows[i].line, format);
		point_destroy(point);
	}
}

/* The letters are those that sched_switch's text prints, by include/trace/events/sched.h of Linux. */
static void test_states_are_shown_as_the_kernel_shows_them(void **state)
{
	static const struct {
		uint64_t value;
		const char *text;
	} rows[] = {
		{ 0, "R" }, { 1, "S" }, { 2, "D" }, { 4, "T" }, { 8, "t" }, { 0x10, "X" }, { 0x20, "Z" },
		{ 0x40, "P" }, { 0x80, "I" }, { 0x100, "R+" }, { 0x101, "S+" }, { 0x82, "D|I" },
		/* bits that the kernel's text does not look at */
		{ 0xfffffffffffffe00, "R" }, { UINT64_MAX, "S|D|T|t|X|Z|P|I+" },
	};
	struct point *point = parse(new_text);

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct {
			struct kernel_record record;
			uint64_t body;
		} sample = { .body = rows[i].value };
		g_autoptr(GString) args = g_string_new(NULL);
		uint16_t bytes;

		describe_point(point, &sample.record, sizeof(sample), args);
		assert_true(args->len >= sizeof(bytes) && args->len % 8 == 0);
		memcpy(&bytes, args->str, sizeof(bytes));
		assert_int_equal(bytes, strlen(rows[i].text));
		assert_memory_equal(args->str + sizeof(bytes), rows[i].text, bytes);
	}
	point_destroy(point);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states_have_letters_where_the_kernel_has_these),
		cmocka_unit_test(test_states_are_shown_as_the_kernel_shows_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
