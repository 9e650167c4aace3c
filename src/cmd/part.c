/* SPDX-License-Identifier: MIT */
/* Options that select a part of a capture: see part.h. */
#include "cmd/part.h"

#include <glib.h>
#include <string.h>

#include "cmd/mount_choice.h"

int part_take(const struct command *command, struct query *query, int letter, const char *value)
{
	const enum query_key key = (enum query_key)(letter - PART_FIRST);
	struct err err = { "" };

	if (!query_add(query, key, value, &err))
		return CMD_OK;
	return cmd_usage_error(command, "--%s: %s", query_names[key], err.text);
}

int part_versus(const char *name, const struct input_choice *later, struct input_choice *before, char **path)
{
	struct err err = { "" };

	*before = (struct input_choice){ .query = later->query };
	before->query.keys &= ~(1u << QUERY_LAST | 1u << QUERY_SINCE | 1u << QUERY_UNTIL);
	if (strchr(name, '/') || !strcmp(name, "-") || g_file_test(name, G_FILE_TEST_EXISTS)) {
		*path = g_strdup(name);
	} else {
		g_autofree char *file = g_build_filename("sessions", name, "kpdata", NULL);

		if (mount_choice_path(later->mount, file, path, &err)) {
			cmd_error("--versus %s: no such file, and %s", name, err.text);
			return CMD_FAILED;
		}
		if (!g_file_test(*path, G_FILE_TEST_EXISTS)) {
			cmd_error("--versus %s: no such file, and no session of this name", name);
			return CMD_FAILED;
		}
	}
	before->file = *path;
	return CMD_OK;
}
