/* SPDX-License-Identifier: MIT */
/* Completions for bash, zsh and fish: see completions.h. */
#include "cmd/completions.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "prof/events.h"
#include "view/breakdown.h"
#include "view/view.h"

/* ---- what an argument can be ------------------------------------------------------------------ */

enum kind {
	KIND_OTHER, /* nothing to offer */
	KIND_FILE,
	KIND_DIR,
	KIND_WORDS,
};

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

/* Of kpctl's `stack`. */
static void add_stack_modes(GString *words)
{
	static const char *const modes[] = { "user", "kernel", "both", "dwarf", "none" };
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(modes); i++)
		add_word(words, modes[i]);
}

/* By the word that the help has for it. */
static enum kind kind_of(const char *argument, GString *words)
{
	if (strcmp(argument, "FILE") == 0)
		return KIND_FILE;
	if (strcmp(argument, "DIR") == 0)
		return KIND_DIR;
	if (strcmp(argument, "EVENT") == 0)
		add_events(words);
	else if (strcmp(argument, "FORMAT") == 0)
		add_formats(words);
	else if (strcmp(argument, "MODE") == 0)
		add_stack_modes(words);
	else if (g_str_has_prefix(argument, "FIELD"))
		add_fields(words);
	return words->len ? KIND_WORDS : KIND_OTHER;
}

/* ---- bash ------------------------------------------------------------------------------------- */

static void bash_option(const struct cmd_option *o)
{
	g_autoptr(GString) words = g_string_new(NULL);

	printf("\t\t-%c|--%s) ", o->letter, o->name);
	switch (kind_of(o->argument, words)) {
	case KIND_FILE:
		printf("return ;;\n"); /* readline's own */
		break;
	case KIND_DIR:
		printf("mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;;\n");
		break;
	case KIND_WORDS:
		printf("mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\"); return ;;\n", words->str);
		break;
	case KIND_OTHER:
		printf("COMPREPLY=(); return ;;\n");
		break;
	}
}

static void bash_command(const struct command *command)
{
	const struct cmd_option *o;
	bool any = false;

	printf("\t%s)\n\t\twords='", command->name);
	for (o = command->options; o->letter; o++)
		printf("-%c --%s ", o->letter, o->name);
	printf("-h --help'\n\t\tvalued='");
	for (o = command->options; o->letter; o++)
		if (o->argument)
			printf("|-%c|--%s", o->letter, o->name);
	printf("|'\n\t\truns=%d\n", command->runs);
	for (o = command->options; o->letter; o++)
		any |= o->argument != NULL;
	if (any) {
		printf("\t\t_kprof_inside && case $prev in\n");
		for (o = command->options; o->letter; o++)
			if (o->argument)
				bash_option(o);
		printf("\t\tesac\n");
	}
	printf("\t\t;;\n");
}

static void print_bash(const struct command *const *commands)
{
	const struct command *const *c;

	puts("# kprof(1): completions for bash\n"
	     "# made by `kprof --completions bash`\n"
	     "\n"
	     "# where the command begins that kprof runs: `at`, 0 where it is not there yet\n"
	     "_kprof_find_command() {\n"
	     "\tlocal i\n"
	     "\tat=0\n"
	     "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	     "\t\tcase ${COMP_WORDS[i]} in\n"
	     "\t\t--) at=$((i + 1)); return ;;\n"
	     "\t\t-*) [[ $valued != *\"|${COMP_WORDS[i]}|\"* ]] || ((i++)) ;;\n"
	     "\t\t*) at=$i; return ;;\n"
	     "\t\tesac\n"
	     "\tdone\n"
	     "}\n"
	     "\n"
	     "# whether this is still among kprof's own words\n"
	     "_kprof_inside() {\n"
	     "\tlocal at\n"
	     "\t((runs)) || return 0\n"
	     "\t_kprof_find_command\n"
	     "\t((at == 0))\n"
	     "}\n"
	     "\n"
	     "_kprof() {\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	     "\tlocal words='' valued='' runs=0\n"
	     "\tCOMPREPLY=()");
	printf("\tif ((COMP_CWORD == 1)); then\n\t\tmapfile -t COMPREPLY < <(compgen -W '");
	for (c = commands; *c; c++)
		printf("%s ", (*c)->name);
	puts("--help --version' -- \"$cur\")\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in");
	for (c = commands; *c; c++)
		bash_command(*c);
	puts("\tesac\n"
	     "\tif ! _kprof_inside; then\n"
	     "\t\tlocal at\n"
	     "\t\t_kprof_find_command\n"
	     "\t\t((at < COMP_CWORD)) || mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	     "\telif [[ $cur == -* ]]; then\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	     "\telif ((runs)); then\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	     "\tfi\n"
	     "}\n"
	     "\n"
	     "complete -o default -F _kprof kprof");
}

