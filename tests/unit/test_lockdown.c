/* SPDX-License-Identifier: MIT */
/* sys/lockdown: the level of the kernel's file is understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/lockdown.h"

static bool is_confidential(const char *text)
{
	char path[] = "/tmp/test_lockdown.XXXXXX";
	int fd = mkstemp(path);
	bool is;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "%s", text) >= 0);
	close(fd);
	is = lockdown_is_confidential(path);
	unlink(path);
	return is;
}

/* The texts are those of security/lockdown/lockdown.c of Linux. */
static void test_level_is_understood(void **state)
{
	(void)state;
	assert_false(is_confidential("[none] integrity confidentiality\n"));
	assert_false(is_confidential("none [integrity] confidentiality\n"));
	assert_true(is_confidential("none integrity [confidentiality]\n"));
	assert_false(is_confidential(""));
}

static void test_kernel_without_lockdown_is_not_confidential(void **state)
{
	(void)state;
	assert_false(lockdown_is_confidential("/nonexistent/lockdown"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_level_is_understood),
		cmocka_unit_test(test_kernel_without_lockdown_is_not_confidential),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
