/* SPDX-License-Identifier: MIT */
/* sys/lines: lines of a file are complete when they are read into a small buffer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/lines.h"

/* ---- lines ------------------------------------------------------------------------------------- */

/* The lines of a text through a buffer of `size`, each behind a '|'. */
static void read_lines(const char *text, size_t size, char *out)
{
	struct lines lines;
	int fd = memfd_create("lines", MFD_CLOEXEC);
	char *buf = malloc(size), *line; /* so that valgrind detects accesses beyond its ends */

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	lseek(fd, 0, SEEK_SET);
	lines_init(&lines, fd, buf, size);
	*out = '\0';
	while ((line = lines_next(&lines)))
		strcat(strcat(out, "|"), line);
	assert_int_equal(lines.error, 0);
	assert_null(lines_next(&lines));
	free(buf);
	close(fd);
}

struct lines_row {
	int line;
	size_t size;
	const char *text;
	const char *out;
};

static const struct lines_row lines_rows[] = {
	{ __LINE__, 64, "", "" },
	{ __LINE__, 64, "a\nbc\n", "|a|bc" },
	{ __LINE__, 64, "a\n\nbc", "|a||bc" },
	{ __LINE__, 64, "\n", "|" },
	/* lines of 3 bytes are the longest for a buffer of 5 with newline and NUL */
	{ __LINE__, 5, "abc\nde\nfgh\n", "|abc|de|fgh" },
	{ __LINE__, 5, "abcd\nde\n", "|de" },
	{ __LINE__, 5, "de\nabcdefghijklmnop\nfgh\n", "|de|fgh" },
	{ __LINE__, 5, "abcdefghijklmnop\n\nx", "||x" },
	{ __LINE__, 5, "ab\nabcdefghij", "|ab" },
	{ __LINE__, 5, "ab\nabc", "|ab|abc" },
};

static void test_lines_are_read_in_a_small_buffer(void **state)
{
	struct lines lines;
	char out[128], buf[8];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines_rows) / sizeof(lines_rows[0]); i++) {
		read_lines(lines_rows[i].text, lines_rows[i].size, out);
		if (strcmp(out, lines_rows[i].out))
			fail_msg("row of line %d: '%s'", lines_rows[i].line, out);
	}
	lines_init(&lines, -1, buf, sizeof(buf));
	assert_null(lines_next(&lines));
	assert_int_equal(lines.error, -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_read_in_a_small_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
