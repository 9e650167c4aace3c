/* SPDX-License-Identifier: MIT */
/* What a shell completes: see completions.h. */
#include "cmd/completions.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/completion_values.h"

/* The words before the one that is being typed, as the command would take them. */
struct line {
	const struct command *command;
	const struct cmd_option *wanting; /* its value is being typed */
	struct completion completion;
	int arguments; /* number of those before the word that is being typed */
	int runs_at;   /* index of the first word of another command; 0: none */
	bool ended;    /* no options follow */
};

static const struct command *find_command(const struct command *const *commands, const char *name)
{
	for (; *commands; commands++)
		if (strcmp((*commands)->name, name) == 0)
			return *commands;
	return NULL;
}

/* ---- reading the line -------------------------------------------------------------------------- */

/* text: --name, or --name=VALUE. NULL if there is none. */
static const struct cmd_option *find_long(const struct command *command, const char *text)
{
	const size_t length = strcspn(text + 2, "=");
	const struct cmd_option *option;

	for (option = command->options; option->letter; option++)
		if (strlen(option->name) == length && !memcmp(option->name, text + 2, length))
			return option;
	return NULL;
}

static const struct cmd_option *find_letter(const struct command *command, int letter)
{
	const struct cmd_option *option;

	for (option = command->options; option->letter; option++)
		if (option->letter == letter)
			return option;
	return NULL;
}

/*
 * The option in a word that has a value, or NULL. *value: the value if it is in the word, else
 * NULL: it is the next word.
 */
static const struct cmd_option *find_valued(const struct command *command, const char *text,
	const char **value)
{
	const struct cmd_option *option = NULL;
	const char *letter;

	*value = NULL;
	if (text[1] == '-') {
		option = find_long(command, text);
		if (strchr(text, '='))
			*value = strchr(text, '=') + 1;
		return option && option->argument ? option : NULL;
	}
	for (letter = text + 1; *letter; letter++) {
		option = find_letter(command, *letter);
		if (!option || !option->argument)
			continue;
		if (letter[1])
			*value = letter + 1;
		return option;
	}
	return NULL;
}

/* The values that decide about later ones. */
static void take_value(struct line *line, const struct cmd_option *option, const char *value)
{
	if (strcmp(option->name, "mount") == 0)
		line->completion.choice.mount = value;
	if (strcmp(line->command->name, "ctl") == 0 && strcmp(option->name, "file") == 0)
		line->completion.file = value;
}

/* The name of the argument with this index in the help, to be freed; NULL if there is none. */
static char *name_argument(const struct command *command, int index)
{
	g_auto(GStrv) names = g_strsplit(command->arguments, " ", -1);
	const int count = (int)g_strv_length(names);
	const char *name = "";
	const char *begin;

	if (index < count)
		name = names[index];
	else if (count && strstr(names[count - 1], "..."))
		name = names[count - 1];
	begin = name + strspn(name, "[");
	return *begin ? g_strndup(begin, strspn(begin, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) : NULL;
}

static void take_argument(struct line *line, const char *word, int index)
{
	g_autofree char *name = name_argument(line->command, line->arguments);

	if (g_strcmp0(name, "COMMAND") == 0)
		line->runs_at = index;
	if (g_strcmp0(name, "FILE") == 0)
		line->completion.choice.file = word;
	if (line->arguments == 0)
		line->completion.word = word;
	else
		line->completion.argument++;
	line->arguments++;
	line->ended |= line->command->runs;
}

static void read_line(struct line *line, int count, char **words)
{
	const struct cmd_option *option;
	const char *value;
	int i;

	for (i = 1; i < count - 1 && !line->runs_at; i++) {
		if (line->ended || words[i][0] != '-' || !words[i][1]) {
			take_argument(line, words[i], i);
		} else if (strcmp(words[i], "--") == 0) {
			line->ended = true;
		} else if ((option = find_valued(line->command, words[i], &value))) {
			if (!value && ++i < count - 1)
				value = words[i];
			if (value)
				take_value(line, option, value);
			else
				line->wanting = option;
		}
	}
}

/* ---- printing ----------------------------------------------------------------------------------- */

static void print_options(const struct line *line)
{
	const struct cmd_option *option;
	char text[64];

	puts("words");
	for (option = line->command->options; option->letter; option++) {
		snprintf(text, sizeof(text), "-%c", option->letter < CMD_LONG_ONLY ? option->letter : '-');
		if (text[1] != '-')
			completion_offer(&line->completion, text, option->help);
		snprintf(text, sizeof(text), "--%s", option->name);
		completion_offer(&line->completion, text, option->help);
	}
	completion_offer(&line->completion, "-h", "print the options");
	completion_offer(&line->completion, "--help", "print the options");
}

static void print_argument(struct line *line, int index)
{
	g_autofree char *name = name_argument(line->command, line->arguments);

	if (!name)
		print_options(line);
	else if (strcmp(name, "COMMAND") == 0)
		printf("command %d\n", index + 1);
	else
		completion_values_print(&line->completion, name, NULL);
}

static void print_line(struct line *line, int count)
{
	const char *typed = line->completion.typed;
	const struct cmd_option *option = line->wanting;

	if (line->runs_at) {
		printf("command %d\n", line->runs_at + 1);
		return;
	}
	if (!option && !line->ended && g_str_has_prefix(typed, "--") && strchr(typed, '=')) {
		option = find_long(line->command, typed);
		line->completion.done = (int)(strchr(typed, '=') + 1 - typed);
	}
	if (option)
		completion_values_print(&line->completion, option->argument, option->name);
	else if (!line->ended && typed[0] == '-')
		print_options(line);
	else
		print_argument(line, count - 1);
}

static void print_commands(const struct command *const *commands, const struct completion *completion)
{
	puts("words");
	for (; *commands; commands++)
		completion_offer(completion, (*commands)->name, (*commands)->summary);
}

static void print_first(const struct command *const *commands, const struct completion *completion)
{
	print_commands(commands, completion);
	completion_offer(completion, "help", "print the options of a command");
	completion_offer(completion, "--help", "print the commands");
	completion_offer(completion, "--version", "print the version");
	completion_offer(completion, "-V", "print the version");
}

void completions_print(const struct command *const *commands, int count, char **words)
{
	struct line line = {.completion.typed = count ? words[count - 1] : ""};

	/* nothing that is read for the values may disturb the line that is being typed */
	if (!freopen("/dev/null", "w", stderr))
		return;
	if (count <= 1) {
		print_first(commands, &line.completion);
	} else if (strcmp(words[0], "help") == 0 && count == 2) {
		print_commands(commands, &line.completion);
	} else if ((line.command = find_command(commands, words[0]))) {
		line.completion.counts = line.command == &cmd_stat;
		line.completion.reads = strstr(line.command->arguments, "FILE") != NULL;
		read_line(&line, count, words);
		print_line(&line, count);
	} else {
		puts("words");
	}
}
