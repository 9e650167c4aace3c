/* SPDX-License-Identifier: MIT */
/* What is written to a switch. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <string.h>

int kernel_parse_choice(const char *text, struct kernel_choice *choice, struct err *err)
{
	static const char stack[] = "stack";
	const char *rest = text + 1, *end;

	*choice = (struct kernel_choice){ .on = text[0] == '1' };
	if ((text[0] != '0' && text[0] != '1') || (rest[0] && rest[0] != ' ' && rest[0] != '\n'))
		return err_set(err, EINVAL, "a switch takes 0 or 1");
	rest += strspn(rest, " \t");
	end = rest + strlen(rest);
	while (end > rest && strchr(" \t\n", end[-1]))
		end--;
	if (end == rest)
		return 0;
	if (!choice->on)
		return err_set(err, EINVAL, "nothing follows 0");
	if (g_str_has_prefix(rest, stack) && strchr(" \t\n", rest[strlen(stack)])) {
		choice->stacks = true;
		rest += strlen(stack);
		rest += strspn(rest, " \t");
	}
	if (end <= rest)
		return 0;
	if (end - rest < 2 || rest[0] != '/' || end[-1] != '/')
		return err_set(err, EINVAL,
			"what follows 1 is the word stack, a filter between two '/', or both");
	choice->filter = g_strndup(rest + 1, (gsize)(end - rest) - 2);
	return 0;
}
