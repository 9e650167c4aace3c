/* SPDX-License-Identifier: MIT */
/*
 * kprof convert: writes a capture in another format, with the code that makes the files of views/.
 * The formats are the rows of formats/view.c.
 */
#include "cmd/commands.h"

#include <getopt.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "cmd/convert.h"
#include "cmd/part.h"
#include "formats/view.h"

enum {
	OPTION_WAKERS = CMD_LONG_ONLY,
};

static const struct cmd_option options[] = {
	{'t', "to", "FORMAT", "the format: a name in views/; without -t they are listed"},
	{'o', "output", "FILE", "write to FILE (default -: standard output)"},
	{OPTION_WAKERS, "wakers", NULL,
		"with the stacks of wakers behind those of times away (offcpu:waker)"},
	CMD_OPTION_MOUNT,
	PART_OPTIONS,
	PART_OPTION_EVENT,
	PART_OPTION_VERSUS,
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

static int convert_versus(const struct view_format *format, const struct input_choice *choice,
	const char *versus, const char *output)
{
	g_autofree char *path = NULL;
	struct input_choice before;
	const int status = part_versus(versus, choice, &before, &path);

	return status == CMD_OK ? convert_difference(format, choice, &before, output) : status;
}

static int run(const struct command *command, int argc, char **argv)
{
	const char *format = NULL, *output = NULL, *versus = NULL;
	struct input_choice choice = { NULL };
	const struct view_format *view;
	bool wakers = false;
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
		else if (letter == PART_VERSUS)
			versus = optarg;
		else if (letter == OPTION_WAKERS)
			wakers = true;
	}
	if (letter < 0)
		return status;
	status = input_choose_several(command, argc, argv, &choice);
	if (status != CMD_OK)
		return status;
	if (!format)
		return list_formats();
	view = view_find(format);
	if (!view)
		return refuse_format(command, format);
	if (wakers && !(view->needs & VIEW_WAKERS))
		return cmd_usage_error(command, "%s shows no wakers", format);
	if (versus && wakers)
		return cmd_usage_error(command, "--versus or --wakers, not both");
	if (versus && !(view->needs & VIEW_DIFFERENCE))
		return cmd_usage_error(command,
			"%s shows no difference: flat, tree, flame.svg and report.html do", format);
	return versus ? convert_versus(view, &choice, versus, output) :
			convert_capture(view, wakers, &choice, output);
}

const struct command cmd_convert = {
	.name = "convert",
	.arguments = "[FILE...]",
	.summary = "Write a capture in another format: perf.data, pprof and others",
	.examples = "kprof convert                          lists the formats\n"
		    "kprof convert -t flame.svg -o flame.svg\n"
		    "kprof convert -t flame.svg -o difference.svg --versus yesterday.data kprof.data\n"
		    "kprof convert -t perf.data kprof.data | perf report -i -\n",
	.options = options,
	.run = run,
};
