/* SPDX-License-Identifier: MIT */
/* The rows of `kprof top` as text: see top_text.h. */
#include "cmd/top_text.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "sys/clock.h"
#include "sys/terminal.h"
#include "tui/selection.h"

#define HEAD_LINES 3
#define PLAIN_ROWS 40 /* of a report that is not for a terminal */
/* Longer names shift what follows. Names of the kernel's threads can have more than 15 characters. */
#define PROCESS_WIDTH_MAX 32
#define FUNCTION_WIDTH_MAX 48
#define PROCESS_TITLE "process"
#define FUNCTION_TITLE "function"

struct top_text {
	const struct top_text_options *options;
	const struct browser_live *live;
	struct browser_look look;
	struct rows *rows;
	char **events;	/* of the run; the capture may also have events of earlier runs */
	uint32_t shown; /* index of the event that is shown; a key moves it */
	bool terminal, paused, quit;
	struct termios termios; /* the settings to restore */
	bool raw;
};

/* ---- a screen -------------------------------------------------------------------------------- */

struct text_screen {
	FILE *out;
	unsigned int rows, columns; /* columns 0 for no limit */
	bool terminal;
	GString *line;
};

/* The columns of a character that text_append() left as it is. */
static unsigned int width_of(gunichar c)
{
	return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

/* The bytes of a text that take at most so many columns; these in *taken. */
static gsize fit(const char *text, unsigned int columns, unsigned int *taken)
{
	const char *at = text;

	for (*taken = 0; *at; at = g_utf8_next_char(at)) {
		const unsigned int width = width_of(g_utf8_get_char(at));

		if (width > columns - *taken)
			break;
		*taken += width;
	}
	return (gsize)(at - text);
}

/* Cuts the line to the width of the terminal. */
static void put_line(struct text_screen *screen)
{
	unsigned int taken;

	if (screen->columns)
		g_string_truncate(screen->line, fit(screen->line->str, screen->columns, &taken));
	fprintf(screen->out, "%s%s\n", screen->line->str, screen->terminal ? "\033[K" : "");
	g_string_truncate(screen->line, 0);
}

/* A name in a column; a longer one moves the rest of the line. */
static void append_column(GString *line, const char *name, unsigned int columns)
{
	g_autoptr(GString) escaped = g_string_new(NULL);
	unsigned int taken;

	text_append_cut(escaped, name);
	fit(escaped->str, columns, &taken);
	g_string_append_printf(line, "%s%*s", escaped->str, (int)(columns - taken), "");
}

/* The index in this capture of the event that is shown; UINT32_MAX if not in it. */
static uint32_t find_shown(const struct top_text *t)
{
	return profile_find_event(t->look.profile, t->events[t->shown % g_strv_length(t->events)]);
}

static void put_head(const struct top_text *t, struct text_screen *screen, uint32_t shown)
{
	const guint count = g_strv_length(t->events);
	const struct profile_event *event;

	if (shown == UINT32_MAX) {
		text_append_cut(screen->line, t->events[t->shown % count]);
		g_string_append(screen->line, ": no samples yet");
	} else {
		event = profile_event(t->look.profile, shown);
		text_append_cut(screen->line, event->text);
		if (event->flags & KPROF_EVENT_FALLBACK)
			g_string_append(screen->line, " (the machine has no cycles counter)");
		g_string_append(screen->line, ": ");
		text_append_count(screen->line, event->all.samples, "sample", "samples");
		g_string_append_printf(screen->line,
			" in %.1f s, %" PRIu64 " idle, %" PRIu64 " lost",
			(double)t->look.profile->duration_ns / (double)NSEC_PER_SEC,
			event->idle.samples, profile_lost(event));
		if (t->options->selected)
			g_string_append_printf(screen->line, ", %" PRIu64 " in the rows below",
				t->rows->samples);
	}
	if (t->options->before && !before_set(t->options->before, t->rows, t->events[t->shown % count]))
		g_string_append(screen->line, "; the earlier capture has no samples of this event");
	put_line(screen);
	if (!screen->terminal)
		return;
	g_string_append_printf(screen->line, "%sq quit   p %s   e event %u of %u",
		t->look.stopped ? "the profiler is stopped   " : "", t->paused ? "resume" : "pause",
		t->shown % count + 1, count);
	put_line(screen);
}

/* The name of a row, below that of its function if it is a caller. */
static void append_name(const struct top_text *t, const struct row *row, GString *out)
{
	g_string_append_printf(out, "%*s", (int)(2 * row->depth), "");
	text_append_cut(out, rows_name(t->rows, row));
}

/* The characters of the two columns of names. */
struct widths {
	glong process, function;
};

/* Those that the first rows need, up to the limits. */
static struct widths find_widths(const struct top_text *t, unsigned int count)
{
	struct widths widths = { (glong)strlen(PROCESS_TITLE), (glong)strlen(FUNCTION_TITLE) };
	g_autoptr(GString) name = g_string_new(NULL);
	uint32_t i;

	for (i = 0; i < t->rows->shown->len && i < count; i++) {
		const struct row *row = rows_at(t->rows, i);

		g_string_truncate(name, 0);
		append_name(t, row, name);
		widths.function = MAX(widths.function, g_utf8_strlen(name->str, -1));
		if (row->process)
			widths.process = MAX(widths.process, g_utf8_strlen(row->process, -1));
	}
	widths.process = MIN(widths.process, PROCESS_WIDTH_MAX);
	widths.function = MIN(widths.function, FUNCTION_WIDTH_MAX);
	return widths;
}

static void put_row(const struct top_text *t, struct text_screen *screen, const struct row *row,
	struct widths widths)
{
	const struct profile_count *count = rows_count(t->rows, row);
	const double share = summary_share(count->weight, t->rows->whole);
	g_autoptr(GString) name = g_string_new(NULL);

	g_string_append_printf(screen->line, "%6.2f%%  ", share);
	if (t->options->before)
		before_append(t->options->before, t->rows, row, screen->line);
	g_string_append_printf(screen->line, "%7" PRIu64 "  ", count->samples);
	append_column(screen->line, row->process ? row->process : "", (unsigned int)widths.process);
	append_name(t, row, name);
	g_string_append_printf(screen->line, "  %s%*s  ", name->str,
		(int)(widths.function - MIN(widths.function, g_utf8_strlen(name->str, -1))), "");
	text_append_cut(screen->line, rows_file(t->rows, row));
	put_line(screen);
}

/* The callers of the first functions, which fill the screen. */
static void expand(struct top_text *t, unsigned int count)
{
	uint32_t i;

	for (i = 0; i < t->rows->shown->len && i < count; i++)
		if (!rows_at(t->rows, i)->depth)
			rows_expand(t->rows, rows_at(t->rows, i), true);
}

static void put_rows(struct top_text *t, struct text_screen *screen)
{
	const unsigned int most = screen->rows > HEAD_LINES + 1 ? screen->rows - HEAD_LINES - 1 : 0;
	struct widths widths;
	uint32_t i;

	if (t->options->callers)
		expand(t, most);
	widths = find_widths(t, most);
	g_string_append_printf(screen->line, "  share  %ssamples  %-*s  %-*s  file",
		t->options->before ? BEFORE_TITLES : "", (int)widths.process, PROCESS_TITLE,
		(int)widths.function, FUNCTION_TITLE);
	put_line(screen);
	for (i = 0; i < t->rows->shown->len && i < most; i++)
		put_row(t, screen, rows_at(t->rows, i), widths);
}

/* One write for the whole screen, so that it does not flicker. */
static void show(struct top_text *t)
{
	const uint32_t shown = find_shown(t);
	const struct selection_choice choice = { .event = shown, .own = t->options->own };
	struct err err = { "" };
	struct text_screen screen = {.rows = PLAIN_ROWS, .terminal = t->terminal};
	char *text = NULL;
	size_t size = 0;

	if (t->terminal)
		terminal_size(STDOUT_FILENO, &screen.rows, &screen.columns);
	screen.out = open_memstream(&text, &size);
	if (!screen.out)
		return;
	screen.line = g_string_new(NULL);
	if (t->terminal)
		fputs("\033[H", screen.out);
	if (rows_take(t->rows, selection_create(t->look.profile, &choice), t->look.functions, &err)) {
		g_string_append(screen.line, err.text);
		put_line(&screen);
	}
	put_head(t, &screen, shown);
	put_rows(t, &screen);
	if (t->terminal)
		fputs("\033[J", screen.out);
	fclose(screen.out);
	fwrite(text, 1, size, stdout);
	fflush(stdout);
	free(text);
	g_string_free(screen.line, TRUE);
}

/* ---- the terminal and its keys --------------------------------------------------------------- */

static void begin_terminal(struct top_text *t)
{
	struct termios raw;

	t->terminal = isatty(STDOUT_FILENO);
	if (!t->terminal || !isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &t->termios))
		return;
	raw = t->termios;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	t->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
	fputs("\033[H\033[J", stdout);
}

