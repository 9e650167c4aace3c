/* SPDX-License-Identifier: MIT */
/* A capture as the reports need it: its model, and the names of its functions. */
#ifndef KPROFS_CMD_LOADED_H
#define KPROFS_CMD_LOADED_H

#include "cmd/input.h"
#include "capture/functions.h"
#include "capture/profile.h"

struct loaded {
	struct input input;
	struct profile *profile;
	struct symbols *symbols;
	struct functions *names;
};

/*
 * Loads it and finds the names; with `lines` source lines and inlined functions too, which takes
 * longer. On a terminal how far it is gets told. CMD_FAILED: it could not be read, which is said.
 */
int loaded_open(struct loaded *loaded, const struct input_choice *choice, bool lines);
void loaded_close(struct loaded *loaded);

/*
 * Says what of the capture with this name could not be read, after what could. CMD_OK where there
 * is nothing to say, else CMD_FAILED.
 */
int loaded_say_damage(const char *name, const struct profile *profile);
int loaded_report_damage(const struct loaded *loaded);

#endif
