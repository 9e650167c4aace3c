/* SPDX-License-Identifier: MIT */
/*
 * The options that select a part of a capture (capture/query.h), for all commands that read one.
 */
#ifndef KPROFS_CMD_PART_H
#define KPROFS_CMD_PART_H

#include <stdbool.h>

#include "capture/query.h"
#include "cmd/cmd.h"
#include "cmd/input.h"

/* Behind the options without letters of any command. */
#define PART_FIRST (CMD_LONG_ONLY + 256)

/* Rows for the tables of options. --event is separate: a command may have another use of it. */
/* clang-format off */
#define PART_OPTIONS_TIME								\
	{PART_FIRST + QUERY_LAST, "last", "DURATION",					\
		"only the time before the newest sample, as 10s (ns, us, ms, s, m, h)"},	\
	{PART_FIRST + QUERY_SINCE, "since", "TIME",					\
		"only from TIME on: seconds of CLOCK_MONOTONIC, or @DATE"},		\
	{PART_FIRST + QUERY_UNTIL, "until", "TIME", "only before TIME"}
#define PART_OPTIONS_PROGRAM								\
	{PART_FIRST + QUERY_COMM, "comm", "NAME", "only processes of this name"},	\
	{PART_FIRST + QUERY_EXE, "exe", "PATH", "only processes of this program"}
#define PART_OPTIONS									\
	PART_OPTIONS_TIME,								\
	{PART_FIRST + QUERY_PID, "pid", "PID", "only this process"},			\
	{PART_FIRST + QUERY_TID, "tid", "TID", "only this thread"},			\
	PART_OPTIONS_PROGRAM,								\
	{PART_FIRST + QUERY_UID, "uid", "UID", "only processes of this user, by its number"},	\
	{PART_FIRST + QUERY_HOST, "host", "NAME", "only this machine, by its name or machine-id"}, \
	{PART_FIRST + QUERY_CPU, "cpu", "CPU", "only this CPU"}
#define PART_OPTION_EVENT								\
	{PART_FIRST + QUERY_EVENT, "event", "EVENT", "only this event, as it was given to kpctl"}
#define PART_VERSUS (PART_FIRST - 1)
#define PART_OPTION_VERSUS								\
	{PART_VERSUS, "versus", "NAME", "compare with session NAME of the mount, or with file NAME"}
/* clang-format on */

static inline bool part_has(int letter)
{
	return letter >= PART_FIRST;
}

/* Adds the condition of such an option. Returns CMD_OK, or CMD_USAGE after it has printed the error. */
int part_take(const struct command *command, struct query *query, int letter, const char *value);

/*
 * The earlier capture of --versus: the file of this name, if there is one, or the session of the mount that
 * `later` is read from. The conditions are those of `later` apart from times, as in views/versus. The path
 * is in *path, to be freed. Returns CMD_OK, or CMD_FAILED after it has printed the error.
 */
int part_versus(const char *name, const struct input_choice *later, struct input_choice *before, char **path);

#endif
