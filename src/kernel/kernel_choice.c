/* SPDX-License-Identifier: MIT */
/* What is written to a switch. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <string.h>

#include "base/switch_word.h"

int kernel_parse_choice(const char *text, bool was_on, struct kernel_choice *choice, struct err *err)
{
	static const char stack[] = "stack";
	const size_t length = strcspn(text, " \t\n");
	g_autofree char *word = g_strndup(text, length);
	const char *rest = text + length + strspn(text + length, " \t"), *end = rest + strlen(rest);
	enum switch_word to;
	int ret = switch_word_parse(word, &to);

	*choice = (struct kernel_choice){ false };
	if (ret)
		return err_set(err, EINVAL, ret == -ERANGE ? "the number is too large" :
							     "neither on, off, toggle nor a number");
	choice->on = switch_word_apply(to, was_on);
	while (end > rest && strchr(" \t\n", end[-1]))
		end--;
	if (end == rest)
		return 0;
	if (!choice->on)
		return err_set(err, EINVAL, "nothing follows a word that switches off");
	if (g_str_has_prefix(rest, stack) && strchr(" \t\n", rest[strlen(stack)])) {
		choice->stacks = true;
		rest += strlen(stack);
		rest += strspn(rest, " \t");
	}
	if (end <= rest)
		return 0;
	if (end - rest < 2 || rest[0] != '/' || end[-1] != '/')
		return err_set(err, EINVAL,
			"what follows on is the word stack, a filter between two '/', or both");
	choice->filter = g_strndup(rest + 1, (gsize)(end - rest) - 2);
	return 0;
}
