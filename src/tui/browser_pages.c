/* SPDX-License-Identifier: MIT */
/* The pages and lists of a browser: help, summary, events, threads. */
#include "tui/browser_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/summary.h"

static const char help[] =
	"Up Down PageUp PageDown Home End, j k g G   move\n"
	"Enter +      expand the row, or collapse it\n"
	"Right Left   expand; collapse, or go to the row above it in the tree\n"
	"E C          expand all below the row; collapse all rows\n"
	"c            below a function: its callers, what it calls; or the call tree of the processes\n"
	"a            the code of the function, with the shares of its instructions\n"
	"s r          sort by self, total, process, function, file; reverse the order\n"
	"/ n N        search in processes, functions and files; the next, the previous\n"
	"f \\          show only rows with a text; Esc shows all again\n"
	"e Tab        choose the event; the next one\n"
	"t            choose a thread\n"
	"i            the summary of the capture: losses, idle samples\n"
	"Left Right   in a page: shift it\n"
	"K U          hide or show the functions of the kernel, of user space\n"
	"%s"
	"h ?          this help\n"
	"q            back, or quit\n"
	"\n"
	"total        share of the samples in the function and in what it calls\n"
	"self         share of the samples in the function itself\n"
	"samples      their number: by self of the function itself, else with what it calls\n"
	"Shares are of the selected samples, without those of the idle task.\n"
	"%s";

static const char live_keys[] = "p            pause, and go on\n"
				"Home         the cursor stays in the first line, not at its row\n";
static const char live_help[] =
	"The samples are those of the last interval. While the browser is paused, or an event or\n"
	"thread is chosen, the samples of further intervals are not shown.\n";

/* Shows the lines of a text, which it takes over. */
static void open_lines(struct browser *b, enum browser_mode mode, const char *title, char *text)
{
	gsize length = strlen(text);

	browser_close_page(b);
	if (length && text[length - 1] == '\n')
		text[length - 1] = 0;
	b->mode = mode;
	b->shift = 0;
	b->list = (struct browser_place){ 0, 0 };
	b->title = g_strdup(title);
	b->lines = g_strsplit(text, "\n", -1);
	g_free(text);
}

void browser_close_page(struct browser *b)
{
	b->mode = BROWSER_ROWS;
	g_clear_pointer(&b->lines, g_strfreev);
	g_clear_pointer(&b->title, g_free);
	if (b->threads)
		g_array_free(b->threads, TRUE);
	b->threads = NULL;
}

void browser_open_page(struct browser *b, const char *title, char *text)
{
	open_lines(b, BROWSER_PAGE, title, text);
}

void browser_open_help(struct browser *b)
{
	open_lines(b, BROWSER_PAGE, "keys and columns",
		g_strdup_printf(help, b->live ? live_keys : "", b->live ? live_help : ""));
}

void browser_open_summary(struct browser *b)
{
	struct summary figures = { .source = b->options->source, .own = b->options->own };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	uint32_t i;

	if (!out)
		return;
	for (i = 0; i < b->profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(b->profile, i);
		const uint32_t function = functions_of_node(b->functions, b->profile, cell->node);

		if (cell->flags & PROFILE_IDLE || (cell->flags & PROFILE_OWN && !b->options->own))
			continue;
		figures.counted += cell->count.samples;
		if (function == FUNCTIONS_NO_FRAME ||
			!functions_function(b->functions, function)->resolved)
			figures.unresolved += cell->count.samples;
	}
	fprintf(out, "# %s\n", b->options->source->text);
	summary_write(b->profile, &figures, out);
	fclose(out);
	open_lines(b, BROWSER_PAGE, "the capture", g_strndup(text, size));
	free(text);
}

void browser_open_events(struct browser *b)
{
	GString *text = g_string_new(NULL);
	uint32_t i;

	if (!b->profile->events->len) {
		g_string_free(text, TRUE);
		browser_say(b, "there are no events");
		return;
	}
	for (i = 0; i < b->profile->events->len; i++) {
		const struct profile_event *event = profile_event(b->profile, i);

		g_string_append_printf(text, "%10" PRIu64 "  ", event->all.samples - event->idle.samples);
		text_append_cut(text, event->text);
		g_string_append_c(text, '\n');
	}
	open_lines(b, BROWSER_EVENTS, "   samples  event", g_string_free(text, FALSE));
	b->list.cursor = MIN(b->choice.event, b->profile->events->len - 1);
}

void browser_open_threads(struct browser *b)
{
	GArray *threads = selection_threads(b->profile, &b->choice);
	GString *text = g_string_new(NULL);
	g_autofree char *first = NULL;
	uint32_t i, chosen = 0;
	uint64_t all = 0;

	for (i = 0; i < threads->len; i++) {
		const struct selection_thread *thread = &g_array_index(threads, struct selection_thread, i);

		g_string_append_printf(text, "%10" PRIu64 "  %7" PRIu32 "  %7" PRIu32 "  ",
			thread->count.samples, thread->pid, thread->tid);
		text_append_cut(text, thread->process);
		g_string_append_c(text, '\n');
		all += thread->count.samples;
		if (b->choice.one_thread && thread->pid == b->choice.pid && thread->tid == b->choice.tid)
			chosen = i + 1;
	}
	first = g_strdup_printf("%10" PRIu64 "  %7s  %7s  all threads\n", all, "", "");
	g_string_prepend(text, first);
	open_lines(b, BROWSER_THREADS, "   samples      pid   thread  process",
		g_string_free(text, FALSE));
	b->threads = threads;
	b->list.cursor = chosen;
}
