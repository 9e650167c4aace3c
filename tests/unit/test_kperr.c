/* SPDX-License-Identifier: MIT */
/*
 * fs/kperr: lines have the right form and escapes, a limited number is kept, and users see their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fs/kperr.h"

static const struct kperr_entry plain = {
	.time_ns = 12000345678,
	.pid = 1234,
	.uid = 1000,
	.file = "kpctl",
	.line = 2,
	.written = "bogus",
	.written_size = 5,
	.reason = "unknown word",
	.usage = "start | stop",
};

static void expect_line(const struct kperr_entry *entry, const char *expected)
{
	struct kperr *kperr = kperr_create(0);
	GString *out = g_string_new(NULL);
	char *line = kperr_add(kperr, entry);

	assert_string_equal(line, expected);
	kperr_print(kperr, entry->uid, out);
	assert_int_equal(out->len, strlen(expected) + 1);
	assert_memory_equal(out->str, expected, strlen(expected));
	assert_int_equal(out->str[out->len - 1], '\n');
	g_free(line);
	g_string_free(out, TRUE);
	kperr_destroy(kperr);
}

static void test_line_has_the_documented_form(void **state)
{
	expect_line(&plain, "12.000345678 pid 1234 uid 1000 kpctl line 2: 'bogus': unknown word; "
			    "usage: start | stop");
}

/* The path of a query is what its reader wrote: it forges no line, and is cut. */
static void test_path_is_one_line(void **state)
{
	char path[KPERR_FILE_MAX + 2], expected[KPERR_FILE_MAX + 100];
	struct kperr_entry entry = plain;

	entry.line = 0;
	entry.written = "";
	entry.written_size = 0;
	entry.usage = NULL;
	entry.file = "views/by/comm/a\n12.0 pid 1 uid 0 kpctl: b\033[31m/flat";
	expect_line(&entry, "12.000345678 pid 1234 uid 1000 views/by/comm/a\\x0a12.0 pid 1 uid 0 kpctl: "
			    "b\\x1b[31m/flat: unknown word");
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	entry.file = path;
	snprintf(expected, sizeof(expected), "12.000345678 pid 1234 uid 1000 %.*s...: unknown word",
		KPERR_FILE_MAX, path);
	expect_line(&entry, expected);
	path[KPERR_FILE_MAX] = '\0';
	snprintf(expected, sizeof(expected), "12.000345678 pid 1234 uid 1000 %s: unknown word", path);
	expect_line(&entry, expected);
}

/* An open or a new name that was refused: nothing was written. */
static void test_line_without_write_has_no_written_text(void **state)
{
	struct kperr_entry entry = plain;

	entry.line = 0;
	entry.written = "";
	entry.written_size = 0;
	entry.usage = NULL;
	expect_line(&entry, "12.000345678 pid 1234 uid 1000 kpctl: unknown word");
}

static void test_control_bytes_are_escaped(void **state)
{
	struct kperr_entry entry = plain;

	entry.written = "a\0b\n\t\033[2J\x7f\xff'\\~ ";
	entry.written_size = 15;
	entry.reason = "no event '\033[2J\n' here";
	expect_line(&entry, "12.000345678 pid 1234 uid 1000 kpctl line 2: "
			    "'a\\x00b\\x0a\\x09\\x1b[2J\\x7f\\xff\\x27\\x5c~ ': "
			    "no event '\\x1b[2J\\x0a' here; usage: start | stop");
}

/* 200 bytes are shown, 201 are cut; the cut counts bytes of what was written, not of what is shown. */
static void test_long_writes_are_cut(void **state)
{
	struct kperr_entry entry = plain;
	char written[300], expected[1200], shown[900] = "";
	int i;

	memset(written, '\001', sizeof(written));
	for (i = 0; i < 200; i++)
		strcat(shown, "\\x01");
	entry.written = written;
	entry.written_size = sizeof(written);
	snprintf(expected, sizeof(expected),
		"12.000345678 pid 1234 uid 1000 kpctl line 2: '%s': unknown word; usage: start | stop",
		shown);
	expect_line(&entry, expected);
	entry.written_size = 200;
	expect_line(&entry, expected);
}

static void test_last_lines_are_kept(void **state)
{
	struct kperr *kperr = kperr_create(0);
	struct kperr_entry entry = plain;
	GString *out = g_string_new(NULL);
	char expected[64];
	char **lines;
	unsigned int i;

	kperr_print(kperr, 0, out);
	assert_int_equal(out->len, 0);
	for (i = 1; i <= 40; i++) {
		entry.line = i;
		g_free(kperr_add(kperr, &entry));
	}
	assert_int_equal(kperr_count(kperr), 40);
	kperr_print(kperr, 0, out);
	lines = g_strsplit(out->str, "\n", -1);
	assert_int_equal(g_strv_length(lines), 17); /* the last one is empty */
	for (i = 0; i < 16; i++) {
		snprintf(expected, sizeof(expected), "kpctl line %u: ", 25 + i);
		assert_non_null(strstr(lines[i], expected));
	}
	g_strfreev(lines);
	g_string_free(out, TRUE);
	kperr_destroy(kperr);
}

