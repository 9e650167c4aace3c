/* SPDX-License-Identifier: MIT */
/* The page around the frames of a flame graph: see flame_page.h. */
#include "formats/flame_page.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "formats/difference.h"
#include "formats/summary.h"

#define LINE 16		/* pixels */
#define LINE_CHARS 160 /* fits the page */
#define SPACE_ABOVE 24 /* between two events */

/* flame_script.js as one string */
static const char script[] =
#include "formats/flame_script_js.h"
	;

/*
 * Black on all of these colours has a contrast of more than 7 to 1. What the colours show is also
 * shown otherwise: names of the kernel are slanted, inlined functions have a dashed edge, and the
 * titles have it.
 */
static const char style[] =
	"svg{background:#fff}\n"
	"text{font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#000}\n"
	"text.t{font-size:16px}\n"
	"g.e g text{pointer-events:none}\n"
	"g.e g:hover rect{stroke:#000;stroke-width:1}\n"
	".w{stroke:#fff;stroke-width:.6}\n"
	".e{fill:#dcdcdc}.p{fill:#c9c9d4}.n{fill:#ececec;stroke:#bbb;stroke-width:.3}\n"
	".u0{fill:#ffd783}.u1{fill:#ffe3a3}.u2{fill:#ffc96b}.u3{fill:#f7d794}\n"
	".k0{fill:#a9d1f5}.k1{fill:#bcdcf8}.k2{fill:#9ac8f0}.k3{fill:#b3cdf2}\n"
	".k0+text,.k1+text,.k2+text,.k3+text{font-style:oblique}\n"
	".i0{fill:#b5e3ae}.i1{fill:#c6ebc0}.i2{fill:#a6dba0}.i3{fill:#bfe6a8}\n"
	/* an edge would cover narrow frames */
	".v0{fill:#e6d2fa}.v1{fill:#eddcfc}.v2{fill:#dcc4f5}.v3{fill:#e3cdf2}\n"
	".l0{fill:#f4c6d2}.l1{fill:#f8d3dc}.l2{fill:#efb9c8}.l3{fill:#f2cadb}\n"
	".j0{fill:#e6d2fa}.j1{fill:#eddcfc}.j2{fill:#dcc4f5}.j3{fill:#e3cdf2}\n"
	".l0+text,.l1+text,.l2+text,.l3+text{font-style:oblique}\n"
	".x0{fill:#9fded6}.x1{fill:#b2e6df}.x2{fill:#8fd5cc}.x3{fill:#a6e0d0}\n"
	".y0{fill:#b8d4d8}.y1{fill:#c6dde0}.y2{fill:#abcacf}.y3{fill:#bdd6d2}\n"
	".y0+text,.y1+text,.y2+text,.y3+text{font-style:oblique}\n"
	".z{fill:#e4e4e4}\n"
	".r1{fill:#fbe3dc}.r2{fill:#f9c8b8}.r3{fill:#f5a58c}.r4{fill:#f08a6e}\n"
	".b1{fill:#dfe9f8}.b2{fill:#c2d7f3}.b3{fill:#a3c3ee}.b4{fill:#86aee6}\n"
	".j0.w,.j1.w,.j2.w,.j3.w{stroke:#6b4a90;stroke-width:.6;stroke-dasharray:3 2}\n"
	".i0.w,.i1.w,.i2.w,.i3.w{stroke:#4c7a46;stroke-width:.6;stroke-dasharray:3 2}\n";

/* For the script: matches, frames above a zoomed one, the focus. */
static const char script_style[] =
	"g.e g.m rect{fill:#ff9be0;stroke:#8b0060;stroke-width:.6}\n"
	"g.e g.a rect{opacity:.55}\n"
	"g.e g:focus{outline:none}\n"
	"g.e g:focus rect{stroke:#000;stroke-width:2}\n"
	"input{font:12px monospace;width:100%;box-sizing:border-box;border:1px solid #555}\n";

