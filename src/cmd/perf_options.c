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

static bool is_row_of(const char *row, char letter, const char *name)
{
	const char *of_row = row + NAME_COLUMN;

	if (letter)
		return row[LETTER_COLUMN] == letter;
	return !strncmp(of_row, name, strlen(name)) && of_row[strlen(name)] == ' ';
}

bool perf_options_answer(
	const char *command, char letter, const char *name, char *text, size_t size)
{
	const char *row, *kind;
	char title[64];

	snprintf(title, sizeof(title), "\nperf %s\n\n", command);
	row = strstr(page, title);
	if (!row)
		return false;
	for (row += strlen(title); !strncmp(row, INDENT, strlen(INDENT));
		row += strcspn(row, "\n") + 1) {
		kind = row + KIND_COLUMN;
		if (!is_row_of(row, letter, name) || !strncmp(kind, "same", strlen("same")))
			continue;
		snprintf(text, size, "perf's --%.*s is %s: %.*s",
			(int)strcspn(row + NAME_COLUMN, " "), row + NAME_COLUMN,
			strncmp(kind, "other", strlen("other")) ? "not here" : "here",
			(int)strcspn(row + TEXT_COLUMN, "\n"), row + TEXT_COLUMN);
		return true;
	}
	return false;
}
