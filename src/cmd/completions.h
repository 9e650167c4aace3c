/* SPDX-License-Identifier: MIT */
/*
 * What shells complete behind `kprof`, made from the table of the commands, as their help is. Run
 * at build time, by the hidden `kprof --completions SHELL`.
 */
#ifndef KPROFS_CMD_COMPLETIONS_H
#define KPROFS_CMD_COMPLETIONS_H

#include "cmd/cmd.h"

/* Prints the script for bash, zsh or fish; -1: there is none for this shell. commands end with NULL. */
int completions_print(const struct command *const *commands, const char *shell);

#endif
