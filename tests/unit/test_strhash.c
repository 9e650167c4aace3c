/* SPDX-License-Identifier: MIT */
/*
 * base/strhash: hashes have the published values of SipHash-1-3, and the key differs in each process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strhash.h"

/*
 * Of the bytes 00 01 02 .., as hash() of Python 3.11, which is SipHash-1-3, computes them with
 * PYTHONHASHSEED=1: this seed makes this key.
 */
static void test_values_are_those_of_siphash(void **state)
{
	static const struct {
		int line;
		size_t bytes;
		uint64_t value;
	} rows[] = {
		{ __LINE__, 1, 0xecd3e5afcecda4b9 },
		{ __LINE__, 7, 0xfd15e78052a69ddf },
		{ __LINE__, 8, 0xc0b5739e7e28dd01 },
		{ __LINE__, 15, 0xfa87985f39e97a53 },
		{ __LINE__, 63, 0x542052345bc68274 },
	};
	static const unsigned char key[16] = {
		0x29, 0x23, 0xbe, 0x84, 0xe1, 0x6c, 0xd6, 0xae,
		0x52, 0x90, 0x49, 0xf1, 0xf1, 0xbb, 0xe9, 0xeb,
	};
	unsigned char data[64];
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)i;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strhash_bytes(key, data, rows[i].bytes) != rows[i].value)
			fail_msg("row %d: %#llx", rows[i].line,
				(unsigned long long)strhash_bytes(key, data, rows[i].bytes));
}

/* This program prints the hash of a text if it has an argument. */
static unsigned int hash_elsewhere(void)
{
	char command[4096], self[4000];
	unsigned int value;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *pipe;

	assert_true(length > 0);
	self[length] = '\0';
	snprintf(command, sizeof(command), "'%s' hash", self);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%u", &value), 1);
	pclose(pipe);
	return value;
}

static void test_each_process_has_a_key_of_its_own(void **state)
{
	const unsigned int here = strhash("libkprof:event");
	unsigned int same = 0;

	assert_int_equal(strhash("libkprof:event"), here);
	assert_int_not_equal(strhash("libkprof:evens"), here);
	for (int i = 0; i < 3; i++)
		same += hash_elsewhere() == here;
	assert_int_equal(same, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_those_of_siphash),
		cmocka_unit_test(test_each_process_has_a_key_of_its_own),
	};

	if (argc > 1) {
		printf("%u\n", strhash("libkprof:event"));
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
