/* SPDX-License-Identifier: MIT */
/*
 * kprof annotate: the code of one function, disassembled by objdump, with the share of samples
 * beside each instruction. If the code is not available, the addresses with samples are shown.
 */
#include "cmd/commands.h"

#include <getopt.h>
#include <stdio.h>

#include "cmd/annotate.h"
#include "cmd/pager.h"
#include "cmd/part.h"
#include "cmd/report_input.h"

static const struct cmd_option options[] = {
	CMD_OPTION_MOUNT,
	PART_OPTIONS,
	{'e', "event", "EVENT", "show the samples of this event (default: the one with most)"},
	{'n', "no-source", NULL, "show machine code only, without source lines"},
	{'s', "self", NULL, "count the samples taken in the server itself too"},
	{'j', "json", NULL, "print JSON"},
	{0},
};

/* What the command line says. */
struct arguments {
	struct input_choice choice;
	struct annotate annotate;
	bool json, colours;
};

static void print(struct arguments *a, struct pager *pager)
{
	g_autoptr(GString) out = g_string_new(NULL);
	struct err err = { "" };

	if (annotate_read(&a->annotate, &err))
		cmd_error("the code can't be shown: %s", err.text);
	if (!a->json)
		pager_begin(pager);
	if (a->json)
		annotate_json(&a->annotate, out);
	else
		annotate_text(&a->annotate, a->colours, out);
	annotate_fini(&a->annotate);
	fwrite(out->str, 1, out->len, stdout);
}

static int annotate(struct arguments *a)
{
	const char *event = a->annotate.event;
	struct report_input capture;
	const struct report_input_options load = {.lines = false};
	int status = report_input_open(&capture, &a->choice, &load);
	struct pager pager = {0};

	if (status != CMD_OK)
		return status;
	a->annotate.profile = capture.profile;
	a->annotate.names = capture.names;
	a->annotate.source = capture.input.source;
	if (annotate_choose(&a->annotate)) {
		print(a, &pager);
	} else {
		cmd_error("%s: no samples in a function %s%s%s", capture.input.name, a->annotate.pattern,
			event ? " of the event " : "", event ? event : "");
		status = CMD_FAILED;
	}
	status |= report_input_print_damage(&capture);
	report_input_close(&capture);
	status = cmd_finish_output(status);
	pager_end(&pager);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct arguments a = { .annotate.file = PROCESSES_NONE, .colours = cmd_has_colours() };
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (part_has(letter) &&
			part_take(command, &a.choice.query, letter, optarg) != CMD_OK)
			return CMD_USAGE;
		if (letter == 'm')
			a.choice.mount = optarg;
		else if (letter == 'e')
			a.annotate.event = optarg;
		a.annotate.no_source |= letter == 'n';
		a.annotate.own |= letter == 's';
		a.json |= letter == 'j';
	}
	if (letter < 0)
		return status;
	if (optind == argc)
		return cmd_usage_error(command, "no FUNCTION given");
	a.annotate.pattern = argv[optind++];
	if (optind < argc)
		a.choice.file = argv[optind++];
	if (optind < argc || (a.choice.file && a.choice.mount))
		return cmd_usage_error(
			command, "give one FUNCTION, and at most one FILE or --mount DIR");
	return annotate(&a);
}

const struct command cmd_annotate = {
	.name = "annotate",
	.arguments = "FUNCTION [FILE]",
	.summary = "Show the code of a function with the shares of its instructions",
	.examples = "kprof annotate main\n"
		    "kprof annotate --event cycles \"read*\" capture\n",
	.options = options,
	.run = run,
};