static void end_terminal(struct top_text *t)
{
	if (t->raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->termios);
	t->raw = false;
}

/* Handles a key. Whether the screen changes. */
static bool take_keys(struct top_text *t)
{
	bool changed = false;
	char key;
	ssize_t n;

	while ((n = read(STDIN_FILENO, &key, 1)) == 1) {
		t->quit |= key == 'q';
		t->paused ^= key == 'p';
		t->shown += key == 'e';
		changed |= key == 'p' || key == 'e';
	}
	return changed;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/*
 * Waits until the next refresh (while paused: for a key), or the end. Whether a key changed
 * something.
 */
static bool wait_for_key(struct top_text *t, uint64_t end_ns)
{
	struct pollfd fds[] = {
		{ .fd = t->options->signal_fd, .events = POLLIN },
		{ .fd = t->raw ? STDIN_FILENO : -1, .events = POLLIN },
	};
	const uint64_t now = clock_monotonic_ns();
	const int left_ms = now < end_ns ? (int)((end_ns - now) / NSEC_PER_MSEC) + 1 : 0;

	poll(fds, 2, t->paused ? -1 : left_ms);
	/* a closed terminal stays readable */
	t->quit |= fds[0].revents || (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL));
	return fds[1].revents && take_keys(t);
}

static void forget(struct top_text *t)
{
	functions_destroy(t->look.functions);
	profile_destroy(t->look.profile);
	t->look = (struct browser_look){ 0 };
}

static int refresh(struct top_text *t, struct err *err)
{
	int ret;

	forget(t);
	ret = t->live->look(t->live->arg, &t->look, err);
	if (!ret)
		show(t);
	return ret;
}

static int look_on(struct top_text *t, struct err *err)
{
	int ret = 0;

	do {
		const uint64_t end_ns = clock_monotonic_ns() + t->live->every_ns;

		while (!t->quit && (t->paused || clock_monotonic_ns() < end_ns))
			if (wait_for_key(t, end_ns) && t->look.profile && !t->quit)
				show(t);
		if (!t->quit)
			ret = refresh(t, err);
	} while (!ret && !t->quit && t->terminal);
	return ret;
}

int top_text(const struct top_text_options *options, const struct browser_live *live, struct err *err)
{
	struct rows_options how = options->rows;
	struct top_text t = { .options = options, .live = live };
	int ret;

	how.filter = "";
	t.rows = rows_create();
	rows_set(t.rows, &how);
	t.events = g_strsplit(options->events && *options->events ? options->events : "default", ",", -1);
	begin_terminal(&t);
	ret = look_on(&t, err);
	end_terminal(&t);
	rows_destroy(t.rows);
	forget(&t);
	g_strfreev(t.events);
	return ret;
}
