/* SPDX-License-Identifier: MIT */
/*
 * A report as one JSON object:
 *
 *	captures  of each: name, samples, duration_ns, cpus, events
 *	rows      of each: its values by name, and "counts": an object a column, in the order of the
 *	          captures, or of the events side by side; null if there are no samples
 *	left_out  rows and samples below the threshold, and samples that the filters exclude
 *
 * Shares are in percent, weights in events: each sample counts as its period.
 */
#include "cmd/report.h"

#include <inttypes.h>

#include "formats/json.h"

static void append_number(GString *out, const char *name, uint64_t value)
{
	json_append_name(out, name);
	g_string_append_printf(out, "%" PRIu64, value);
}

/* Independent of the locale. */
static void append_share(GString *out, const char *name, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	json_append_name(out, name);
	g_string_append(out, g_ascii_formatd(text, sizeof(text), "%.4f", value));
}

static void append_event(GString *out, const struct profile_event *event)
{
	g_string_append_c(out, '{');
	json_append_member(out, "event", event->text);
	append_number(out, "samples", event->all.samples);
	append_number(out, "weight", event->all.weight);
	append_number(out, "idle_samples", event->idle.samples);
	append_number(out, "own_samples", event->own.samples);
	append_number(out, "lost_samples", profile_lost(event));
	append_number(out, "cut_stacks", event->cut_stacks);
	append_number(out, "throttles", event->throttles);
	append_number(out, "throttled_ns", event->throttled_ns);
	g_string_append_c(out, '}');
}

static void append_capture(GString *out, const struct report_input *capture)
{
	uint32_t i;

	g_string_append_c(out, '{');
	json_append_member(out, "name", capture->input.name);
	json_append_member(out, "source", capture->input.source);
	append_number(out, "samples", capture->profile->samples);
	append_number(out, "duration_ns", capture->profile->duration_ns);
	append_number(out, "cpus", capture->profile->cpus);
	json_append_name(out, "events");
	g_string_append_c(out, '[');
	for (i = 0; i < capture->profile->events->len; i++) {
		if (i)
			g_string_append_c(out, ',');
		append_event(out, profile_event(capture->profile, i));
	}
	g_string_append(out, "]}");
}

static void append_counts(GString *out, const struct report *report,
	const struct breakdown_row *row, uint32_t column)
{
	const struct breakdown_count *c = breakdown_count(report->rows, row, column);

	if (!c->self.samples && !c->total.samples) {
		g_string_append(out, "null");
		return;
	}
	g_string_append_c(out, '{');
	append_number(out, "samples", c->self.samples);
	append_number(out, "weight", c->self.weight);
	append_share(out, "share", breakdown_share(report->rows, row, column, c->self.weight));
	if (report->options.total) {
		append_number(out, "total_samples", c->total.samples);
		append_number(out, "total_weight", c->total.weight);
		append_share(out, "total_share",
			breakdown_share(report->rows, row, column, c->total.weight));
	}
	g_string_append_c(out, '}');
}

static void append_row(GString *out, const struct report *report, const struct breakdown_row *row)
{
	enum breakdown_field i;
	uint32_t column;

	g_string_append_c(out, '{');
	for (i = 0; i < BREAKDOWN_FIELDS; i++)
		if (row->values[i])
			json_append_member(out, breakdown_fields[i], row->values[i]);
	json_append_name(out, "counts");
	g_string_append_c(out, '[');
	for (column = 0; column < report->rows->columns; column++) {
		if (column)
			g_string_append_c(out, ',');
		append_counts(out, report, row, column);
	}
	g_string_append(out, "]}");
}

static void put(GString *text, FILE *out)
{
	fwrite(text->str, 1, text->len, out);
	g_string_truncate(text, 0);
}

static void put_rows(const struct report *report, GString *text, FILE *out)
{
	uint64_t left_out = 0, samples = 0;
	uint32_t i, column, shown = 0;

	for (i = 0; i < report->rows->rows->len; i++) {
		const struct breakdown_row *row = breakdown_row(report->rows, i);

		if (!report_shows(report, row)) {
			left_out++;
			for (column = 0; column < report->rows->columns; column++)
				samples += breakdown_count(report->rows, row, column)->self.samples;
			continue;
		}
		g_string_append(text, shown++ ? ",\n" : "\n");
		append_row(text, report, row);
		put(text, out);
	}
	g_string_append(text, "],\n\"left_out\":{");
	append_number(text, "rows", left_out);
	append_number(text, "samples", samples);
	append_number(text, "filtered_samples", report->rows->filtered);
	g_string_append(text, "}}\n");
	put(text, out);
}

void report_json(const struct report *report, FILE *out)
{
	g_autoptr(GString) text = g_string_new("{\"captures\":[");
	size_t i;

	for (i = 0; i < report->count; i++) {
		if (i)
			g_string_append_c(text, ',');
		append_capture(text, &report->captures[i]);
	}
	g_string_append(text, "],\n");
	if (report->options.side_by_side) {
		g_string_append(text, "\"columns\":[");
		for (i = 0; i < report->rows->events->len; i++) {
			if (i)
				g_string_append_c(text, ',');
			json_append_string(text, report->rows->events->pdata[i]);
		}
		g_string_append(text, "],\n");
	}
	g_string_append(text, "\"rows\":[");
	put(text, out);
	put_rows(report, text, out);
}
