/* SPDX-License-Identifier: MIT */
/* Writes a capture in one of the formats of views/. Each returns a status of the command. */
#ifndef KPROFS_CMD_CONVERT_H
#define KPROFS_CMD_CONVERT_H

#include "cmd/input.h"
#include "formats/view.h"

/*
 * Writes the capture to a file, or to standard output if that is NULL or "-". Prints errors. wakers: as of
 * view_load().
 */
int convert_capture(const struct view_format *format, bool wakers, const struct input_choice *choice,
	const char *output);

/* The same with the difference from the earlier capture `before`, in a format that shows one. */
int convert_difference(const struct view_format *format, const struct input_choice *choice,
	const struct input_choice *before, const char *output);

#endif
