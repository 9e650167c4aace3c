/* SPDX-License-Identifier: MIT */
/* A capture as the reports need it: its model, and the names of its functions. */
#ifndef KPROFS_CMD_REPORT_INPUT_H
#define KPROFS_CMD_REPORT_INPUT_H

#include "cmd/input.h"
#include "capture/functions.h"
#include "capture/profile.h"

struct report_input {
	struct input input;
	struct profile *profile;
	struct symbols *symbols;
	struct functions *names;
};

/*
 * Loads it and finds the names; with `lines` source lines and inlined functions too, which takes
 * longer. On a terminal how far it is gets told. CMD_FAILED: it could not be read, which is said.
 */
int report_input_open(struct report_input *loaded, const struct input_choice *choice, bool lines);
void report_input_close(struct report_input *loaded);

/*
 * Says what of the capture with this name could not be read, after what could. CMD_OK where there
 * is nothing to say, else CMD_FAILED.
 */
int report_input_say_damage(const char *name, const struct profile *profile);
int report_input_report_damage(const struct report_input *loaded);

#endif