struct legend_row {
	const char *class;
	const char *text;
	/* only with times away from the CPU; without and with their wakers, for the width of the page */
	enum { ALWAYS, AWAY, NO_WAKERS, WAKERS } when;
};

static const struct legend_row legend[] = {
	{ "p", "process", ALWAYS },
	{ "u0", "program", ALWAYS },
	{ "k0", "kernel", ALWAYS },
	{ "i0 w", "inlined", ALWAYS },
	{ "v0", "program, off CPU", AWAY },
	{ "l0", "kernel, off CPU", AWAY },
	{ "j0 w", "inlined, off CPU", NO_WAKERS },
	{ "x0", "waker", WAKERS },
	{ "y0", "its kernel", WAKERS },
	{ "n", "not drawn", ALWAYS },
	{ NULL },
};

static const struct legend_row change_legend[] = {
	{ "r4", "8 points more, or higher", ALWAYS },
	{ "r3", "2 more", ALWAYS },
	{ "r2", "0.5 more", ALWAYS },
	{ "r1", "more", ALWAYS },
	{ "z", "as before", ALWAYS },
	{ "b1", "less", ALWAYS },
	{ "b2", "0.5 less", ALWAYS },
	{ "b3", "2 less", ALWAYS },
	{ "b4", "8 less", ALWAYS },
	{ "n", "not drawn", ALWAYS },
	{ NULL },
};

void flame_page_escape(GString *svg, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			g_string_append(svg, "&amp;");
			break;
		case '<':
			g_string_append(svg, "&lt;");
			break;
		case '>':
			g_string_append(svg, "&gt;");
			break;
		case '"':
			g_string_append(svg, "&quot;");
			break;
		default:
			g_string_append_c(svg, *text);
		}
	}
}

static void append_line(GString *svg, const char *text, uint32_t y)
{
	g_string_append_printf(svg, "<text x=\"%d\" y=\"%u\">", FLAME_PAD, y);
	flame_page_escape(svg, text);
	g_string_append(svg, "</text>\n");
}

/* Appends lines of printable text, broken at blanks; returns the y of the next line. */
static uint32_t append_lines(GString *svg, char *text, uint32_t y)
{
	while (*text) {
		char *end = text + strlen(text), *at;

		if (g_utf8_strlen(text, -1) > LINE_CHARS) {
			end = g_utf8_offset_to_pointer(text, LINE_CHARS);
			for (at = end; at > text && *at != ' '; at--)
				;
			if (at > text)
				end = at;
		}
		if (*end) {
			g_autofree char *line = g_strndup(text, (gsize)(end - text));

			append_line(svg, line, y);
		} else {
			append_line(svg, text, y);
		}
		y += LINE;
		text = *end == ' ' ? end + 1 : end;
	}
	return y;
}

uint32_t flame_page_append_heading(GString *svg, const char *heading, uint32_t y)
{
	g_autofree char *text = g_strdup(heading);

	y += SPACE_ABOVE;
	g_string_append(svg, "<g class=\"e\">\n");
	y = append_lines(svg, text, y);
	return y - LINE / 2;
}

uint32_t flame_page_append_event(GString *svg, const struct profile_event *event, uint32_t y)
{
	g_autoptr(GString) text = g_string_new(NULL);

	summary_append_event(text, event, false);
	return flame_page_append_heading(svg, text->str, y);
}

static bool has_away(const struct profile *profile)
{
	uint32_t i;

	for (i = 0; profile && i < profile->events->len; i++)
		if (profile_event(profile, i)->away.samples)
			return true;
	return false;
}

static void append_legend(GString *svg, const struct legend_row *row, const struct profile *profile)
{
	const bool away = has_away(profile), wakers = away && profile->waker_stacks;
	uint32_t x = FLAME_PAD;

	for (; row->class; row++) {
		if ((row->when == AWAY && !away) || (row->when == NO_WAKERS && (!away || wakers)) ||
			(row->when == WAKERS && !wakers))
			continue;
		g_string_append_printf(svg,
			"<rect class=\"%s\" x=\"%u\" y=\"60\" width=\"26\" height=\"16\"/>"
			"<text x=\"%u\" y=\"72\">%s</text>\n",
			row->class, x, x + 32, row->text);
		x += 32 + 8 * (uint32_t)strlen(row->text) + 24;
	}
}

