/* SPDX-License-Identifier: MIT */
/* Formats of printf(). */
#include "probes/print_format.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Digits; -1 if there are none, more than the greatest if they are too large. */
static int take_digits(const char **at)
{
	int number = -1;

	for (; isdigit((unsigned char)**at); ++*at)
		if (number <= PRINT_FORMAT_WIDTH_MAX)
			number = (number < 0 ? 0 : number) * 10 + (**at - '0');
	return number;
}

/* Behind the '%'. */
static int take_conversion(const char **at, struct print_format_part *part)
{
	size_t flags = 0;

	for (; **at && strchr("-+ #0", **at); ++*at)
		if (flags < sizeof(part->flags) - 1 && !strchr(part->flags, **at))
			part->flags[flags++] = **at;
	part->width = take_digits(at);
	if (**at == '.') {
		++*at;
		part->precision = take_digits(at);
		if (part->precision < 0)
			part->precision = 0;
	}
	*at += strspn(*at, "lhzjtq");
	if (!**at || !strchr("diuxXocpsr", **at) || part->width > PRINT_FORMAT_WIDTH_MAX ||
		part->precision > PRINT_FORMAT_WIDTH_MAX)
		return -EINVAL;
	part->letter = *(*at)++;
	return 1;
}

int print_format_next(const char **at, struct print_format_part *part)
{
	const char *begin = *at;
	int ret = 1;

	*part = (struct print_format_part){ .text = begin, .width = -1, .precision = -1 };
	if (!*begin)
		return 0;
	if (begin[0] == '%' && begin[1] == '%') {
		*at += 2;
		part->length = 1;
		return 1;
	}
	if (*begin == '%') {
		++*at;
		ret = take_conversion(at, part);
	} else {
		*at += strcspn(begin, "%");
	}
	part->length = (size_t)(*at - begin);
	return ret;
}
