/* SPDX-License-Identifier: MIT */
/* Numbers as users write them: see units.h. */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int units_parse_u64(const char *text, uint64_t *value)
{
	unsigned long long v;
	char *end;

	/* strtoull accepts blanks and signs; here a number begins with a digit */
	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 0);
	if (*end)
		return -EINVAL;
	if (errno == ERANGE)
		return -ERANGE;
	*value = v;
	return 0;
}

/* Reads a decimal number at *text and moves *text past it; lists of CPUs have no other base. */
static int take_decimal(const char **text, uint64_t *value)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	while (isdigit((unsigned char)**text)) {
		v = v * 10 + (uint64_t)(**text - '0');
		if (v > UINT32_MAX)
			return -ERANGE;
		(*text)++;
	}
	*value = v;
	return 0;
}

int units_parse_cpulist(const char *text, unsigned char *bitmap, unsigned int bits)
{
	uint64_t first, last, i;
	int ret;

	memset(bitmap, 0, (bits + 7) / 8);
	for (;;) {
		ret = take_decimal(&text, &first);
		if (ret)
			return ret;
		last = first;
		if (*text == '-') {
			text++;
			ret = take_decimal(&text, &last);
			if (ret)
				return ret;
		}
		if (last < first)
			return -EINVAL;
		if (last >= bits)
			return -ERANGE;
		for (i = first; i <= last; i++)
			bitmap[i / 8] |= (unsigned char)(1 << (i % 8));
		if (!*text)
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}

uint64_t units_round_up_pow2(uint64_t value)
{
	uint64_t pow2 = 1;

	while (pow2 && pow2 < value)
		pow2 <<= 1;
	return pow2;
}
