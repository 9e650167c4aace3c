/* SPDX-License-Identifier: MIT */
/*
 * Lengths of numbers: see number_length.h.
 *
 * The length of a float depends on its decimal digits only where a value is rounded up to a power of ten,
 * and, for %g, on the number of zeroes at the end of its digits. Both are computed exactly, in integers of
 * 128 bits, or the number is formatted: values of %g below 1e-16 or above 1e38 with many digits, and a few
 * values beside powers of ten.
 */
#include "trace/number_length.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <glib.h>

#include "trace/number.h"

__extension__ typedef unsigned __int128 wide;

#define DECIMAL_MAX 20

static const uint64_t powers[DECIMAL_MAX] = { 1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u,
	100000000u, 1000000000u, 10000000000u, 100000000000u, 1000000000000u, 10000000000000u,
	100000000000000u, 1000000000000000u, 10000000000000000u, 100000000000000000u,
	1000000000000000000u, 10000000000000000000u };

size_t number_length_decimal(uint64_t value)
{
	/* 1233 / 4096 is a little more than the logarithm of 2 */
	size_t digits = ((64 - (size_t)__builtin_clzll(value | 1)) * 1233) >> 12;

	return digits + (digits == 0 || value >= powers[digits]);
}

size_t number_length_hex(uint64_t value)
{
	return (67 - (size_t)__builtin_clzll(value | 1)) / 4;
}

static size_t count_octal_digits(uint64_t value)
{
	return (66 - (size_t)__builtin_clzll(value | 1)) / 3;
}

static size_t measure_integer(const struct args_conversion *c, uint64_t word)
{
	bool is_negative = c->letter == 'd' && (int64_t)word < 0;
	uint64_t value = is_negative ? -word : word;
	size_t digits, count;

	if (c->letter == 'o')
		digits = count_octal_digits(value);
	else if (c->letter == 'd' || c->letter == 'u')
		digits = number_length_decimal(value);
	else
		digits = number_length_hex(value);
	if (!value && !c->precision)
		digits = 0;
	count = c->precision > 0 ? MAX(digits, (size_t)c->precision) : digits;
	if (c->letter == 'd')
		count += is_negative || c->plus || c->space;
	else if (c->hash && c->letter == 'o')
		count += count == digits && (value || !digits); /* one 0 before the digits */
	else if (c->hash && c->letter != 'u' && value)
		count += 2;
	return count;
}

/* ---- floats: the digits before the exponent or sign, all for values that are not negative ------- */