/* The user of each line that `reader` sees, oldest first. */
static char *read_as(struct kperr *kperr, uid_t reader)
{
	GString *out = g_string_new(NULL), *uids = g_string_new(NULL);
	char **lines, **line;
	unsigned int uid;

	kperr_print(kperr, reader, out);
	lines = g_strsplit(out->str, "\n", -1);
	for (line = lines; *line && **line; line++) {
		assert_int_equal(sscanf(*line, "%*s pid %*d uid %u", &uid), 1);
		g_string_append_printf(uids, "%u ", uid);
	}
	g_strfreev(lines);
	g_string_free(out, TRUE);
	return g_string_free(uids, FALSE);
}

static void refuse(struct kperr *kperr, uid_t uid)
{
	struct kperr_entry entry = plain;

	entry.uid = uid;
	g_free(kperr_add(kperr, &entry));
}

static void expect_seen(struct kperr *kperr, uid_t reader, const char *expected)
{
	char *seen = read_as(kperr, reader);

	assert_string_equal(seen, expected);
	g_free(seen);
}

static void test_each_user_sees_own_lines(void **state)
{
	struct kperr *kperr = kperr_create(500);

	refuse(kperr, 0);
	refuse(kperr, 1000);
	refuse(kperr, 500);
	refuse(kperr, 1001);
	refuse(kperr, 1000);
	expect_seen(kperr, 1000, "1000 1000 ");
	expect_seen(kperr, 1001, "1001 ");
	expect_seen(kperr, 1002, "");
	expect_seen(kperr, 0, "0 1000 500 1001 1000 ");
	expect_seen(kperr, 500, "0 1000 500 1001 1000 ");
	kperr_destroy(kperr);
}

static void test_next_owner_sees_no_earlier_lines(void **state)
{
	struct kperr *kperr = kperr_create(500);

	refuse(kperr, 500);
	refuse(kperr, 1000);
	kperr_set_owner(kperr, 500);
	expect_seen(kperr, 500, "500 1000 ");
	kperr_set_owner(kperr, 600);
	expect_seen(kperr, 600, "");
	expect_seen(kperr, 500, "");
	refuse(kperr, 1000);
	refuse(kperr, 600);
	expect_seen(kperr, 600, "1000 600 ");
	expect_seen(kperr, 1000, "1000 ");
	assert_int_equal(kperr_count(kperr), 4);
	kperr_destroy(kperr);
}

static void test_one_user_displaces_no_other(void **state)
{
	struct kperr *kperr = kperr_create(0);
	unsigned int i;

	refuse(kperr, 0);
	refuse(kperr, 1001);
	for (i = 0; i < 1000; i++)
		refuse(kperr, 1000);
	expect_seen(kperr, 1001, "1001 ");
	expect_seen(kperr, 0, "0 1001 1000 1000 1000 1000 1000 1000 1000 1000 "
			      "1000 1000 1000 1000 1000 1000 1000 1000 ");
	kperr_destroy(kperr);
}

/*
 * 64 users beside root and the owner. The 65th replaces the user whose last refusal is the oldest.
 */
static void test_users_are_bounded(void **state)
{
	struct kperr *kperr = kperr_create(500);
	unsigned int i;

	refuse(kperr, 0);
	refuse(kperr, 500);
	for (i = 0; i < 64; i++)
		refuse(kperr, 1000 + i);
	refuse(kperr, 1000); /* now 1001 was refused longest ago */
	refuse(kperr, 2000);
	expect_seen(kperr, 1000, "1000 1000 ");
	expect_seen(kperr, 1001, "");
	expect_seen(kperr, 1002, "1002 ");
	expect_seen(kperr, 2000, "2000 ");
	for (i = 0; i < 1000; i++)
		refuse(kperr, 3000 + i);
	expect_seen(kperr, 2000, "");
	{
		char *all = read_as(kperr, 0);

		assert_memory_equal(all, "0 500 3936 3937 ", 16);
		g_free(all);
	}
	kperr_destroy(kperr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_has_the_documented_form),
		cmocka_unit_test(test_path_is_one_line),
		cmocka_unit_test(test_line_without_write_has_no_written_text),
		cmocka_unit_test(test_control_bytes_are_escaped),
		cmocka_unit_test(test_long_writes_are_cut),
		cmocka_unit_test(test_last_lines_are_kept),
		cmocka_unit_test(test_each_user_sees_own_lines),
		cmocka_unit_test(test_next_owner_sees_no_earlier_lines),
		cmocka_unit_test(test_one_user_displaces_no_other),
		cmocka_unit_test(test_users_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
