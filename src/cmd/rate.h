/* SPDX-License-Identifier: MIT */
/*
 * perf's options --freq, --count and --call-graph, as kpctl takes them. Errors are usage errors: the
 * functions print them and return CMD_USAGE, else CMD_OK. One thread.
 */
#ifndef KPROFS_CMD_RATE_H
#define KPROFS_CMD_RATE_H

#include "base/err.h"
#include "cmd/cmd.h"

struct rate {
	char *modifier; /* for each event; NULL if none was given */
	char *events;	/* with the modifier; NULL if rate_apply() did not make them */
};

/* Of --freq, a number of Hz or `max`, and of --count. */
int rate_set_freq(const struct command *command, struct rate *rate, const char *text);
int rate_set_count(const struct command *command, struct rate *rate, const char *text);

/*
 * Appends the rate to each of the events that has none. *events: those that the user gave; NULL: `current`,
 * the setting of the server, of which the rate is replaced. *events stays as it is without a rate, else
 * it becomes rate->events. Returns -EINVAL if they are no events.
 */
int rate_apply(struct rate *rate, const char *current, const char **events, struct err *err);

void rate_fini(struct rate *rate);

/*
 * The word of kpctl's `stack` for one of perf's ways to take stacks. A size after dwarf is not kept,
 * since kprofs copies what is needed.
 */
int rate_set_graph(const struct command *command, const char *graph, const char **stack);

#endif
