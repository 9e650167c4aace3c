/* SPDX-License-Identifier: MIT */
/* Draws a browser: the event, the headings, the rows or the lines of a page, and the keys. */
#include "tui/browser_state.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "formats/summary.h"
#include "tui/fit.h"

/* The widest columns of processes and files; functions take the rest. */
#define PROCESS_WIDTH_MAX 16
#define FILE_WIDTH_MAX 32

/* Processes take at most this part of the width. */
#define PROCESS_PART 5

/* Of a share or a number, with the blanks after it. */
#define FIGURE_WIDTH 9

/* A column is shown from this width of the screen on. */
#define TOTAL_FROM 30
#define SAMPLES_FROM 45
#define BEFORE_FROM 55
#define PROCESS_FROM 60
#define FILE_FROM 75

/* Deeper rows are not indented further than this part of the function's column. */
#define INDENT_PART 2

struct columns {
	unsigned int all, process, function, file; /* 0 if not shown */
	bool total, samples;
	bool before; /* the share in an earlier capture and its change */
};

/* As wide as the longest name of a process so far, so that it does not change at each refresh. */
static unsigned int process_width(struct browser *b, unsigned int width)
{
	guint i;

	b->process_bytes = MAX(b->process_bytes, strlen("process"));
	for (i = 0; i < b->rows->top->len && b->process_bytes < PROCESS_WIDTH_MAX; i++) {
		const struct row *row = b->rows->top->pdata[i];

		if (row->process)
			b->process_bytes = MAX(b->process_bytes, strlen(row->process));
	}
	return (unsigned int)MIN(b->process_bytes, MIN(PROCESS_WIDTH_MAX, width / PROCESS_PART));
}

/* Of the event that is shown. */
static const char *event_text(const struct browser *b)
{
	if (b->choice.event < b->profile->events->len)
		return profile_event(b->profile, b->choice.event)->text;
	return b->event ? b->event : "";
}

static struct columns lay_out(struct browser *b, unsigned int width)
{
	struct columns c = { .all = width };
	unsigned int left = width;

	c.total = width >= TOTAL_FROM;
	c.samples = width >= SAMPLES_FROM;
	c.before = b->options->before && width >= BEFORE_FROM;
	if (c.before)
		before_set(b->options->before, b->rows, event_text(b));
	left -= MIN(left, FIGURE_WIDTH * (1u + c.total + c.samples + 2u * c.before) + c.before);
	if (width >= PROCESS_FROM) {
		c.process = process_width(b, width);
		left -= c.process + 2;
	}
	if (width >= FILE_FROM) {
		c.file = MIN(FILE_WIDTH_MAX, left / 3);
		left -= c.file + 2;
	}
	c.function = left;
	return c;
}

static void put(struct browser *b, unsigned int row, const char *text, enum screen_style style, bool selected)
{
	g_autoptr(GString) line = g_string_new(NULL);
	unsigned int rows, columns;

	screen_size(b->screen, &rows, &columns);
	fit_append_line(line, text, columns, style == SCREEN_BAR || selected);
	screen_put(b->screen, row, line->str, style, selected);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void append_share(GString *line, const struct profile_count *count, uint64_t whole)
{
	if (count->samples)
		g_string_append_printf(line, "%6.2f%%  ", summary_share(count->weight, whole));
	else
		g_string_append_printf(line, "%7s  ", "");
}

static void append_column(GString *line, const char *text, unsigned int width, bool last)
{
	if (!width)
		return;
	fit_append(line, text, width);
	if (!last)
		g_string_append(line, "  ");
}

static void append_function(GString *line, const struct browser *b, const struct row *row,
	const struct columns *c)
{
	const unsigned int indent = MIN(2 * row->depth, c->function / INDENT_PART);
	const unsigned int mark = MIN(2, c->function - indent);

	g_string_append_printf(line, "%*s", (int)indent, "");
	fit_append(line, row->expanded ? "- " : row->expandable ? "+ " : "  ", mark);
	fit_append(line, rows_name(b->rows, row), c->function - indent - mark);
}

/* Of a path. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void put_row(struct browser *b, unsigned int at, const struct row *row, const struct columns *c,
	bool selected)
{
	const uint64_t whole = b->rows->whole;
	const struct profile_count *shown = rows_count(b->rows, row);
	const enum text_heat heat = text_heat(summary_share(shown->weight, whole));
	g_autoptr(GString) line = g_string_new(NULL), cut = g_string_new(NULL);

	if (c->total)
		append_share(line, &row->total, whole);
	append_share(line, c->total || row->self.samples ? &row->self : &row->total, whole);
	if (c->before)
		before_append(b->options->before, b->rows, row, line);
	if (c->samples)
		g_string_append_printf(line, "%7" PRIu64 "  ", shown->samples);
	append_column(line, row->process ? row->process : "", c->process, false);
	append_function(line, b, row, c);
	if (c->file) {
		g_string_append(line, "  ");
		append_column(line, last_part(rows_file(b->rows, row)), c->file, true);
	}
	fit_append_line(cut, line->str, c->all, selected); /* large figures move the rest of the line */
	screen_put(b->screen, at, cut->str,
		heat == TEXT_HEAT_HOT ? SCREEN_HOT : heat == TEXT_HEAT_WARM ? SCREEN_WARM : SCREEN_PLAIN,
		selected);
}

