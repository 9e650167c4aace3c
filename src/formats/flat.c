/* SPDX-License-Identifier: MIT */
/* The flat profile: see flat.h. flat_count.c counts; this file writes. */
#include "formats/flat.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "formats/summary.h"

/* Columns are padded up to here; a longer text moves the rest of its line to the right. */
#define EVENT_WIDTH_MAX 24
#define PROCESS_WIDTH_MAX 32 /* names of the kernel's threads can have more than 15 characters */
#define FUNCTION_WIDTH_MAX 40

struct widths {
	int event, process, function;
};

struct flat_printer {
	bool times; /* an event counts ns that differ from sample to sample: a column has them */
	const struct profile *profile;
	const struct functions *functions;
	const struct flat_options *options;
	const struct flat_count *count;
	struct widths widths;
	GString *line;
	FILE *out;
};

/* The characters of a valid text: g_utf8_strlen() takes several times as long, and each row has four. */
static int count_characters(const char *text, gsize bytes)
{
	int count = 0;
	gsize i;

	for (i = 0; i < bytes; i++)
		count += (text[i] & 0xc0) != 0x80; /* not a further byte of a character */
	return count;
}

/* A column after two blanks, padded to its width; 0: the last one. */
static void append_column(GString *line, const char *text, int width)
{
	gsize begin, end;

	g_string_append(line, "  ");
	begin = line->len;
	text_append_cut(line, *text ? text : "-");
	if (!width)
		return;
	end = line->len;
	width -= count_characters(line->str + begin, end - begin);
	if (width <= 0)
		return;
	g_string_set_size(line, end + (gsize)width);
	memset(line->str + end, ' ', (size_t)width);
}

static void put_line(struct flat_printer *p)
{
	g_string_append_c(p->line, '\n');
	fwrite(p->line->str, 1, p->line->len, p->out);
	g_string_truncate(p->line, 0);
}

/* ---- the rows -------------------------------------------------------------------------------- */

static void widen(int *width, const char *text, int max)
{
	GString *line;
	int length;

	if (*width >= max)
		return;
	line = g_string_new(NULL);
	text_append_cut(line, text);
	length = (int)g_utf8_strlen(line->str, -1);
	g_string_free(line, TRUE);
	*width = MAX(*width, MIN(length, max));
}

static const char *function_name(const struct flat_printer *p, uint32_t function)
{
	return function == FUNCTIONS_NO_FRAME ? "-"
					      : functions_function(p->functions, function)->name;
}

static const char *function_file(const struct flat_printer *p, uint32_t function)
{
	return function == FUNCTIONS_NO_FRAME ? "-"
					      : functions_function(p->functions, function)->file;
}

static void set_widths(struct flat_printer *p)
{
	uint32_t i;

	p->widths = (struct widths){ (int)strlen("event"), (int)strlen("process"),
		(int)strlen("function") };
	for (i = 0; i < p->profile->events->len; i++)
		widen(&p->widths.event, profile_event(p->profile, i)->text, EVENT_WIDTH_MAX);
	for (i = 0; i < p->count->rows->len; i++) {
		const struct flat_row *row = flat_row(p->count, i);

		widen(&p->widths.process, row->process, PROCESS_WIDTH_MAX);
		widen(&p->widths.function, function_name(p, row->function), FUNCTION_WIDTH_MAX);
	}
}

static void append_rest(struct flat_printer *p, const char *event, const char *process,
	const char *function, const char *file)
{
	append_column(p->line, event, p->widths.event);
	append_column(p->line, process, p->widths.process);
	append_column(p->line, function, p->widths.function);
	append_column(p->line, file, 0);
}

static void append_time(struct flat_printer *p, uint32_t event, const struct profile_count *count)
{
	if (!p->times)
		return;
	if (profile_is_time(profile_event(p->profile, event)))
		g_string_append_printf(p->line, "  %12.3f", (double)count->weight / NSEC_PER_MSEC);
	else
		g_string_append(p->line, "             -");
}

static void put_column_heads(struct flat_printer *p)
{
	g_string_append(p->line, p->options->total ? "  total    share  samples"
						   : "  share  samples");
	if (p->times)
		g_string_append(p->line, "            ms");
	append_rest(p, "event", "process", "function", "file");
	put_line(p);
}

static void put_row(struct flat_printer *p, const struct flat_row *row)
{
	uint64_t whole = g_array_index(p->count->weights, uint64_t, row->event);
	const struct flat_row *call;
	const char *colour = text_colour(
		summary_share(p->options->total ? row->total.weight : row->self.weight, whole));

	if (p->options->colours)
		g_string_append(p->line, colour);
	if (p->options->total)
		g_string_append_printf(
			p->line, "%6.2f%%  ", summary_share(row->total.weight, whole));
	g_string_append_printf(p->line, "%6.2f%%  %7" PRIu64,
		summary_share(row->self.weight, whole), row->self.samples);
	append_time(p, row->event, &row->self);
	append_rest(p, profile_event(p->profile, row->event)->text, row->process,
		function_name(p, row->function), function_file(p, row->function));
	if (p->options->colours && *colour)
		g_string_append(p->line, TEXT_COLOUR_END);
	put_line(p);
	for (call = flat_first_call(p->count, row); call; call = flat_next_call(p->count, call)) {
		const struct profile_count *c = p->options->total ? &call->total : &call->self;

		g_string_append_printf(p->line, "%6.2f%%  ", summary_share(c->weight, whole));
		if (p->options->total)
			g_string_append(p->line, "      -  ");
		g_string_append_printf(p->line, "%7" PRIu64, c->samples);
		append_time(p, row->event, c);
		append_rest(p, "<-", call->process, function_name(p, call->function),
			function_file(p, call->function));
		put_line(p);
	}
}

static void put_idle(struct flat_printer *p)
{
	uint32_t i;

	for (i = 0; i < p->profile->events->len; i++) {
		const struct profile_event *event = profile_event(p->profile, i);

		if (!event->idle.samples)
			continue;
		g_string_append_printf(p->line, "%s   idle  %7" PRIu64,
			p->options->total ? "      -  " : "", event->idle.samples);
		append_time(p, i, &event->idle);
		append_rest(p, event->text, "-", "-", "-");
		put_line(p);
	}
}

void flat_write(const struct profile *profile, const struct functions *functions,
	const struct flat_options *options, FILE *out)
{
	struct flat_count *count = flat_count_create(profile, functions, options);
	struct flat_printer p = {
		.profile = profile,
		.functions = functions,
		.options = options,
		.count = count,
		.line = g_string_new(NULL),
		.out = out,
	};
	const struct summary summary = {
		.source = options->source,
		.own = options->own,
		.counted = count->counted,
		.unresolved = count->unresolved,
	};
	uint32_t i;

	for (i = 0; i < profile->events->len; i++)
		p.times |= profile_is_time(profile_event(profile, i));
	summary_write(profile, &summary, out);
	set_widths(&p);
	if (profile->samples)
		put_column_heads(&p);
	for (i = 0; i < count->rows->len; i++)
		put_row(&p, flat_row(count, i));
	put_idle(&p);
	g_string_free(p.line, TRUE);
	flat_count_destroy(count);
}
