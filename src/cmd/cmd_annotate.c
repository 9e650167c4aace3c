/* SPDX-License-Identifier: MIT */
/*
 * kprof annotate: the code of one function, disassembled by objdump, with the share of samples
 * beside each instruction. If the code is not available, the addresses with samples are shown.
 */
#include "cmd/commands.h"

#include <getopt.h>
#include <stdio.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cmd/annotate.h"
#include "cmd/pager.h"
#include "cmd/part.h"
#include "cmd/report_input.h"

static const struct cmd_option options[] = {
	CMD_OPTION_MOUNT,
	PART_OPTIONS,
	PART_OPTION_VERSUS,
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
	const char *versus; /* as given; NULL: no earlier capture */
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

/* No function with samples matches: the nearest names, which may have any characters. */
static int refuse_function(const struct arguments *a, const struct report_input *capture)
{
	const char *event = a->annotate.event;
	g_autoptr(GString) near = g_string_new(NULL);
	char text[NEAREST_TEXT_MAX];
	struct nearest nearest;
	uint32_t i;

	nearest_init(&nearest, a->annotate.pattern);
	for (i = 0; !event && i < capture->names->list->len; i++)
		nearest_offer(&nearest, functions_function(capture->names, i)->name);
	text_append(near, nearest_text(&nearest, text, sizeof(text)));
	cmd_error("%s: no samples in a function %s%s%s%s", capture->input.name, a->annotate.pattern,
		event ? " of the event " : "", event ? event : "", near->str);
	return CMD_FAILED;
}

/* Shows the function with its shares in the earlier capture, which may have no samples of it. */
static int print_versus(struct arguments *a, struct pager *pager)
{
	const struct annotate *shown = &a->annotate;
	const struct report_input_options load = { .lines = false };
	struct annotate before = {
		.pattern = functions_function(shown->names, shown->function)->name,
		.is_exact = true,
		.like = shown,
		.own = shown->own,
		.file = PROCESSES_NONE,
	};
	struct report_input earlier;
	struct input_choice choice;
	g_autofree char *path = NULL;
	int status = part_versus(a->versus, &a->choice, &choice, &path);

	if (status == CMD_OK)
		status = report_input_open(&earlier, &choice, &load);
	if (status != CMD_OK)
		return status;
	before.profile = earlier.profile;
	before.names = earlier.names;
	before.source = earlier.input.source;
	/* as in a report: if each capture has one event only, these two are compared */
	if (shown->profile->events->len > 1 || earlier.profile->events->len > 1)
		before.event = profile_event(shown->profile, shown->shown)->text;
	if (annotate_choose(&before))
		annotate_count(&before);
	a->annotate.before = &before;
	print(a, pager);
	annotate_fini(&before);
	status = report_input_print_damage(&earlier);
	report_input_close(&earlier);
	return status;
}

static int annotate(struct arguments *a)
{
	struct report_input capture;
	const struct report_input_options load = {.lines = false};
	int status = report_input_open(&capture, &a->choice, &load);
	struct pager pager = {0};
	struct err err;

	if (status != CMD_OK)
		return status;
	a->annotate.profile = capture.profile;
	a->annotate.names = capture.names;
	a->annotate.source = capture.input.source;
	if (!capture.profile->samples) {
		summary_refuse(capture.profile, &capture.input.origin, &err);
		cmd_error("%s: %s", capture.input.name, err.text);
		status = CMD_FAILED;
	} else if (annotate_choose(&a->annotate)) {
		if (a->versus)
			status = print_versus(a, &pager);
		else
			print(a, &pager);
	} else {
		status = refuse_function(a, &capture);
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
		else if (letter == PART_VERSUS)
			a.versus = optarg;
		a.annotate.no_source |= letter == 'n';
		a.annotate.own |= letter == 's';
		a.json |= letter == 'j';
	}
	if (letter < 0)
		return status;
	if (optind == argc)
		return cmd_usage_error(command, "no FUNCTION given");
	a.annotate.pattern = argv[optind++];
	status = input_choose_several(command, argc, argv, &a.choice);
	return status == CMD_OK ? annotate(&a) : status;
}

const struct command cmd_annotate = {
	.name = "annotate",
	.arguments = "FUNCTION [FILE...]",
	.summary = "Show the code of a function with the shares of its instructions",
	.examples = "kprof annotate main\n"
		    "kprof annotate --event cycles \"read*\" capture\n"
		    "kprof annotate --versus yesterday.data main kprof.data\n",
	.options = options,
	.run = run,
};