static void append_head(GString *svg, const struct flame_page *page)
{
	static const char alone[] = "Callers stand above what they call, the hottest on the left. Width: "
		"share of the event's samples that were not taken in the idle task.";
	static const char compared[] = "Width: share of the event's samples now, without those of the idle "
		"task. Colour: its change since the earlier capture, in percent points.";
	static const char of_map[] = "Callers stand above what they call, the greatest on the left. Width: "
		"share of the map's sum.";
	g_autoptr(GString) text = g_string_new(NULL);

	if (page->profile)
		summary_append_capture(text, page->profile);
	else
		g_string_append(text, "maps");
	if (page->before) {
		g_string_append(text, ", compared with ");
		summary_append_capture(text, page->before);
	}
	g_string_append_printf(svg,
		"<title>Flame graph</title>\n"
		"<text class=\"t\" x=\"%d\" y=\"22\">Flame graph of %s</text>\n",
		FLAME_PAD, text->str);
	append_line(svg, page->before ? compared : page->profile ? alone : of_map, 44);
}

/* What no frame shows: functions that were called in the earlier capture only. */
static uint32_t append_gone(GString *svg, const struct flame_page *page, uint32_t y)
{
	g_autoptr(GString) text = g_string_new(NULL);
	uint32_t i;

	for (i = 0; i < page->profile->events->len; i++) {
		const double share = difference_gone_share(page->difference, i);

		if (share <= 0)
			continue;
		g_string_printf(text, "%.2f%% of the earlier samples of ", share);
		text_append(text, profile_event(page->profile, i)->text);
		g_string_append(text, " were in calls that have no sample now; the view tree names them.");
		y = append_lines(svg, text->str, y);
	}
	return y;
}

static uint32_t append_foot(GString *svg, const struct flame_page *page, uint32_t y)
{
	const struct flame_left_out *left_out = &page->left_out;
	g_autoptr(GString) text = g_string_new(NULL);

	y += SPACE_ABOVE;
	if (left_out->functions) {
		text_append_count(text, left_out->functions, "time a function was",
			"times functions were");
		g_string_append_printf(text,
			" narrower than %.2f pixels or deeper than %d rows, and %s: ",
			left_out->narrowest, FLAME_ROWS_MAX,
			left_out->functions == 1 ? "is drawn as a block" : "are drawn as blocks");
		if (page->profile)
			text_append_count(text, left_out->samples, "sample", "samples");
		else
			g_string_append_printf(text, "%" PRIu64 " of the sum", left_out->samples);
		g_string_append_c(text, '.');
		y = append_lines(svg, text->str, y);
	}
	if (page->before)
		y = append_gone(svg, page, y);
	if (page->profile && page->profile->unknown) {
		g_string_truncate(text, 0);
		text_append_count(text, page->profile->unknown, "record of an unknown type was",
			"records of unknown types were");
		g_string_append(text, " skipped.");
		y = append_lines(svg, text->str, y);
	}
	return y;
}

void flame_page_write(const struct flame_page *page, const GString *events, uint32_t bottom, FILE *out)
{
	g_autoptr(GString) summary = g_string_new(NULL);
	g_autoptr(GString) foot = g_string_new(NULL);
	uint32_t height;

	append_head(summary, page);
	append_legend(summary, page->before ? change_legend : legend, page->profile);
	height = append_foot(foot, page, bottom);
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\" xml:lang=\"en\">\n",
		FLAME_WIDTH, height, FLAME_WIDTH, height);
	fprintf(out, "<style>%s%s</style>\n", style, script_style);
	fwrite(summary->str, 1, summary->len, out);
	fwrite(events->str, 1, events->len, out);
	fwrite(foot->str, 1, foot->len, out);
	fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
}
