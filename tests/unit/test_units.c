/* SPDX-License-Identifier: MIT */
/* base/units: numbers and CPU lists are parsed or refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"

struct number_row {
	int line; /* a failing row names itself */
	const char *text;
	int ret;
	uint64_t value;
};

static const struct number_row number_rows[] = {
	{ __LINE__, "0", 0, 0 },
	{ __LINE__, "10", 0, 10 },
	{ __LINE__, "0x1F", 0, 31 },
	{ __LINE__, "017", 0, 15 },
	{ __LINE__, "18446744073709551615", 0, UINT64_MAX },
	{ __LINE__, "18446744073709551616", -ERANGE, 0 },
	{ __LINE__, "99999999999999999999999", -ERANGE, 0 },
	{ __LINE__, "", -EINVAL, 0 },
	{ __LINE__, "-1", -EINVAL, 0 },
	{ __LINE__, "+1", -EINVAL, 0 },
	{ __LINE__, " 1", -EINVAL, 0 },
	{ __LINE__, "1 ", -EINVAL, 0 },
	{ __LINE__, "12k", -EINVAL, 0 },
	{ __LINE__, "08", -EINVAL, 0 },
	{ __LINE__, "0x", -EINVAL, 0 },
	{ __LINE__, "ten", -EINVAL, 0 },
};

static void test_numbers_are_parsed(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(number_rows) / sizeof(number_rows[0]); i++) {
		const struct number_row *row = &number_rows[i];
		uint64_t value = 4711;
		int ret = units_parse_u64(row->text, &value);

		if (ret != row->ret || value != (row->ret ? 4711 : row->value))
			fail_msg("row of line %d: ret %d, value %llu", row->line, ret,
				(unsigned long long)value);
	}
}

struct list_row {
	int line;
	const char *text;
	int ret;
	uint16_t bits; /* of 12 CPUs */
};

static const struct list_row list_rows[] = {
	{ __LINE__, "0", 0, 0x001 },
	{ __LINE__, "0-3", 0, 0x00f },
	{ __LINE__, "0-3,8", 0, 0x10f },
	{ __LINE__, "8,0-3,2", 0, 0x10f },
	{ __LINE__, "11", 0, 0x800 },
	{ __LINE__, "12", -ERANGE, 0 },
	{ __LINE__, "0-12", -ERANGE, 0 },
	{ __LINE__, "4294967296", -ERANGE, 0 },
	{ __LINE__, "3-1", -EINVAL, 0 },
	{ __LINE__, "", -EINVAL, 0 },
	{ __LINE__, ",", -EINVAL, 0 },
	{ __LINE__, "1,", -EINVAL, 0 },
	{ __LINE__, "1-", -EINVAL, 0 },
	{ __LINE__, "-1", -EINVAL, 0 },
	{ __LINE__, "1 2", -EINVAL, 0 },
	{ __LINE__, "all", -EINVAL, 0 },
};

static void test_cpu_lists_are_parsed(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(list_rows) / sizeof(list_rows[0]); i++) {
		const struct list_row *row = &list_rows[i];
		unsigned char bitmap[2];
		int ret = units_parse_cpulist(row->text, bitmap, 12);

		if (ret != row->ret || (!ret && (bitmap[0] | bitmap[1] << 8) != row->bits))
			fail_msg("row of line %d: ret %d, bitmap %02x%02x", row->line, ret,
				bitmap[1], bitmap[0]);
	}
}

static void test_numbers_are_rounded_up_to_powers_of_two(void **state)
{
	(void)state;
	assert_int_equal(units_round_up_pow2(1), 1);
	assert_int_equal(units_round_up_pow2(2), 2);
	assert_int_equal(units_round_up_pow2(3), 4);
	assert_int_equal(units_round_up_pow2(4097), 8192);
	assert_int_equal(units_round_up_pow2(UINT64_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_parsed),
		cmocka_unit_test(test_cpu_lists_are_parsed),
		cmocka_unit_test(test_numbers_are_rounded_up_to_powers_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
