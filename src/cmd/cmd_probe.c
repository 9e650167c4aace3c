/* SPDX-License-Identifier: MIT */
/* kprof probe: runs a program in the language of probes, checks it, or lists probes. */
#include "cmd/commands.h"

#include <getopt.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "cmd/live_probe.h"
#include "probes/ast.h"
#include "probes/listing.h"
#include "probes/targets.h"

static const struct cmd_option options[] = {
	{ 'l', "list", NULL, "list the probes that match the argument, or all" },
	{ 'e', "program", "TEXT",
		"the program; then the first argument is $1 and not a program or its file" },
	{ 'n', "dry-run", NULL, "only check the program" },
	{ 'c', "command", "COMMAND", "run COMMAND, and end with it; cpid is its process" },
	{ 'o', "output", "FILE", "write to FILE in place of standard output" },
	{ 0 },
};

/* ---- lists ------------------------------------------------------------------------------------- */

static int print_line(void *arg, const char *line)
{
	bool *any = arg;

	*any = true;
	return puts(line) < 0;
}

static int list(const char *pattern)
{
	struct targets *targets;
	struct err err = { "" };
	const char *why = "";
	bool any = false;

	if (targets_open(NULL, &targets, &err)) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	listing_run(targets, pattern, print_line, &any);
	if (!targets_types(targets, &why))
		cmd_error("functions of the kernel may be missing: %s", why);
	if (targets_why_no_tracepoints(targets))
		cmd_error("tracepoints are missing: %s", strerror(-targets_why_no_tracepoints(targets)));
	targets_close(targets);
	if (any)
		return cmd_finish_output(CMD_OK);
	cmd_error("no probe matches '%s'", pattern ? pattern : "*");
	return CMD_FAILED;
}

/* ---- programs ---------------------------------------------------------------------------------- */

/* The text of a file, or the argument itself if it is no file but a program. */
static char *read_program(const char *argument)
{
	g_autoptr(GError) error = NULL;
	char *text;
	gsize bytes;

	if (strpbrk(argument, "{\n") && !g_file_test(argument, G_FILE_TEST_EXISTS))
		return g_strdup(argument);
	if (!g_file_get_contents(argument, &text, &bytes, &error)) {
		cmd_error("%s", error->message);
		return NULL;
	}
	if (bytes <= AST_TEXT_MAX && strlen(text) == bytes)
		return text;
	cmd_error("%s is no program: it %s", argument, bytes > AST_TEXT_MAX ? "has more than 64 KiB" :
		"has a NUL byte");
	g_free(text);
	return NULL;
}

static int run_program(const struct command *command, const struct live_probe *probe,
	const char *run_command)
{
	g_auto(GStrv) words = NULL;
	g_autoptr(GError) error = NULL;
	struct live_probe run = *probe;

	if (run_command && !g_shell_parse_argv(run_command, NULL, &words, &error))
		return cmd_usage_error(command, "-c %s: %s", run_command, error->message);
	run.argv = words;
	return live_probe_run(&run);
}

static int run(const struct command *command, int argc, char **argv)
{
	const char *text = NULL, *run_command = NULL;
	struct live_probe probe = { .text = NULL };
	bool lists = false, checks = false;
	g_autofree char *program = NULL;
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'l')
			lists = true;
		else if (letter == 'e')
			text = optarg;
		else if (letter == 'n')
			checks = true;
		else if (letter == 'c')
			run_command = optarg;
		else if (letter == 'o')
			probe.output = optarg;
	}
	if (letter < 0)
		return status;
	if (lists)
		return argc - optind > 1 ? cmd_usage_error(command, "-l takes one pattern") :
			list(argv[optind]);
	if (!text && optind == argc)
		return cmd_usage_error(command, "no program given");
	program = text ? g_strdup(text) : read_program(argv[optind++]);
	if (!program)
		return CMD_FAILED;
	probe.text = program;
	probe.args = (const char *const *)argv + optind;
	/* a child of -c does not run yet: any number that is none of another process */
	if (live_probe_check(program, probe.args, run_command ? 1 : 0))
		return CMD_FAILED;
	return checks ? CMD_OK : run_program(command, &probe, run_command);
}

const struct command cmd_probe = {
	.name = "probe",
	.arguments = "PROGRAM [ARGUMENT...]",
	.summary = "Run a program in the language of probes, as bpftrace does",
	.examples = "kprof probe 'syscall:read:return { @bytes[comm] = hist(retval); }'\n"
		    "kprof probe -l 'tracepoint:sched:*'\n"
		    "kprof probe -c 'ls /' 'syscall:openat:entry /pid == cpid/ { @ = count(); }'\n",
	.options = options,
	.run = run,
	.runs = true,
};