static void put_headings(struct browser *b, const struct columns *c)
{
	g_autoptr(GString) line = g_string_new(NULL);

	if (c->total)
		g_string_append(line, "  total  ");
	g_string_append(line, "   self  ");
	if (c->before)
		g_string_append(line, BEFORE_TITLES);
	if (c->samples)
		g_string_append(line, "samples  ");
	append_column(line, "process", c->process, false);
	append_column(line, "  function", c->function, !c->file);
	append_column(line, "file", c->file, true);
	put(b, browser_head(b) - 1, line->str, SCREEN_BAR, false);
}

/* Whether any event has samples that are counted. */
static bool has_counted(const struct browser *b)
{
	uint32_t i;

	for (i = 0; i < b->profile->cells->len; i++) {
		const uint16_t flags = profile_cell(b->profile, i)->flags;

		if (!(flags & PROFILE_IDLE) && (b->options->own || !(flags & PROFILE_OWN)))
			return true;
	}
	return false;
}

/* Why there are no rows. */
static void put_nothing(struct browser *b)
{
	g_autoptr(GString) line = g_string_new(NULL);

	if (b->rows->filtered || b->rows->limited || b->how.no_kernel || b->how.no_user)
		g_string_append(line, "no rows: all are left out, see below");
	else if (b->live)
		g_string_append(line, "no samples in this interval");
	else if (b->choice.one_thread)
		g_string_append(line, "no samples of this event in this thread");
	else if (!has_counted(b))
		summary_append_nothing(line, b->profile, b->options->source);
	else
		g_string_append(line, "no samples of this event: Tab shows the next one");
	put(b, browser_head(b), line->str, SCREEN_PLAIN, false);
}

static void put_rows(struct browser *b)
{
	unsigned int height, width;
	struct columns c;
	uint32_t i;

	screen_size(b->screen, &height, &width);
	c = lay_out(b, width);
	put_headings(b, &c);
	for (i = 0; i < browser_room(b) && b->place.first + i < b->rows->shown->len; i++)
		put_row(b, browser_head(b) + i, rows_at(b->rows, b->place.first + i), &c,
			b->place.first + i == b->place.cursor);
	if (!b->rows->shown->len)
		put_nothing(b);
}

/* ---- pages and lists ------------------------------------------------------------------------- */

/* Without its first characters. */
static const char *shift(const char *line, uint32_t by)
{
	for (; by && *line; by--)
		line = g_utf8_next_char(line);
	return line;
}

static void put_lines(struct browser *b)
{
	const uint32_t count = browser_length(b);
	uint32_t i;

	put(b, browser_head(b) - 1, b->title, SCREEN_BAR, false);
	for (i = 0; i < browser_room(b) && b->list.first + i < count; i++)
		put(b, browser_head(b) + i, shift(b->lines[b->list.first + i], b->shift), SCREEN_PLAIN,
			b->mode != BROWSER_PAGE && b->list.first + i == b->list.cursor);
}

/* ---- the first and last line ----------------------------------------------------------------- */

/*
 * Where the samples are from, and how many of a live profile are in the rows. The end of a long line is
 * shown: it has the age.
 */
static void put_source(struct browser *b)
{
	g_autoptr(GString) line = g_string_new(b->options->source->text);
	unsigned int rows, columns;
	glong length;

	if (b->live)
		g_string_append_printf(line, ": %" PRIu64 " samples in the rows, taken in %.1f s",
			b->rows->samples, (double)b->profile->duration_ns / NSEC_PER_SEC);
	screen_size(b->screen, &rows, &columns);
	length = g_utf8_strlen(line->str, -1);
	put(b, 0, shift(line->str, length > (glong)columns ? (uint32_t)(length - columns) : 0),
		SCREEN_PLAIN, false);
}

