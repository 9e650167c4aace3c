/* SPDX-License-Identifier: MIT */
/*
 * A breakdown as text: lines about the captures, the headings of the columns, a line for each row, what is
 * left out, and the samples of the idle task.
 */
#ifndef KPROFS_FORMATS_BREAKDOWN_TEXT_H
#define KPROFS_FORMATS_BREAKDOWN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "formats/breakdown.h"

struct summary_source;

/* A capture that was counted. */
struct breakdown_capture {
	const struct profile *profile;
	const char *source; /* one line: the file or mount and its age */
	const struct summary_source *origin;
};

struct breakdown_text {
	const struct breakdown_capture *captures; /* one, or the two that are compared */
	size_t count;
	const struct breakdown *rows; /* of them, sorted */
	const struct breakdown_options *options; /* with which the rows were made */
	double threshold; /* percent: rows below it in every column are left out, and counted */
	bool colours;
	bool head; /* print the lines about the captures */
};

void breakdown_text_write(const struct breakdown_text *text, FILE *out);

/* Whether a row is above the threshold in any column. */
bool breakdown_text_shows(const struct breakdown_text *text, const struct breakdown_row *row);

#endif
