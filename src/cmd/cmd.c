/* SPDX-License-Identifier: MIT */
/* Options, help and errors of all subcommands of kprof: see cmd.h. */
#include "cmd/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/perf_options.h"

/* No command has more options than this, with --help and the end of the table. */
#define OPTIONS_MAX 48

/* The columns that an option takes before its help, as print_option() writes it. */
static int width_of(const struct cmd_option *o)
{
	return (int)(strlen("-x, --") + strlen(o->name) +
		(o->argument ? strlen(" ") + strlen(o->argument) : 0));
}

static void print_option(const struct cmd_option *o, int width)
{
	char dash[8] = "   ";

	if (o->letter < CMD_LONG_ONLY)
		snprintf(dash, sizeof(dash), "-%c,", o->letter);
	printf("  %s --%s%s%s%*s  %s\n", dash, o->name, o->argument ? " " : "",
		o->argument ? o->argument : "", width - width_of(o), "", o->help);
}

static void print_examples(const char *examples)
{
	const char *end;

	puts("\nExamples:");
	for (; (end = strchr(examples, '\n')); examples = end + 1)
		printf("  %.*s\n", (int)(end - examples), examples);
}

void cmd_print_help(const struct command *command)
{
	static const struct cmd_option help = { 'h', "help", NULL, "print this help" };
	const struct cmd_option *o;
	int width = width_of(&help);

	printf("usage: kprof %s [OPTIONS]%s%s\n\n%s.\n\n", command->name,
		*command->arguments ? " " : "", command->arguments, command->summary);
	for (o = command->options; o->letter; o++)
		if (width_of(o) > width)
			width = width_of(o);
	for (o = command->options; o->letter; o++)
		print_option(o, width);
	print_option(&help, width);
	print_examples(command->examples);
}

/* word: where getopt_long() found an option that the table lacks; optopt is its letter, or 0. */
static int refuse_option(const struct command *command, const char *word)
{
	char name[64], answer[192] = "";

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	if (perf_options_answer(command->name, (char)optopt, name + strspn(name, "-"), answer,
		    sizeof(answer)) && optopt)
		return cmd_usage_error(command, "no option -%c (%s)", optopt, answer);
	if (optopt)
		return cmd_usage_error(command, "no option -%c", optopt);
	if (*answer)
		return cmd_usage_error(command, "no option %s (%s)", word, answer);
	return cmd_usage_error(command, "no option %s", word);
}

void cmd_explain_letter(const struct command *command, int letter)
{
	const struct cmd_option *o = command->options;
	char answer[192];

	while (o->letter && o->letter != letter)
		o++;
	if (o->letter && letter < CMD_LONG_ONLY &&
		perf_options_answer(command->name, (char)letter, NULL, answer, sizeof(answer)))
		fprintf(stderr, "kprof %s: -%c is --%s (%s)\n", command->name, letter, o->name, answer);
}

int cmd_next_option(const struct command *command, int argc, char **argv, int *status)
{
	struct option longs[OPTIONS_MAX] = { { "help", no_argument, NULL, 'h' } };
	char shorts[2 * OPTIONS_MAX + 2] = "+:h";
	const struct cmd_option *o;
	size_t i = 1, n = 3;
	int letter;

	for (o = command->options; o->letter && i < OPTIONS_MAX - 1; o++) {
		longs[i++] = (struct option){ o->name,
			o->argument ? required_argument : no_argument, NULL, o->letter };
		if (o->letter >= CMD_LONG_ONLY)
			continue;
		shorts[n++] = (char)o->letter;
		if (o->argument)
			shorts[n++] = ':';
	}
	letter = getopt_long(argc, argv, command->runs ? shorts : shorts + 1, longs, NULL);
	switch (letter) {
	case -1:
		return 0;
	case 'h':
		cmd_print_help(command);
		*status = cmd_finish_output(CMD_OK);
		return -1;
	case ':':
		*status = cmd_usage_error(command, "%s needs an argument", argv[optind - 1]);
		cmd_explain_letter(command, optopt);
		return -1;
	case '?':
		*status = refuse_option(command, argv[optind - 1]);
		return -1;
	default:
		return letter;
	}
}

void cmd_error(const char *format, ...)
{
	va_list ap;

	fputs("kprof: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int cmd_usage_error(const struct command *command, const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "kprof %s: ", command->name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "; see kprof %s --help\n", command->name);
	return CMD_USAGE;
}

bool cmd_has_colours(void)
{
	const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && terminal && strcmp(terminal, "dumb");
}

int cmd_finish_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cmd_error("the output can't be written: %s", strerror(errno));
	return CMD_FAILED;
}
