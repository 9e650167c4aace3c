/* SPDX-License-Identifier: MIT */
/*
 * What the scripts in completions/ complete behind `kprof`, from the table of the commands, as their
 * help is. They ask for it by the hidden `kprof --list-options`.
 */
#ifndef KPROFS_CMD_COMPLETIONS_H
#define KPROFS_CMD_COMPLETIONS_H

#include "cmd/cmd.h"

/*
 * Prints one line for each command and one for each option, in the order of their help. Each has six
 * fields with tabs between them, "-" where there is nothing to say:
 *
 *	command	-	-	its argument	-	summary		COMMAND: one that it runs
 *	command	-x	--long	its argument	choices	help
 *
 * Arguments are as in the help (FILE, DIR, EVENT and others). Choices are words with blanks between
 * them. commands ends with NULL.
 */
void completions_list(const struct command *const *commands);

#endif