/* The losses must not be cut: where the line up to their number does not fit, a shorter one is shown. */
static void append_event(const struct browser *b, GString *line)
{
	const struct profile_event *event = profile_event(b->profile, b->choice.event);
	const gsize before = line->len;
	unsigned int rows, columns;
	const char *lost;

	screen_size(b->screen, &rows, &columns);
	summary_append_event(line, event, b->options->own);
	lost = g_strrstr(line->str, " lost");
	if (lost && (gsize)(lost - line->str) + strlen(" lost") <= columns)
		return;
	g_string_truncate(line, before);
	summary_append_event_briefly(line, event);
}

static void put_event(struct browser *b)
{
	g_autoptr(GString) line = g_string_new(NULL);

	if (b->choice.event < b->profile->events->len)
		append_event(b, line);
	else if (b->live)
		g_string_append_printf(line, "%s: no samples yet", b->event);
	else
		g_string_append(line, "no events");
	put(b, browser_head(b) - 2, line->str, SCREEN_PLAIN, false);
}

/* What is chosen, other than by default. */
static void append_choice(struct browser *b, GString *line)
{
	g_string_append_printf(
		line, "  [%s, by %s%s", rows_kind_names[b->how.kind], rows_order_names[b->how.order],
		b->how.reverse ? ", reversed" : "");
	if (b->how.no_kernel || b->how.no_user)
		g_string_append_printf(line, ", without %s", !b->how.no_user ? "the kernel" :
			b->how.no_kernel ? "functions" : "user space");
	if (b->choice.one_thread)
		g_string_append_printf(line, ", thread %" PRIu32, b->choice.tid);
	if (*b->filter) {
		g_string_append(line, ", with ");
		g_string_append(line, b->filter);
		g_string_append_printf(line, ": %" PRIu32 " rows left out", b->rows->filtered);
	}
	if (b->rows->limited)
		g_string_append_printf(line, ", %" PRIu32 " rows below %g %%", b->rows->limited,
			b->how.limit);
	g_string_append_c(line, ']');
}

static void put_foot(struct browser *b)
{
	g_autoptr(GString) line = g_string_new(NULL);
	unsigned int rows, columns;

	screen_size(b->screen, &rows, &columns);
	if (b->prompt != BROWSER_NO_PROMPT) {
		g_string_append(line, b->prompt == BROWSER_SEARCH ? "search: " : "only rows with: ");
		g_string_append_len(line, b->typed->str, (gssize)b->typed->len);
		g_string_append_c(line, '_');
	} else if (b->message) {
		g_string_append(line, b->message);
	} else if (b->mode == BROWSER_ROWS) {
		if (b->live && b->look.stopped)
			g_string_append(line, "the profiler is stopped  ");
		if (b->live)
			g_string_append_printf(line, "p %s  ", b->paused ? "go on" : "pause");
		g_string_append(line, "h help  q quit  Enter expand  a code  / search");
		append_choice(b, line);
	} else {
		g_string_append(line,
			b->mode == BROWSER_PAGE ? "q back  Left Right shift" : "Enter choose  q back");
	}
	if (rows > browser_head(b))
		put(b, rows - 1, line->str, SCREEN_BAR, false);
}

void browser_draw(struct browser *b)
{
	struct browser_place *at = b->mode == BROWSER_ROWS ? &b->place : &b->list;
	const uint32_t length = browser_length(b), room = browser_room(b);

	at->cursor = MIN(at->cursor, length ? length - 1 : 0);
	/* no empty lines at the end while there are lines above the screen */
	at->first = MIN(at->first, length > room ? length - room : 0);
	if (b->mode != BROWSER_PAGE) {
		at->first = MIN(at->first, at->cursor);
		at->first = MAX(at->first, at->cursor < room ? 0 : at->cursor - room + 1);
	}
	screen_clear(b->screen);
	if (browser_head(b) == BROWSER_HEAD_MAX)
		put_source(b);
	put_event(b);
	if (b->mode == BROWSER_ROWS)
		put_rows(b);
	else
		put_lines(b);
	put_foot(b);
	screen_show(b->screen);
}
