/* SPDX-License-Identifier: MIT */
/* trace/number_length: lengths of numbers are those of what the C library prints. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "trace/number.h"
#include "trace/number_length.h"

/* Random values for each conversion; valgrind runs this some 50 times slower. */
#define ROUNDS 300

static uint64_t word_of(double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static void check(const struct args_conversion *c, uint64_t word)
{
	char text[NUMBER_TEXT_MAX];
	size_t bytes = number_format(text, c, word), length = number_length(c, word);

	if (length != bytes)
		fail_msg("%%%s%s%s%s%s%d.%d%c of 0x%llx: %zu, not %zu: '%.*s'", c->minus ? "-" : "",
			c->plus ? "+" : "", c->space ? " " : "", c->hash ? "#" : "", c->zero ? "0" : "",
			c->width, c->precision, c->letter, (unsigned long long)word, length, bytes,
			(int)bytes, text);
}

/* All flags for this letter, width and precision. */
static void check_flags(char letter, int width, int precision, uint64_t word)
{
	for (unsigned int flags = 0; flags < 32; flags++) {
		const struct args_conversion c = {.letter = letter,
			.bytes = 8,
			.width = width,
			.precision = precision,
			.minus = flags & 1,
			.plus = flags & 2,
			.space = flags & 4,
			.hash = flags & 8,
			.zero = flags & 16};

		check(&c, word);
	}
}

static void check_some(const char *letters, uint64_t word)
{
	static const int precisions[] = {ARGS_NONE, 0, 1, 2, 3, 5, 6, 7, 9, 12, 13, 14, 15, 16, 17, 18,
		19, 20, 30, NUMBER_WIDTH_MAX};

	for (; *letters; letters++)
		for (size_t i = 0; i < G_N_ELEMENTS(precisions); i++) {
			const struct args_conversion plain = {.letter = *letters,
				.bytes = 8,
				.width = ARGS_NONE,
				.precision = precisions[i]};
			struct args_conversion hash = plain;

			hash.hash = true;
			check(&plain, word);
			check(&hash, word);
		}
}

static void test_integers_have_the_length_that_printf_prints(void **state)
{
	static const int others[] = {ARGS_NONE, 0, 1, 2, 7, 20, 21, NUMBER_WIDTH_MAX};

	for (unsigned int bit = 0; bit <= 64; bit++)
		for (int off = -1; off <= 1; off++)
			for (const char *letter = "duoxX"; *letter; letter++)
				for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
					check_flags(*letter, others[i] ? others[i] : ARGS_NONE, others[i],
						(bit < 64 ? (uint64_t)1 << bit : 0) + (uint64_t)off);
}

static void test_decimal_and_hexadecimal_digits_are_counted(void **state)
{
	uint64_t power = 1;

	for (size_t digits = 1; digits <= 20; digits++, power *= 10) {
		assert_int_equal(number_length_decimal(power), digits);
		assert_int_equal(number_length_decimal(power - 1), digits > 1 ? digits - 1 : 1);
	}
	assert_int_equal(number_length_decimal(UINT64_MAX), 20);
	for (unsigned int bit = 0; bit < 64; bit++)
		assert_int_equal(number_length_hex((uint64_t)1 << bit), bit / 4 + 1);
}

static void test_special_floats_have_the_length_that_printf_prints(void **state)
{
	const double values[] = {0.0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN,
		-(double)NAN, 1.0, -1.0, 0.5, 1.5, 2.5, 9.5, 9.4999999, 9.9999995, 99.5, 0.05, 0.95, 0.0001,
		0.00009999995, 999999.5, 999999.4999999999, 1234565, 12345650, 100000, 1000000,
		1e15, 1e16, 1e17, 0x1p53,
		0x1p53 - 1, 0x1p63, 0x1p64, DBL_MAX, DBL_MIN, DBL_EPSILON, 4.9406564584124654e-324,
		2.2250738585072009e-308, 9.5e99, 9.9999999e99, 1e100, 9.5e-100, 1e-99, 1e-100};

	for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
		for (const char *letter = "fFeEgGaA"; *letter; letter++) {
			check_flags(*letter, ARGS_NONE, ARGS_NONE, word_of(values[i]));
			check_flags(*letter, 9, 0, word_of(values[i]));
			check_flags(*letter, 30, 4, word_of(values[i]));
			check_some((char[]){*letter, '\0'}, word_of(values[i]));
		}
}

static void test_floats_beside_powers_of_ten_have_the_length_that_printf_prints(void **state)
{
	for (int power = -323; power <= 308; power++) {
		char text[16];
		double value;

		snprintf(text, sizeof(text), "1e%d", power);
		value = g_ascii_strtod(text, NULL);
		check_some("feg", word_of(value));
		check_some("feg", word_of(value) + 1);
		check_some("feg", word_of(value) - 1);
	}
}

/* Half of 10^-precision below a power of ten, and a little more and less: it is rounded up or not. */
static void test_values_that_are_rounded_up_get_their_digit(void **state)
{
	double power = 10, half;

	for (int digits = 1; digits < 16; digits++, power *= 10) {
		half = 0.5;
		for (int precision = 0; precision < 18; precision++, half /= 10)
			for (int ulp = -2; ulp <= 2; ulp++)
				check_some("fg", word_of(power - half) + (uint64_t)ulp);
	}
}

static void test_random_floats_have_the_length_that_printf_prints(void **state)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(1);

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t word = (uint64_t)g_rand_int(random) << 32 | g_rand_int(random);
		double small = (double)g_rand_int_range(random, 0, 10000000) /
			(double)g_rand_int_range(random, 1, 1000);

		check_some("feg", word);                                       /* any bits */
		check_some("feg", word_of(small));                             /* a fraction */
		check_some("feg", word_of(g_rand_int_range(random, 0, 100000) / 1000.0)); /* short */
		check_some("feg", word_of((double)(word >> g_rand_int_range(random, 0, 64))));
		check_some("feg", word_of((double)(g_rand_int(random) % 100000) + 0.5)); /* ties */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers_have_the_length_that_printf_prints),
		cmocka_unit_test(test_decimal_and_hexadecimal_digits_are_counted),
		cmocka_unit_test(test_special_floats_have_the_length_that_printf_prints),
		cmocka_unit_test(test_floats_beside_powers_of_ten_have_the_length_that_printf_prints),
		cmocka_unit_test(test_values_that_are_rounded_up_get_their_digit),
		cmocka_unit_test(test_random_floats_have_the_length_that_printf_prints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