/* The powers of ten, each the nearest double. */
#define TEN(n) 1e##n
#define TENS(n) \
	TEN(n##0), TEN(n##1), TEN(n##2), TEN(n##3), TEN(n##4), TEN(n##5), TEN(n##6), TEN(n##7), \
		TEN(n##8), TEN(n##9)
static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, TENS(1), TENS(2), TENS(3),
	TENS(4), TENS(5), TENS(6), TENS(7), TENS(8), TENS(9), TENS(10), TENS(11), TENS(12), TENS(13),
	TENS(14), TENS(15), TENS(16), TENS(17), TENS(18), TENS(19), TENS(20), TENS(21), TENS(22),
	TENS(23), TENS(24), TENS(25), TENS(26), TENS(27), TENS(28), TENS(29), 1e300, 1e301, 1e302, 1e303,
	1e304, 1e305, 1e306, 1e307, 1e308 };
#define TENS_EXACT 22 /* 10^22 is the largest one that a double holds */
#define TENS_MAX 308

/* A value in parts: mantissa * 2^power. */
static uint64_t split_value(double value, int *power)
{
	uint64_t word, mantissa;

	memcpy(&word, &value, sizeof(word));
	mantissa = word & (((uint64_t)1 << 52) - 1);
	*power = (int)(word >> 52 & 0x7ff);
	if (*power)
		mantissa |= (uint64_t)1 << 52;
	else
		*power = 1;
	*power -= 1075;
	return mantissa;
}

/*
 * Counts the digits before the point with `precision` digits after it, rounded as the C library
 * does. Returns false if the number must be formatted to count them.
 */
static bool count_whole_digits(double value, int precision, size_t *digits)
{
	uint64_t whole;
	int power, n;

	if (value >= 0x1p64) {
		/* an integer; 2^64 is above 10^19 */
		(void)split_value(value, &power);
		n = ((power + 53) * 1233) >> 12;
		while (n < TENS_MAX && value > tens[n + 1])
			n++;
		while (value < tens[n])
			n--;
		*digits = (size_t)n + 1;
		return (n <= TENS_EXACT || value != tens[n]) && (n == TENS_MAX || value != tens[n + 1]);
	}
	whole = (uint64_t)value;
	*digits = number_length_decimal(whole);
	/* from 9.5 on a fraction may be rounded up to 10; not above 2^53, where there is none */
	if (value < 9.5 || value >= 0x1p53 || whole + 1 != powers[*digits] || precision > 14)
		return true; /* 9.99... is at least 2^-49 below 10, more than half of 10^-15 */
	/* what is missing to `whole` + 1, in units of 2^-50, against half of 10^-precision */
	*digits += (wide)(uint64_t)(((double)(whole + 1) - value) * 0x1p50) * powers[precision] <=
		(wide)1 << 49;
	return true;
}

/* The decimal digits of a value, rounded to `count` of them: digits * 10^(exponent + 1 - count). */
struct decimal {
	uint64_t digits;
	int exponent;
	bool is_power; /* rounded up to a power of ten */
};

/* The most digits with which a double is precise enough to tell nearly always how they are rounded. */
#define ROUGH_DIGITS 12
/* And the error of value * 10^n in two steps, with a margin. */
#define ROUGH_ERROR (8 * DBL_EPSILON)

static double scale(double value, int n)
{
	for (; n > TENS_MAX; n -= TENS_MAX)
		value *= tens[TENS_MAX];
	return n < 0 ? value / tens[-n] : value * tens[n];
}

/* decimal->exponent is at most one off. Returns false if it is not precise enough. */
static bool round_roughly(double value, int count, struct decimal *decimal)
{
	double scaled = scale(value, count - 1 - decimal->exponent), rest;

	if (count > ROUGH_DIGITS)
		return false;
	if (scaled >= (double)powers[count]) {
		decimal->exponent++;
		scaled = scale(value, count - 1 - decimal->exponent);
	} else if (scaled < (double)powers[count - 1]) {
		decimal->exponent--;
		scaled = scale(value, count - 1 - decimal->exponent);
	}
	decimal->digits = (uint64_t)scaled;
	rest = scaled - (double)decimal->digits - 0.5;
	decimal->digits += rest > 0;
	return fabs(rest) > scaled * ROUGH_ERROR;
}

/* value * 10^n as an integer and what is left: half a unit (0), less or more. False if it does not fit. */
static bool scale_exactly(double value, int n, wide *whole, int *rest)
{
	int power;
	wide number = split_value(value, &power), left, unit;

	if (n > TENS_EXACT || n < -TENS_EXACT || power > 70)
		return false;
	for (int i = n; i > 0; i -= DECIMAL_MAX - 1)
		number *= powers[MIN(i, DECIMAL_MAX - 1)];
	if (n < 0) { /* power is above -53: the value has more digits before the point than are asked for */
		unit = powers[MIN(-n, DECIMAL_MAX - 1)];
		if (-n >= DECIMAL_MAX)
			unit *= powers[-n - (DECIMAL_MAX - 1)];
	} else {
		unit = 1;
	}
	if (power < 0) {
		if (power < -126 || unit >> (127 + power))
			return false;
		unit <<= -power;
	} else {
		if (n > 0 && power)
			return false;
		number <<= power;
	}
	*whole = number / unit;
	left = number % unit;
	*rest = left > unit - left ? 1 : left < unit - left ? -1 : 0;
	return true;
}

static bool round_exactly(double value, int count, struct decimal *decimal)
{
	wide whole;
	int rest;

	if (count >= DECIMAL_MAX - 1)
		return false;
	if (!scale_exactly(value, count - 1 - decimal->exponent, &whole, &rest))
		return false;
	if (whole >= powers[count] || whole < powers[count - 1]) {
		decimal->exponent += whole >= powers[count] ? 1 : -1;
		if (!scale_exactly(value, count - 1 - decimal->exponent, &whole, &rest))
			return false;
	}
	decimal->digits = (uint64_t)whole + (rest > 0 || (!rest && (whole & 1)));
	return whole >= powers[count - 1] && whole < powers[count];
}

/* Returns false if the number must be formatted to know its digits. */
static bool round_value(double value, int count, struct decimal *decimal)
{
	int power, first;

	if (!value) {
		*decimal = (struct decimal){ 0 };
		return true;
	}
	/* the exponent from below; subnormal values have fewer bits */
	power = 63 - __builtin_clzll(split_value(value, &power)) + power;
	first = (power * 1233 - (power < 0 ? 4095 : 0)) / 4096;
	*decimal = (struct decimal){ .exponent = first };
	if (!round_roughly(value, count, decimal)) {
		decimal->exponent = first;
		if (!round_exactly(value, count, decimal))
			return false;
	}
	decimal->is_power = decimal->digits == powers[count];
	if (decimal->is_power) {
		decimal->digits /= 10;
		decimal->exponent++;
	}
	return true;
}

static size_t count_exponent(int exponent)
{
	return exponent <= -100 || exponent >= 100 ? 5 : 4; /* e+NN */
}

/* Digits with a point, if there are any after it or `hash` asks for it. */
static size_t count_fraction(size_t after, bool hash)
{
	return after + (after || hash);
}

static bool measure_exponential(const struct args_conversion *c, double value, size_t *bytes)
{
	int precision = c->precision < 0 ? 6 : c->precision;
	bool is_long = value >= 1e100 || (value && value < 1e-99);

	/* the length changes where a value is rounded up to 1e100 or 1e-99 */
	if ((value > 9.4e99 && value <= 1e100) || (value > 9.4e-100 && value <= 1e-99))
		return false;
	*bytes = 1 + count_fraction((size_t)precision, c->hash) + (is_long ? 5 : 4);
	return true;
}

static bool measure_general(const struct args_conversion *c, double value, size_t *bytes)
{
	int count = c->precision < 0 ? 6 : MAX(c->precision, 1), digits = count, after;
	struct decimal decimal;

	if (count >= DECIMAL_MAX - 1 || !round_value(value, count, &decimal))
		return false;
	/* some versions of the GNU C library print a digit too few here (%#.2g of 99.99 is "1.e+02") */
	if (c->hash && decimal.is_power)
		return false;
	if (!c->hash && !decimal.digits)
		digits = 1;
	for (; !c->hash && digits > 1 && decimal.digits % 10 == 0; digits--)
		decimal.digits /= 10;
	if (decimal.exponent < -4 || decimal.exponent >= count) {
		*bytes = 1 + count_fraction((size_t)digits - 1, c->hash) +
			count_exponent(decimal.exponent);
		return true;
	}
	after = digits - 1 - decimal.exponent; /* digits after the point */
	*bytes = (size_t)MAX(decimal.exponent, 0) + 1 +
		count_fraction((size_t)MAX(after, 0), c->hash);
	return true;
}

/* Returns false if the number must be formatted to know its digits. */
static bool measure_float(const struct args_conversion *c, uint64_t word, size_t *bytes)
{
	size_t sign = word >> 63 || c->plus || c->space;
	double value;

	memcpy(&value, &word, sizeof(value));
	value = fabs(value);
	if (!(value <= DBL_MAX)) {
		*bytes = sign + strlen("inf"); /* or nan */
		return true;
	}
	switch (c->letter) {
	case 'f':
	case 'F': {
		int precision = c->precision < 0 ? 6 : c->precision;

		if (!count_whole_digits(value, precision, bytes))
			return false;
		*bytes += count_fraction((size_t)precision, c->hash);
		break;
	}
	case 'e':
	case 'E':
		if (!measure_exponential(c, value, bytes))
			return false;
		break;
	case 'g':
	case 'G':
		if (!measure_general(c, value, bytes))
			return false;
		break;
	default:
		return false;
	}
	*bytes += sign;
	return true;
}

size_t number_length(const struct args_conversion *c, uint64_t word)
{
	size_t width = c->width > 0 ? (size_t)c->width : 0, bytes;
	char text[NUMBER_TEXT_MAX];

	if (c->letter == 'd' || c->letter == 'u' || c->letter == 'x' || c->letter == 'X' ||
		c->letter == 'o')
		bytes = measure_integer(c, word);
	else if (!measure_float(c, word, &bytes))
		return number_format(text, c, word);
	return MAX(bytes, width);
}
