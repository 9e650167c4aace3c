/* SPDX-License-Identifier: MIT */
/* The samples of a profile that a browser shows: those of one event, of all threads or of one. */
#ifndef KPROFS_TUI_SELECTION_H
#define KPROFS_TUI_SELECTION_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/profile.h"

struct selection_thread {
	uint32_t pid, tid;
	const char *process; /* the name of its process at its first sample */
	struct profile_count count;
};

struct selection_choice {
	uint32_t event;
	bool own; /* the samples of the server itself, too */
	bool one_thread;
	uint32_t pid, tid;
};

/*
 * A profile with the chosen cells of another one, which it shares all else with: it must outlive it.
 * The samples of the idle task are left out. Its cells are counted by all formats, those of the server
 * included if they were chosen. Free with selection_destroy().
 */
struct profile *selection_create(const struct profile *profile, const struct selection_choice *choice);
void selection_destroy(struct profile *selected);

/* The threads with samples of the choice (its thread is not used), hottest first. */
GArray *selection_threads(const struct profile *profile, const struct selection_choice *choice);

#endif
