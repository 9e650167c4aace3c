/* SPDX-License-Identifier: MIT */
/* A report as text, and what reports as text and as JSON share: see report.h. */
#include "cmd/report.h"

#include "formats/breakdown_text.h"

/* The report as the text format has it. */
static void as_text(const struct report *report, struct breakdown_capture *captures,
	struct breakdown_text *text)
{
	size_t i;

	for (i = 0; i < report->count; i++)
		captures[i] = (struct breakdown_capture){ report->captures[i].profile,
			report->captures[i].input.source, &report->captures[i].input.origin };
	*text = (struct breakdown_text){
		.captures = captures,
		.count = report->count,
		.rows = report->rows,
		.options = &report->options,
		.threshold = report->threshold,
		.colours = report->colours,
		.head = report->head,
	};
}

bool report_shows(const struct report *report, const struct breakdown_row *row)
{
	struct breakdown_capture captures[REPORT_CAPTURES];
	struct breakdown_text text;

	as_text(report, captures, &text);
	return breakdown_text_shows(&text, row);
}

void report_text(const struct report *report, FILE *out)
{
	struct breakdown_capture captures[REPORT_CAPTURES];
	struct breakdown_text text;

	as_text(report, captures, &text);
	breakdown_text_write(&text, out);
}
