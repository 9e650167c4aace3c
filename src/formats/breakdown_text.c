/* SPDX-License-Identifier: MIT */
/* A breakdown as text: see breakdown_text.h. */
#include "formats/breakdown_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "formats/summary.h"

/* Values are padded to this width; longer ones shift the rest of the line to the right. */
#define WIDTH_MAX 40

struct text_printer {
	const struct breakdown_text *text;
	const struct breakdown *rows;
	int widths[BREAKDOWN_FIELDS]; /* 0 if not shown */
	enum breakdown_field last;    /* not padded */
	GString *line;
	FILE *out;
};

static void put_line(struct text_printer *p)
{
	g_string_append_c(p->line, '\n');
	fwrite(p->line->str, 1, p->line->len, p->out);
	g_string_truncate(p->line, 0);
}

static int length_of(const char *text)
{
	g_autoptr(GString) shown = g_string_new(NULL);

	text_append_cut(shown, text);
	return (int)g_utf8_strlen(shown->str, -1);
}

static void set_widths(struct text_printer *p)
{
	enum breakdown_field i;
	uint32_t row;

	for (i = 0; i < BREAKDOWN_FIELDS; i++) {
		if (!(p->text->options->fields & 1u << i))
			continue;
		p->widths[i] = (int)strlen(breakdown_fields[i]);
		p->last = i;
		for (row = 0; row < p->rows->rows->len; row++) {
			const struct breakdown_row *r = breakdown_row(p->rows, row);

			if (breakdown_text_shows(p->text, r))
				p->widths[i] = MAX(p->widths[i],
					MIN(length_of(r->values[i]), WIDTH_MAX));
		}
	}
}

static void append_value(struct text_printer *p, enum breakdown_field field, const char *value)
{
	gsize begin;
	int width;

	g_string_append(p->line, "  ");
	begin = p->line->len;
	text_append_cut(p->line, value);
	if (field == p->last)
		return;
	width = p->widths[field] - (int)g_utf8_strlen(p->line->str + begin, -1);
	g_string_append_printf(p->line, "%*s", MAX(width, 0), "");
}

/* end: what follows the number */
static void append_values(
	struct text_printer *p, const struct breakdown_row *row, const char *end)
{
	enum breakdown_field i;

	for (i = 0; i < BREAKDOWN_FIELDS; i++)
		if (p->widths[i])
			append_value(p, i, row ? row->values[i] : breakdown_fields[i]);
	g_string_append(p->line, end);
	put_line(p);
}

/* ---- heads ----------------------------------------------------------------------------------- */

static void put_heads(struct text_printer *p)
{
	size_t i;

	for (i = 0; i < p->text->count; i++) {
		const struct breakdown_capture *capture = &p->text->captures[i];
		const struct summary head = {
			.source = capture->origin,
			.own = p->text->options->own,
			.counted = p->rows->counted[i],
			.unresolved = p->rows->unresolved[i],
		};

		if (p->text->count > 1) {
			g_string_append_printf(p->line, "# %zu: ", i + 1);
			g_string_append(p->line, capture->source);
			put_line(p);
		}
		summary_write(capture->profile, &head, p->out);
	}
}

static void put_column_names(struct text_printer *p)
{
	uint32_t i;

	if (!p->text->options->side_by_side)
		return;
	for (i = 0; i < p->rows->events->len; i++) {
		g_string_append_printf(p->line, "# %u: ", i + 1);
		text_append_cut(p->line, p->rows->events->pdata[i]);
		put_line(p);
	}
}

