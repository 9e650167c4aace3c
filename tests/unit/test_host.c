/* SPDX-License-Identifier: MIT */
/* sys/host: ids of machines are read from files, or are not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/host.h"

#define ID "0123456789abcdeffedcba9876543210"

static const struct {
	int line; /* a failing row names itself */
	const char *content, *expected;
} rows[] = {
	{ __LINE__, ID "\n", ID },
	{ __LINE__, ID, ID },
	{ __LINE__, "01234567-89ab-cdef-fedc-ba9876543210\n", ID },
	{ __LINE__, "0123456789ABCDEFFEDCBA9876543210\n", ID },
	{ __LINE__, "", "" },
	{ __LINE__, "uninitialized\n", "" }, /* as systemd writes it into images */
	{ __LINE__, "0123456789abcdeffedcba987654321\n", "" },
	{ __LINE__, ID "0\n", "" },
	{ __LINE__, "0123456789abcdeffedcba987654321g\n", "" },
	{ __LINE__, "00000000000000000000000000000000\n", "" },
};

static void test_ids_are_read_from_files(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[] = "/tmp/kprofs-test-host-XXXXXX", text[2 * KPROF_HOST_ID_BYTES + 1];
		uint8_t id[KPROF_HOST_ID_BYTES];
		int fd = mkstemp(path);

		assert_true(fd >= 0);
		assert_int_equal(write(fd, rows[i].content, strlen(rows[i].content)),
			(ssize_t)strlen(rows[i].content));
		close(fd);
		memset(id, 0xff, sizeof(id));
		host_read_id(path, id);
		unlink(path);
		host_format_id(id, text);
		if (strcmp(text, rows[i].expected) != 0)
			fail_msg("row of line %d: '%s'", rows[i].line, text);
	}
}

static void test_without_a_file_the_id_is_not_known(void **state)
{
	uint8_t id[KPROF_HOST_ID_BYTES], none[KPROF_HOST_ID_BYTES] = { 0 };

	(void)state;
	memset(id, 0xff, sizeof(id));
	host_read_id("/proc/self/no-such-file", id);
	assert_memory_equal(id, none, sizeof(id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_are_read_from_files),
		cmocka_unit_test(test_without_a_file_the_id_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
