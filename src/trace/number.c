/* SPDX-License-Identifier: MIT */
/* Numbers as printf prints them: see number.h. */
#include "trace/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

/* No double has more digits behind its point: the smallest one, 2 to the -1074, has 1074. */
#define DIGITS_OF_DOUBLE 1074

/* The flags, width and precision of a conversion as a format of snprintf. */
static void make_format(char format[16], const struct args_conversion *c, const char *length)
{
	size_t n = 0;

	format[n++] = '%';
	if (c->minus)
		format[n++] = '-';
	if (c->plus)
		format[n++] = '+';
	if (c->space)
		format[n++] = ' ';
	if (c->hash)
		format[n++] = '#';
	if (c->zero)
		format[n++] = '0';
	format[n++] = '*';
	format[n++] = '.';
	format[n++] = '*';
	for (; *length; length++)
		format[n++] = *length;
	format[n++] = c->letter;
	format[n] = '\0';
}

static size_t length(int n)
{
	return n < 0 ? 0 : MIN((size_t)n, NUMBER_TEXT_MAX - 1);
}

/* The zeroes behind the last digit that it has; before the exponent, or the blanks on the right. */
static size_t insert_zeroes(char text[NUMBER_TEXT_MAX], size_t bytes, char letter, size_t zeroes)
{
	const char *exponent = letter == 'a' || letter == 'A' ? "pP" : "eE";
	size_t at = 0;

	while (at < bytes && (text[at] == ' ' || !strchr(exponent, text[at])))
		at++;
	if (at == bytes)
		while (at && text[at - 1] == ' ')
			at--;
	memmove(text + at + zeroes, text + at, bytes - at);
	memset(text + at, '0', zeroes);
	return bytes + zeroes;
}

/*
 * The C library takes some 20 ns a digit, also for those that can only be zeroes: we write these. %g
 * without # drops them.
 */
static size_t format_double(char text[NUMBER_TEXT_MAX], const struct args_conversion *c, int width,
	double value)
{
	int precision = MIN(c->precision, DIGITS_OF_DOUBLE), zeroes = 0;
	char format[16];
	size_t bytes;

	if (c->precision > precision && isfinite(value) && (c->hash || !strchr("gG", c->letter)))
		zeroes = c->precision - precision;
	make_format(format, c, "");
	bytes = length(snprintf(text, NUMBER_TEXT_MAX - (size_t)zeroes, format, MAX(width - zeroes, 0),
		precision, value));
	return zeroes ? insert_zeroes(text, bytes, c->letter, (size_t)zeroes) : bytes;
}

size_t number_format(char text[NUMBER_TEXT_MAX], const struct args_conversion *c, uint64_t word)
{
	int width = c->width > 0 ? c->width : 0;
	char format[16];
	double value;

	if (!strchr("douxX", c->letter)) {
		memcpy(&value, &word, sizeof(value));
		return format_double(text, c, width, value);
	}
	make_format(format, c, "l");
	if (c->letter == 'd')
		return length(snprintf(text, NUMBER_TEXT_MAX, format, width, c->precision, (long)word));
	return length(snprintf(text, NUMBER_TEXT_MAX, format, width, c->precision,
		(unsigned long)word));
}
