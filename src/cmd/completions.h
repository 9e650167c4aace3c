/* SPDX-License-Identifier: MIT */
/*
 * The words that the scripts in completions/ complete after `kprof`, from the table of commands
 * that the help is made from. The scripts get them by the hidden `kprof --list-options`.
 */
#ifndef KPROFS_CMD_COMPLETIONS_H
#define KPROFS_CMD_COMPLETIONS_H

#include "cmd/cmd.h"

/*
 * Prints one line for each command and one for each option, in the order of the help. Each line has
 * six fields with tabs between them; "-" is an empty field:
 *
 *	command  -   -       its argument  -        summary
 *	command  -x  --long  its argument  choices  help
 *
 * The argument of a command is COMMAND if it runs one. Arguments are as in the help (FILE, DIR,
 * EVENT and others). Choices are words with blanks between them. commands ends with NULL.
 */
void completions_list(const struct command *const *commands);

#endif
