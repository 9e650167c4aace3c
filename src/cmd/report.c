/* SPDX-License-Identifier: MIT */
/* Functions that the reports as text and as JSON share: see report.h. */
#include "cmd/report.h"

bool report_shows(const struct report *report, const struct breakdown_row *row)
{
	uint32_t i;

	for (i = 0; i < report->rows->columns; i++) {
		const struct breakdown_count *c = breakdown_count(report->rows, row, i);
		uint64_t weight = report->options.total ? c->total.weight : c->self.weight;

		if (breakdown_share(report->rows, row, i, weight) >= report->threshold)
			return true;
	}
	return false;
}