static void put_column_heads(struct text_printer *p)
{
	bool several = p->rows->columns > 1;
	uint32_t i;

	for (i = 0; i < p->rows->columns; i++) {
		char number[16] = "";

		if (several)
			g_snprintf(number, sizeof(number), "%u:", i + 1);
		if (p->text->options->total)
			g_string_append_printf(p->line, "%3s%4s  %7s", number, "total", "share");
		else
			g_string_append_printf(p->line, "%2s%5s", number, "share");
		g_string_append_printf(p->line, "  %7s  ", "samples");
	}
	if (p->text->count > 1)
		g_string_append_printf(p->line, "%8s  ", "change");
	g_string_truncate(p->line, p->line->len - 2);
	append_values(p, NULL, "");
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void append_counts(
	struct text_printer *p, const struct breakdown_row *row, uint32_t column)
{
	const struct breakdown_count *c = breakdown_count(p->rows, row, column);
	bool total = p->text->options->total, any = c->self.samples || c->total.samples;

	if (!any) {
		g_string_append_printf(p->line, "%*s  %7s  ", total ? 16 : 7, "-", "-");
		return;
	}
	if (total)
		g_string_append_printf(p->line, "%6.2f%%  ",
			breakdown_share(p->rows, row, column, c->total.weight));
	g_string_append_printf(p->line, "%6.2f%%  %7" PRIu64 "  ",
		breakdown_share(p->rows, row, column, c->self.weight), c->self.samples);
}

/*
 * The difference of two captures, in percentage points; +++ and --- mark rows of one capture only.
 */
static void append_change(struct text_printer *p, const struct breakdown_row *row)
{
	const struct breakdown_count *a = breakdown_count(p->rows, row, 0);
	const struct breakdown_count *b = breakdown_count(p->rows, row, 1);
	bool total = p->text->options->total;

	if (!a->self.samples && !a->total.samples)
		g_string_append_printf(p->line, "%8s  ", "+++");
	else if (!b->self.samples && !b->total.samples)
		g_string_append_printf(p->line, "%8s  ", "---");
	else
		g_string_append_printf(p->line, "%+7.2f%%  ",
			breakdown_share(p->rows, row, 1, total ? b->total.weight : b->self.weight) -
				breakdown_share(p->rows, row, 0,
					total ? a->total.weight : a->self.weight));
}

/* The colour, by the largest share in any column. */
static const char *colour_of(const struct text_printer *p, const struct breakdown_row *row)
{
	double most = 0;
	uint32_t i;

	for (i = 0; i < p->rows->columns; i++) {
		const struct breakdown_count *c = breakdown_count(p->rows, row, i);
		const uint64_t weight = p->text->options->total ? c->total.weight : c->self.weight;

		most = MAX(most, breakdown_share(p->rows, row, i, weight));
	}
	return text_colour(most);
}

static void put_row(struct text_printer *p, const struct breakdown_row *row)
{
	const char *colour = p->text->colours ? colour_of(p, row) : "";
	uint32_t i;

	g_string_append(p->line, colour);

	for (i = 0; i < p->rows->columns; i++)
		append_counts(p, row, i);
	if (p->text->count > 1)
		append_change(p, row);
	g_string_truncate(p->line, p->line->len - 2);
	append_values(p, row, *colour ? TEXT_COLOUR_END : "");
}

static void put_rows(struct text_printer *p)
{
	uint64_t rows = 0, samples = 0;
	uint32_t i, column;

	for (i = 0; i < p->rows->rows->len; i++) {
		const struct breakdown_row *row = breakdown_row(p->rows, i);

		if (breakdown_text_shows(p->text, row)) {
			put_row(p, row);
			continue;
		}
		rows++;
		for (column = 0; column < p->rows->columns; column++)
			samples += breakdown_count(p->rows, row, column)->self.samples;
	}
	if (rows) {
		g_string_append(p->line, "# left out: ");
		text_append_count(p->line, rows, "row", "rows");
		g_string_append_printf(p->line, " below %g%%, ", p->text->threshold);
		text_append_count(p->line, samples, "sample", "samples");
		put_line(p);
	}
	if (p->rows->filtered) {
		g_string_append(p->line, "# left out: ");
		text_append_count(p->line, p->rows->filtered, "sample that the filters exclude",
			"samples that the filters exclude");
		put_line(p);
	}
}

static void put_idle(struct text_printer *p)
{
	size_t i;
	uint32_t event;

	for (i = 0; i < p->text->count; i++) {
		const struct profile *profile = p->text->captures[i].profile;

		for (event = 0; event < profile->events->len; event++) {
			const struct profile_event *e = profile_event(profile, event);

			if (!e->idle.samples)
				continue;
			g_string_append(p->line, "# idle: ");
			if (p->text->count > 1)
				g_string_append_printf(p->line, "%zu: ", i + 1);
			text_append_count(p->line, e->idle.samples, "sample", "samples");
			g_string_append(p->line, " of ");
			text_append_cut(p->line, e->text);
			put_line(p);
		}
	}
}

bool breakdown_text_shows(const struct breakdown_text *text, const struct breakdown_row *row)
{
	uint32_t i;

	for (i = 0; i < text->rows->columns; i++) {
		const struct breakdown_count *c = breakdown_count(text->rows, row, i);
		uint64_t weight = text->options->total ? c->total.weight : c->self.weight;

		if (breakdown_share(text->rows, row, i, weight) >= text->threshold)
			return true;
	}
	return false;
}

void breakdown_text_write(const struct breakdown_text *text, FILE *out)
{
	struct text_printer p = {
		.text = text,
		.rows = text->rows,
		.line = g_string_new(NULL),
		.out = out,
	};

	set_widths(&p);
	if (text->head) {
		put_heads(&p);
		put_column_names(&p);
	}
	if (text->rows->rows->len)
		put_column_heads(&p);
	put_rows(&p);
	if (text->head)
		put_idle(&p);
	g_string_free(p.line, TRUE);
}
