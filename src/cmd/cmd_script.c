/* SPDX-License-Identifier: MIT */
/* kprof script: the samples one by one with their stacks, in the layout of perf script (formats/script.h). */
#include "cmd/commands.h"

#include <getopt.h>
#include <stdio.h>

#include "cmd/pager.h"
#include "cmd/part.h"
#include "cmd/report_input.h"
#include "formats/script.h"

enum {
	OPTION_NS = CMD_LONG_ONLY,
	OPTION_NO_PAGER,
};

static const struct cmd_option options[] = {
	CMD_OPTION_MOUNT,
	PART_OPTIONS,
	PART_OPTION_EVENT,
	{'F', "fields", "LIST",
		"print these fields: comm,tid,pid,time,cpu,event,ip,sym,dso,symoff,period"},
	{'G', "hide-call-graph", NULL, "print the innermost frame only, in the line of its sample"},
	{OPTION_NS, "ns", NULL, "print times in nanoseconds"},
	{OPTION_NO_PAGER, "no-pager", NULL, "on a terminal, do not use a pager"},
	{0},
};

static int script(const struct input_choice *choice, const struct script_options *how, bool paged)
{
	const struct report_input_options load = {.moments = true};
	struct report_input capture;
	struct pager pager = {0};
	int status = report_input_open(&capture, choice, &load);

	if (status != CMD_OK)
		return status;
	input_print_source(&capture.input, choice);
	if (paged)
		pager_begin(&pager);
	script_write(capture.profile, capture.names, how, stdout);
	status |= report_input_print_damage(&capture);
	report_input_close(&capture);
	status = cmd_finish_output(status);
	pager_end(&pager);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct input_choice choice = {NULL};
	struct script_options how = {0};
	const char *fields = NULL;
	bool paged = true;
	int letter, status;
	struct err err;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (part_has(letter) &&
			part_take(command, &choice.query, letter, optarg) != CMD_OK)
			return CMD_USAGE;
		if (letter == 'm')
			choice.mount = optarg;
		else if (letter == 'F')
			fields = optarg;
		how.no_chain |= letter == 'G';
		how.ns |= letter == OPTION_NS;
		paged &= letter != OPTION_NO_PAGER;
	}
	if (letter < 0)
		return status;
	if (script_set_fields(&how, fields, &err))
		return cmd_usage_error(command, "%s", err.text);
	status = input_choose_several(command, argc, argv, &choice);
	if (status != CMD_OK)
		return status;
	return script(&choice, &how, paged);
}

const struct command cmd_script = {
	.name = "script",
	.arguments = "[FILE...]",
	.summary = "Print each sample with its stack, as perf script does",
	.examples = "kprof script | stackcollapse-perf.pl | flamegraph.pl > flame.svg\n"
		    "kprof script -G -F comm,time,sym --ns capture\n",
	.options = options,
	.run = run,
};
