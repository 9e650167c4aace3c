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

static bool has_name(const char *row, const char *name)
{
	return !strncmp(row, name, strlen(name)) && row[strlen(name)] == ' ';
}

/* name: NULL for the letter */
static bool is_row_of(const char *row, char letter, const char *name)
{
	return name ? has_name(row + NAME_COLUMN, name) : row[LETTER_COLUMN] == letter;
}

/* The first row of a section; NULL if the page has none. */
static const char *find_section(const char *name)
{
	const char *rows;
	char title[64];

	snprintf(title, sizeof(title), "\nperf %s\n\n", name);
	rows = strstr(page, title);
	return rows ? rows + strlen(title) : NULL;
}

/* The row after this one, or NULL. */
static const char *next_row(const char *row)
{
	row += strcspn(row, "\n") + 1;
	return !strncmp(row, INDENT, strlen(INDENT)) ? row : NULL;
}

/* The row of an option of the command; NULL if perf has none. */
static const char *find_row(const char *command, char letter, const char *name)
{
	const char *row;

	for (row = find_section(command); row; row = next_row(row))
		if (is_row_of(row, letter, name))
			return row;
	return NULL;
}

static bool is_kind(const char *row, const char *kind)
{
	return !strncmp(row + KIND_COLUMN, kind, strlen(kind));
}

/* "is here: ..." or "is not here: ..." */
static void answer(const char *row, char *text, size_t size)
{
	snprintf(text, size, "is %s: %.*s", is_kind(row, "other") ? "here" : "not here",
		(int)strcspn(row + TEXT_COLUMN, "\n"), row + TEXT_COLUMN);
}

bool perf_options_answer(
	const char *command, char letter, const char *name, char *text, size_t size)
{
	const char *row = find_row(command, letter, letter ? NULL : name);
	const bool negates = !row && !letter && !strncmp(name, NO, strlen(NO));
	char here[160] = "is here";

	if (negates)
		row = find_row(command, 0, name + strlen(NO));
	if (!row || (is_kind(row, "same") && !negates))
		return false;
	if (!is_kind(row, "same"))
		answer(row, here, sizeof(here));
	snprintf(text, size, "%sperf's --%.*s %s", negates ? "without the option it is off; " : "",
		(int)strcspn(row + NAME_COLUMN, " "), row + NAME_COLUMN, here);
	return true;
}

bool perf_options_answer_command(const char *name, char *text, size_t size)
{
	const char *row = find_section("COMMAND");
	char here[160];

	while (row && !has_name(row + strlen(INDENT), name))
		row = next_row(row);
	if (!row || is_kind(row, "same"))
		return false;
	answer(row, here, sizeof(here));
	snprintf(text, size, "perf's %s %s", name, here);
	return true;
}
