/* SPDX-License-Identifier: MIT */
/* Numbers as printf prints them: see number.h. */
#include "trace/number.h"

#include <stdio.h>
#include <string.h>

#include <glib.h>

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

size_t number_format(char text[NUMBER_TEXT_MAX], const struct args_conversion *c, uint64_t word)
{
	int width = c->width > 0 ? c->width : 0;
	char format[16];
	double value;

	if (!strchr("douxX", c->letter)) {
		memcpy(&value, &word, sizeof(value));
		make_format(format, c, "");
		return length(snprintf(text, NUMBER_TEXT_MAX, format, width, c->precision, value));
	}
	make_format(format, c, "l");
	if (c->letter == 'd')
		return length(snprintf(text, NUMBER_TEXT_MAX, format, width, c->precision, (long)word));
	return length(snprintf(text, NUMBER_TEXT_MAX, format, width, c->precision,
		(unsigned long)word));
}
