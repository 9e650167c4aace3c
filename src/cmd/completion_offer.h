/* SPDX-License-Identifier: MIT */
/*
 * The word that is being typed behind `kprof`, and the lines of possible words: what completion_values.c
 * and completion_ctl.c print with.
 */
#ifndef KPROFS_CMD_COMPLETION_OFFER_H
#define KPROFS_CMD_COMPLETION_OFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/input.h"

/* The argument that is being typed, and what was said before it. */
struct completion {
	const char *typed;
	int done; /* bytes of `typed` that are complete: values up to a comma or `=` */
	struct input_choice choice; /* the capture that the command reads; .mount for all commands */
	bool reads; /* the command reads a capture */
	bool counts; /* the command counts events, and takes no samples */
	/* of kprof ctl */
	const char *file; /* the control file; NULL: kpctl */
	const char *word; /* its first word; NULL: that one is being typed */
	int argument;	  /* index of the one that is being typed behind it */
};

/* Prints one value if it begins with what was typed behind `done`. help: may be NULL. */
void completion_offer(const struct completion *completion, const char *value, const char *help);
void completion_offer_all(const struct completion *completion, const char *const *values, size_t count);

/* What was typed up to the last such character is complete. */
void completion_begin_after(struct completion *completion, char separator);

/* Events: further ones behind a comma, modifiers and the names of tracepoints behind a colon. */
void completion_offer_events(struct completion *completion);

/*
 * Events that kprof trace records, further ones behind a comma: system calls, and behind a colon
 * the names of tracepoints.
 */
void completion_offer_kernel_events(struct completion *completion);

#endif
