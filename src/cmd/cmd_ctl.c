/* SPDX-License-Identifier: MIT */
/*
 * kprof ctl: writes a command to kpctl, or to another control file of the mount, as echo does. If it
 * is refused, the reason and the usage that kperr has are printed.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "cmd/kpctl_client.h"
#include "cmd/mount_choice.h"
#include "sys/clock.h"

static const struct cmd_option options[] = {
	{'f', "file", "NAME", "write to this file of the mount instead of kpctl"},
	{'m', "mount", "DIR", "write to the mount at DIR"},
	{0},
};

/* What follows this in kperr after the word `help` are the words of the file. */
#define USAGE "; usage: "

/* The note that kperr has of what succeeded; of `help` the words, one a line. */
static void print_note(const char *dir, uint64_t since_ns, bool is_help)
{
	g_autofree char *note = kpctl_client_note(dir, since_ns);
	const char *usage = note ? strstr(note, USAGE) : NULL;
	g_auto(GStrv) words = NULL;
	int i;

	if (note && !is_help)
		cmd_error("%.*s", usage ? (int)(usage - note) : (int)strlen(note), note);
	if (!usage || !is_help)
		return;
	words = g_strsplit(usage + strlen(USAGE), " | ", -1);
	for (i = 0; words[i]; i++)
		puts(words[i]);
}

static int write_words(const char *mount, const char *file, char **words)
{
	g_autofree char *text = g_strjoinv(" ", words), *line = g_strconcat(text, "\n", NULL),
			*dir = g_strdup(mount);
	const uint64_t since_ns = clock_monotonic_ns();
	struct err err;

	if ((!dir && mount_choice_find(&dir, &err)) ||
		kpctl_client_write_file(dir, file, line, &err)) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	print_note(dir, since_ns, strcmp(text, "help") == 0);
	return CMD_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
	const char *file = "kpctl", *mount = NULL;
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'f')
			file = optarg;
		else if (letter == 'm')
			mount = optarg;
	}
	if (letter < 0)
		return status;
	if (optind == argc)
		return cmd_usage_error(command, "no WORD given");
	return write_words(mount, file, argv + optind);
}

const struct command cmd_ctl = {
	.name = "ctl",
	.arguments = "WORD...",
	.summary = "Write a command to kpctl or another control file",
	.examples = "kprof ctl start\n"
		    "kprof ctl event cycles:freq=4999,page-faults\n"
		    "kprof ctl --file events/all 1\n",
	.options = options,
	.run = run,
	.runs = true,
};
