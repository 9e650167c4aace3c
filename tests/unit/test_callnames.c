/* SPDX-License-Identifier: MIT */
/* kernel/callnames, against the constants of the C library. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "kernel/callnames.h"

static void test_numbers_and_names(void **state)
{
	static struct callnames callnames;

	(void)state;
	callnames_init(&callnames);
	assert_string_equal(callnames.names[SYS_read], "read");
	assert_string_equal(callnames.names[SYS_renameat2], "renameat2");
	assert_int_equal(callnames_find(&callnames, "getppid"), SYS_getppid);
	assert_int_equal(callnames_find(&callnames, "exit_group"), SYS_exit_group);
	assert_int_equal(callnames_find(&callnames, "no_such_call"), -ENOENT);
	assert_int_equal(callnames_find(&callnames, ""), -ENOENT);
	assert_null(callnames.names[CALLNAMES_NUMBERS - 1]);
	/* openat(dfd, filename, ...), renameat2(olddfd, oldname, newdfd, newname, ...) */
	assert_int_equal(callnames.texts[SYS_openat], 1 << 1);
	assert_int_equal(callnames.texts[SYS_renameat2], 1 << 1 | 1 << 3);
	assert_int_equal(callnames.texts[SYS_write], 0);
	/* connect(fd, uservaddr, addrlen), sendto(fd, buff, len, flags, addr, addr_len) */
	assert_int_equal(callnames.texts[SYS_connect], CALLNAMES_ADDRESS | 1 << 1);
	assert_int_equal(callnames.texts[SYS_bind], CALLNAMES_ADDRESS | 1 << 1);
	assert_int_equal(callnames.texts[SYS_sendto], CALLNAMES_ADDRESS | 1 << 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_and_names),
	};

	return cmocka_run_group_tests_name("callnames", tests, NULL, NULL);
}
