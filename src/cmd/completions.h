/* SPDX-License-Identifier: MIT */
/*
 * What a shell completes after `kprof`, from the table of commands that the help is made from. The
 * scripts in completions/ get it by the hidden `kprof --complete`.
 */
#ifndef KPROFS_CMD_COMPLETIONS_H
#define KPROFS_CMD_COMPLETIONS_H

#include "cmd/cmd.h"

/*
 * words: those of the command line after `kprof`; the last one is being typed and may be empty.
 * commands ends with NULL. Prints what the shell adds itself, as one line:
 *
 *	words        nothing
 *	files        names of files
 *	folders      names of folders
 *	command N    what it completes in another command line, which begins at word N (kprof is word 0)
 *
 * then one line for each possible word: the word, a tab, and its help. Each begins with what was
 * typed. After a word that ends with one of = : / no blank is wanted, since more of it follows.
 * Prints nothing on standard error.
 */
void completions_print(const struct command *const *commands, int count, char **words);

#endif
