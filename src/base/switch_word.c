/* SPDX-License-Identifier: MIT */
/* The words of switches: see switch_word.h. */
#include "base/switch_word.h"

#include <stdint.h>
#include <string.h>

#include "base/units.h"

int switch_word_parse(const char *text, enum switch_word *word)
{
	uint64_t number;
	int ret = 0;

	if (!strcmp(text, "on"))
		*word = SWITCH_WORD_ON;
	else if (!strcmp(text, "off"))
		*word = SWITCH_WORD_OFF;
	else if (!strcmp(text, "toggle"))
		*word = SWITCH_WORD_TOGGLE;
	else if (!(ret = units_parse_u64(text + (text[0] == '-'), &number)))
		*word = number ? SWITCH_WORD_ON : SWITCH_WORD_OFF;
	return ret;
}
