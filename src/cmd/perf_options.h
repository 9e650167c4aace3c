/* SPDX-License-Identifier: MIT */
/*
 * What kprof has in place of perf's options, for users who know perf. The program contains docs/perf-options.
 * Thread-safe.
 */
#ifndef KPROFS_CMD_PERF_OPTIONS_H
#define KPROFS_CMD_PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes into `text` what kprof has in place of an option of `perf COMMAND`, or why it has nothing.
 * If letter is 0, the option is `name`, without dashes; no-NAME is answered too if perf has NAME.
 * Returns false if perf has no such option, or kprof has the same.
 */
bool perf_options_answer(
	const char *command, char letter, const char *name, char *text, size_t size);

/*
 * The same for a command of perf's, for example "c2c". Returns false if perf has no such command, or kprof
 * has it too.
 */
bool perf_options_answer_command(const char *name, char *text, size_t size);

#endif
