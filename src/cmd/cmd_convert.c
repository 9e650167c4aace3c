/* SPDX-License-Identifier: MIT */
/*
 * kprof convert: writes a capture in another format, with the code that makes the files of views/.
 * The formats are the rows of formats/view.c.
 */
#include "cmd/commands.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cmd/convert.h"
#include "cmd/part.h"
#include "formats/view.h"

static const struct cmd_option options[] = {
	{'t', "to", "FORMAT", "the format: a name in views/; without -t they are listed"},
	{'o', "output", "FILE", "write to FILE (default -: standard output)"},
	CMD_OPTION_MOUNT,
	PART_OPTIONS,
	PART_OPTION_EVENT,
	{0},
};

static int list_formats(void)
{
	const struct view_format *format;

	for (format = view_formats; format->name; format++)
		printf("%-14s %s\n", format->name, format->help);
	return cmd_finish_output(CMD_OK);
}

/* Files of views/ that are not made of a capture. */
static int refuse_format(const struct command *command, const char *format)
{
	if (strcmp(format, "ctf") == 0)
		return cmd_usage_error(command,
			"ctf is a format of the trace, and a capture has no "
			"trace: copy views/ctf of the mounted tree with `cp -r`, or use `kprof "
			"trace --ctf` "
			"with copies of cpu/N/trace");
	if (strcmp(format, "metrics") == 0)
		return cmd_usage_error(command, "metrics describe the server, not a capture: copy "
						"views/metrics of the mounted tree with `cp`");
	return cmd_usage_error(command, "no format %s", format);
}

static int run(const struct command *command, int argc, char **argv)
{
	const char *format = NULL, *output = NULL;
	struct input_choice choice = { NULL };
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (part_has(letter) &&
			part_take(command, &choice.query, letter, optarg) != CMD_OK)
			return CMD_USAGE;
		if (letter == 't')
			format = optarg;
		else if (letter == 'o')
			output = optarg;
		else if (letter == 'm')
			choice.mount = optarg;
	}
	if (letter < 0)
		return status;
	status = input_choose(command, argc, argv, &choice);
	if (status != CMD_OK)
		return status;
	if (!format)
		return list_formats();
	if (!view_find(format))
		return refuse_format(command, format);
	return convert_capture(view_find(format), &choice, output);
}

const struct command cmd_convert = {
	.name = "convert",
	.arguments = "[FILE]",
	.summary = "Write a capture in another format: perf.data, pprof and others",
	.examples = "kprof convert                          lists the formats\n"
		    "kprof convert -t flame.svg -o flame.svg\n"
		    "kprof convert -t perf.data kprof.data | perf report -i -\n",
	.options = options,
	.run = run,
};
