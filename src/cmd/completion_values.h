/* SPDX-License-Identifier: MIT */
/*
 * The values that a shell completes for options and arguments of kprof, for completions.c: events,
 * processes, users, words of control files, and names that occur in the capture.
 */
#ifndef KPROFS_CMD_COMPLETION_VALUES_H
#define KPROFS_CMD_COMPLETION_VALUES_H

#include "cmd/completion_offer.h"

/*
 * Prints what the shell adds itself, as completions_print(), and the values of an argument with this
 * name in the help (EVENT, FILE, ..) that begin with what was typed. option: the long name of the
 * option, NULL for an argument of the command itself.
 */
void completion_values_print(struct completion *completion, const char *argument,
	const char *option);

#endif
