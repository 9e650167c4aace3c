/* SPDX-License-Identifier: MIT */
/* Options that select a part of a capture: see part.h. */
#include "cmd/part.h"

int part_take(const struct command *command, struct query *query, int letter, const char *value)
{
	const enum query_key key = (enum query_key)(letter - PART_FIRST);
	struct err err = { "" };

	if (!query_add(query, key, value, &err))
		return CMD_OK;
	return cmd_usage_error(command, "--%s: %s", query_names[key], err.text);
}
