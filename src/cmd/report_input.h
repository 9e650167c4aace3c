/* SPDX-License-Identifier: MIT */
/* A capture for a report: its model, and its functions. */
#ifndef KPROFS_CMD_REPORT_INPUT_H
#define KPROFS_CMD_REPORT_INPUT_H

#include "capture/functions.h"
#include "capture/profile.h"
#include "cmd/input.h"

struct report_input {
	struct input input;
	struct profile *profile;
	struct symbols *symbols;
	struct functions *names;
};

struct report_input_options {
	bool lines;   /* source lines and inlined functions too, which takes longer */
	bool moments; /* keep the time of each sample */
};

/*
 * Loads the capture and symbolizes it. Shows the progress on a terminal. Returns CMD_FAILED, after
 * printing the error, if it could not be read.
 */
int report_input_open(struct report_input *capture, const struct input_choice *choice,
	const struct report_input_options *options);

/* Prints a line on standard error if the program that finds names is missing. */
void report_input_warn_of_names(void);
void report_input_close(struct report_input *capture);

/*
 * Prints, after the output, which parts of the capture with this name could not be read. Returns
 * CMD_OK if everything was read, otherwise CMD_FAILED.
 */
int report_input_print_profile_damage(const char *name, const struct profile *profile);
int report_input_print_damage(const struct report_input *capture);

#endif
