/* SPDX-License-Identifier: MIT */
/* kprof mark: puts a message into the trace of the server to which programs attach. */
#include "cmd/commands.h"

#include <getopt.h>
#include <glib.h>
#include <string.h>

#include "producers/mark_client.h"

static const struct cmd_option options[] = {
	{'s', "socket", "PATH", "send it to the server that listens at PATH"},
	{0},
};

static int run(const struct command *command, int argc, char **argv)
{
	const char *socket = NULL;
	g_autofree char *text = NULL;
	struct err err = {""};
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0)
		if (letter == 's')
			socket = optarg;
	if (letter < 0)
		return status;
	if (optind == argc)
		return cmd_usage_error(command, "no TEXT given");
	text = g_strjoinv(" ", argv + optind);
	if (!mark_client_send(socket, text, strlen(text), &err))
		return CMD_OK;
	cmd_error("%s", err.text);
	return CMD_FAILED;
}

const struct command cmd_mark = {
	.name = "mark",
	.arguments = "TEXT...",
	.summary = "Write a message into the trace; any user may",
	.examples = "kprof mark the second phase begins\n"
		    "kprof mark \"round $i\"\n",
	.options = options,
	.run = run,
	.runs = true,
};
