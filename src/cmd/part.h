/* SPDX-License-Identifier: MIT */
/*
 * The options that select a part of a capture (capture/query.h), for all commands that read one.
 */
#ifndef KPROFS_CMD_PART_H
#define KPROFS_CMD_PART_H

#include <stdbool.h>

#include "capture/query.h"
#include "cmd/cmd.h"

/* Behind the options without letters of any command. */
#define PART_FIRST (CMD_LONG_ONLY + 256)

/* Rows for the tables of options. --event is separate: a command may have another use of it. */
/* clang-format off */
#define PART_OPTIONS									\
	{PART_FIRST + QUERY_LAST, "last", "DURATION",					\
		"only the time before the newest sample, as 10s (ns, us, ms, s, m, h)"},	\
	{PART_FIRST + QUERY_SINCE, "since", "TIME",					\
		"only from TIME on: seconds of CLOCK_MONOTONIC, or @DATE"},		\
	{PART_FIRST + QUERY_UNTIL, "until", "TIME", "only before TIME"},		\
	{PART_FIRST + QUERY_PID, "pid", "PID", "only this process"},			\
	{PART_FIRST + QUERY_TID, "tid", "TID", "only this thread"},			\
	{PART_FIRST + QUERY_COMM, "comm", "NAME", "only processes of this name"},	\
	{PART_FIRST + QUERY_EXE, "exe", "PATH", "only processes of this program"},	\
	{PART_FIRST + QUERY_CPU, "cpu", "CPU", "only this CPU"}
#define PART_OPTION_EVENT								\
	{PART_FIRST + QUERY_EVENT, "event", "EVENT", "only this event, as it was given to kpctl"}
/* clang-format on */

static inline bool part_has(int letter)
{
	return letter >= PART_FIRST;
}

/* Adds the condition of such an option. Returns CMD_OK, or CMD_USAGE after it has printed the error. */
int part_take(const struct command *command, struct query *query, int letter, const char *value);

#endif
