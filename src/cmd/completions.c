/* SPDX-License-Identifier: MIT */
/* The commands and their options as a table, for shells: see completions.h. */
#include "cmd/completions.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "formats/breakdown.h"
#include "formats/view.h"
#include "tui/rows.h"
#include "prof/events.h"

static void add_word(GString *words, const char *word)
{
	if (words->len)
		g_string_append_c(words, ' ');
	g_string_append(words, word);
}

static void add_events(GString *words)
{
	const char *name;
	bool hardware;
	size_t i;

	add_word(words, "default");
	for (i = 0; (name = events_generic(i, &hardware)) != NULL; i++)
		add_word(words, name);
}

static void add_formats(GString *words)
{
	const struct view_format *format;

	for (format = view_formats; format->name; format++)
		add_word(words, format->name);
}

static void add_fields(GString *words)
{
	size_t i;

	for (i = 0; i < BREAKDOWN_FIELDS; i++)
		add_word(words, breakdown_fields[i]);
}

/* Modes of kpctl's `stack`. */
static void add_stack_modes(GString *words)
{
	static const char *const modes[] = { "user", "kernel", "both", "dwarf", "none" };
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(modes); i++)
		add_word(words, modes[i]);
}

static void add_orders(GString *words)
{
	size_t i;

	for (i = 0; i < ROWS_ORDERS; i++)
		add_word(words, rows_order_names[i]);
}

/* Choices for an argument, by its name in the help. */
static void add_choices(GString *words, const char *argument)
{
	if (strcmp(argument, "EVENT") == 0)
		add_events(words);
	else if (strcmp(argument, "FORMAT") == 0)
		add_formats(words);
	else if (strcmp(argument, "MODE") == 0)
		add_stack_modes(words);
	else if (strcmp(argument, "ORDER") == 0)
		add_orders(words);
	else if (g_str_has_prefix(argument, "FIELD"))
		add_fields(words);
	else
		add_word(words, "-");
}

static void list_option(const struct command *command, const struct cmd_option *option)
{
	const char *argument = option->argument ? option->argument : "-";
	g_autoptr(GString) choices = g_string_new(NULL);
	char letter[2] = "";

	if (option->letter < CMD_LONG_ONLY)
		letter[0] = (char)option->letter;
	add_choices(choices, argument);
	printf("%s\t-%s\t--%s\t%s\t%s\t%s\n", command->name, letter, option->name, argument,
		choices->str, option->help);
}

static void list_command(const struct command *command)
{
	const struct cmd_option *option;
	const char *argument = strstr(command->arguments, "COMMAND") ? "COMMAND"
		: strstr(command->arguments, "FILE") ? "FILE"
						     : "-";

	printf("%s\t-\t-\t%s\t-\t%s\n", command->name, argument, command->summary);
	for (option = command->options; option->letter; option++)
		list_option(command, option);
	printf("%s\t-h\t--help\t-\t-\tprint the options\n", command->name);
}

void completions_list(const struct command *const *commands)
{
	for (; *commands; commands++)
		list_command(*commands);
}
