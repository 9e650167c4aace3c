/* SPDX-License-Identifier: MIT */
/* The options of perf 6.1, by its `perf COMMAND -h`: see perf_options.h. */
#include "cmd/perf_options.h"

#include <stdio.h>
#include <string.h>

/* docs/perf-options: a section for each command, and in it a row for each option, with fixed columns */
static const char page[] =
#include "cmd/perf_options_page.h"
	;

#define LETTER_COLUMN 3
#define NAME_COLUMN 8
#define KIND_COLUMN 33
#define TEXT_COLUMN 44
#define INDENT "  "

/* Before the name of an option, it turns the option off. */
#define NO "no-"

static bool is_row_of(const char *row, char letter, const char *name)
{
	const char *of_row = row + NAME_COLUMN;

	if (letter)
		return row[LETTER_COLUMN] == letter;
	return !strncmp(of_row, name, strlen(name)) && of_row[strlen(name)] == ' ';
}

/* The row of an option of the command; NULL if perf has none. */
static const char *find_row(const char *command, char letter, const char *name)
{
	const char *row;
	char title[64];

	snprintf(title, sizeof(title), "\nperf %s\n\n", command);
	row = strstr(page, title);
	if (!row)
		return NULL;
	for (row += strlen(title); !strncmp(row, INDENT, strlen(INDENT));
		row += strcspn(row, "\n") + 1)
		if (is_row_of(row, letter, name))
			return row;
	return NULL;
}

bool perf_options_answer(
	const char *command, char letter, const char *name, char *text, size_t size)
{
	const char *row = find_row(command, letter, name), *kind;
	const bool negates = !row && !letter && !strncmp(name, NO, strlen(NO));
	bool same;

	if (negates)
		row = find_row(command, 0, name + strlen(NO));
	kind = row ? row + KIND_COLUMN : "";
	same = !strncmp(kind, "same", strlen("same"));
	if (!row || (same && !negates))
		return false;
	snprintf(text, size, "%sperf's --%.*s is %s%s%.*s",
		negates ? "without the option it is off; " : "", (int)strcspn(row + NAME_COLUMN, " "),
		row + NAME_COLUMN,
		same || !strncmp(kind, "other", strlen("other")) ? "here" : "not here",
		same ? "" : ": ", same ? 0 : (int)strcspn(row + TEXT_COLUMN, "\n"), row + TEXT_COLUMN);
	return true;
}
