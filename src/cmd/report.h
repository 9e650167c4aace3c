/* SPDX-License-Identifier: MIT */
/* Prints a breakdown of samples for `kprof report`: as text in columns, or as JSON. */
#ifndef KPROFS_CMD_REPORT_H
#define KPROFS_CMD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/report_input.h"
#include "formats/breakdown.h"

#define REPORT_CAPTURES 2

struct report {
	const struct report_input *captures; /* one, or the REPORT_CAPTURES to be compared */
	size_t count;
	struct breakdown_options options;
	double threshold; /* percent: rows below it in every column are left out, and counted */
	bool colours;     /* the output is a terminal that shows colours */
	bool head;        /* print the lines about the captures */
	const struct breakdown *rows; /* sorted */
};

void report_text(const struct report *report, FILE *out);
void report_json(const struct report *report, FILE *out);

/* Returns whether a row is above the threshold. */
bool report_shows(const struct report *report, const struct breakdown_row *row);

#endif
