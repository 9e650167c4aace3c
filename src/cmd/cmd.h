/* SPDX-License-Identifier: MIT */
/*
 * The structs and functions that all subcommands of kprof use; commands.h lists the subcommands.
 *
 * The help is generated from the rows, so it always matches the options. cmd_next_option() parses
 * the options from the same rows.
 */
#ifndef KPROFS_CMD_CMD_H
#define KPROFS_CMD_CMD_H

#include <stdbool.h>

/* exit statuses */
enum {
	CMD_OK = 0,
	CMD_FAILED = 1, /* something could not be read or written; the rest was shown */
	CMD_USAGE = 2,
	/* of commands that run a program: the status is kprof's, not the program's */
	CMD_NOT_RUN = 125,
};

/* Numbers of options that have no letter begin here. */
#define CMD_LONG_ONLY 256

struct cmd_option {
	int letter;	      /* 0 ends a command's options; from CMD_LONG_ONLY on it has only a name */
	const char *name;     /* the long one, without dashes */
	const char *argument; /* NULL if it has none */
	const char *help;
};

struct command {
	const char *name;
	const char *arguments; /* after the options */
	const char *summary;   /* one line without a full stop */
	const char *examples;  /* command lines, each with its newline */
	const struct cmd_option *options; /* but for --help, which all have */
	int (*run)(const struct command *command, int argc, char **argv);
	/*
	 * options end at the first argument, since the following ones may be options of a command
	 */
	bool runs;
};

/* Options of all commands that read a capture, for their tables. */
#define CMD_OPTION_MOUNT                                                                           \
	{                                                                                          \
		'm', "mount", "DIR", "read the kpdata of the mount at DIR"                         \
	}

/*
 * Returns the letter of the next option, with its value in optarg, or 0 if there are none left;
 * optind is then the index of the first argument. If it returns a negative value, the error has
 * been printed, and the caller exits with *status.
 */
int cmd_next_option(const struct command *command, int argc, char **argv, int *status);

/*
 * If perf has an option of this letter that does something else, prints how it is said here: for errors
 * that the letter may have caused.
 */
void cmd_explain_letter(const struct command *command, int letter);

/* Prints the options and examples of a command. */
void cmd_print_help(const struct command *command);

/* Prints one line on stderr, after the program's name. */
void cmd_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a usage error and a reference to the help. Returns CMD_USAGE. */
int cmd_usage_error(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether standard output is a terminal that shows colours, and its user wants them (NO_COLOR). */
bool cmd_has_colours(void);

/*
 * Flushes the output. Returns CMD_FAILED, after printing the reason, if not all of it could be
 * written.
 */
int cmd_finish_output(int status);

#endif