/* ---- zsh -------------------------------------------------------------------------------------- */

/* Between single quotes, where also brackets and colons mean something. */
static void put_zsh(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr("[]:\\", *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void zsh_option(const struct cmd_option *o)
{
	g_autoptr(GString) words = g_string_new(NULL);

	printf("\t\t\t'*'{-%c,--%s}'[", o->letter, o->name);
	put_zsh(o->help);
	printf("]");
	if (o->argument) {
		printf(":");
		put_zsh(o->argument);
		switch (kind_of(o->argument, words)) {
		case KIND_FILE:
			printf(":_files");
			break;
		case KIND_DIR:
			printf(":_files -/");
			break;
		case KIND_WORDS:
			printf(":(%s)", words->str);
			break;
		case KIND_OTHER:
			printf(": ");
			break;
		}
	}
	printf("' \\\n");
}

static void print_zsh(const struct command *const *commands)
{
	const struct command *const *c;
	const struct cmd_option *o;

	puts("#compdef kprof\n"
	     "# kprof(1): completions for zsh\n"
	     "# made by `kprof --completions zsh`\n"
	     "\n"
	     "_kprof() {\n"
	     "\tlocal -a commands=(");
	for (c = commands; *c; c++) {
		printf("\t\t'%s:", (*c)->name);
		put_zsh((*c)->summary);
		puts("'");
	}
	puts("\t)\n"
	     "\tif ((CURRENT == 2)); then\n"
	     "\t\t_describe command commands\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tlocal command=$words[2]\n"
	     "\tshift words\n"
	     "\t((CURRENT--))\n"
	     "\tcase $command in");
	for (c = commands; *c; c++) {
		printf("\t%s)\n\t\t_arguments -s \\\n", (*c)->name);
		for (o = (*c)->options; o->letter; o++)
			zsh_option(o);
		printf("\t\t\t'(- *)'{-h,--help}'[print the options]' \\\n");
		printf("\t\t\t'%s'\n\t\t;;\n",
			(*c)->runs ? "*::command:_normal" : strstr((*c)->arguments, "FILE")
				? "*:file:_files"
				: "*: :");
	}
	puts("\tesac\n"
	     "}\n"
	     "\n"
	     "_kprof \"$@\"");
}

/* ---- fish ------------------------------------------------------------------------------------- */

static void put_fish(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
}

static void fish_option(const struct command *command, const struct cmd_option *o)
{
	g_autoptr(GString) words = g_string_new(NULL);

	printf("complete -c kprof -n '__fish_seen_subcommand_from %s' -s %c -l %s", command->name,
		o->letter, o->name);
	if (o->argument) {
		switch (kind_of(o->argument, words)) {
		case KIND_FILE:
			printf(" -r -F");
			break;
		case KIND_DIR:
			printf(" -x -a '(__fish_complete_directories)'");
			break;
		case KIND_WORDS:
			printf(" -x -a '%s'", words->str);
			break;
		case KIND_OTHER:
			printf(" -x");
			break;
		}
	}
	printf(" -d '");
	put_fish(o->help);
	puts("'");
}

static void print_fish(const struct command *const *commands)
{
	const struct command *const *c;
	const struct cmd_option *o;

	puts("# kprof(1): completions for fish\n"
	     "# made by `kprof --completions fish`");
	for (c = commands; *c; c++) {
		printf("complete -c kprof -f -n __fish_use_subcommand -a %s -d '", (*c)->name);
		put_fish((*c)->summary);
		puts("'");
	}
	for (c = commands; *c; c++) {
		for (o = (*c)->options; o->letter; o++)
			fish_option(*c, o);
		printf("complete -c kprof -n '__fish_seen_subcommand_from %s' -s h -l help"
		       " -d 'print the options'\n", (*c)->name);
		if (!(*c)->runs && !strstr((*c)->arguments, "FILE"))
			printf("complete -c kprof -n '__fish_seen_subcommand_from %s' -f\n",
				(*c)->name);
	}
}

int completions_print(const struct command *const *commands, const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		print_bash(commands);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(commands);
	else if (strcmp(shell, "fish") == 0)
		print_fish(commands);
	else
		return -1;
	return 0;
}
