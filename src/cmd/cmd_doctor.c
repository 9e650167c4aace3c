/* SPDX-License-Identifier: MIT */
/* kprof doctor: what this machine allows this user, with a remedy for each restriction. */
#include "cmd/commands.h"

#include <getopt.h>
#include <stdio.h>

#include "cmd/doctor.h"
#include "formats/json.h"

static const struct cmd_option options[] = {
	{'j', "json", NULL, "print JSON"},
	{0},
};

static void print_text(const GArray *findings)
{
	guint i;

	for (i = 0; i < findings->len; i++) {
		const struct doctor_finding *f = &g_array_index(findings, struct doctor_finding, i);

		printf("%-8s %-15s %s\n", doctor_verdicts[f->verdict], f->name, f->text);
		if (f->remedy)
			printf("%-8s %-15s -> %s\n", "", "", f->remedy);
	}
}

static void print_json(const GArray *findings)
{
	g_autoptr(GString) out = g_string_new("{\"findings\":[");
	guint i;

	for (i = 0; i < findings->len; i++) {
		const struct doctor_finding *f = &g_array_index(findings, struct doctor_finding, i);

		g_string_append(out, i ? ",\n{" : "\n{");
		json_append_member(out, "name", f->name);
		json_append_member(out, "verdict", doctor_verdicts[f->verdict]);
		json_append_member(out, "text", f->text);
		if (f->remedy)
			json_append_member(out, "remedy", f->remedy);
		g_string_append_c(out, '}');
	}
	g_string_append(out, "]}\n");
	fputs(out->str, stdout);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct doctor_facts facts;
	int letter, status;
	GArray *findings;
	bool json = false;
	guint i;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0)
		json = true;
	if (letter < 0)
		return status;
	if (optind < argc)
		return cmd_usage_error(command, "it takes no arguments");
	doctor_look(&facts);
	findings = doctor_judge(&facts);
	if (json)
		print_json(findings);
	else
		print_text(findings);
	status = CMD_OK;
	for (i = 0; i < findings->len; i++)
		if (g_array_index(findings, struct doctor_finding, i).verdict == DOCTOR_MISSING)
			status = CMD_FAILED;
	g_array_free(findings, TRUE);
	doctor_forget(&facts);
	return cmd_finish_output(status);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.arguments = "",
	.summary = "Show what this machine allows, and how to make it allow more",
	.examples = "kprof doctor\n"
		    "kprof doctor --json\n",
	.options = options,
	.run = run,
};
