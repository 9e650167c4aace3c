/* SPDX-License-Identifier: MIT */
/*
 * kprof top: the hottest functions of the last seconds, refreshed. On a terminal it takes keys; if
 * standard output is not a terminal, it prints one report after one interval.
 *
 * If the profiler runs already, kprof top only reads from it. Otherwise it starts the profiler, and
 * stops it at the end.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "cmd/recent_samples.h"
#include "cmd/sampling.h"
#include "formats/breakdown.h"
#include "sys/clock.h"
#include "sys/terminal.h"

#define DEFAULT_DELAY 2.0
#define DELAY_MAX 3600.0
#define HEAD_LINES 3
#define PLAIN_ROWS 40 /* of a report that is not for a terminal */

static const struct cmd_option options[] = {
	{'d', "delay", "SECONDS", "the time between refreshes (default: 2)"},
	{'e', "event", "EVENT", "the events to sample, if the profiler does not run yet"},
	{'m', "mount", "DIR", "use the server mounted at DIR"},
	{'P', "private", NULL, "use a private server, even if one is mounted"},
	{'s', "self", NULL, "count the samples taken in the server itself too"},
	{0},
};

struct top {
	double delay_s;
	const char *event;
	struct sampling_choice choice;
	bool own;

	struct sampling sampling;
	struct recent_samples *recent;
	struct symbols *symbols;
	int signal_fd;
	sigset_t before;
	bool terminal, paused, quit;
	struct termios termios; /* the settings to restore */
	bool raw;
	char **events;  /* of the run; the capture may also have events of earlier runs */
	uint32_t shown; /* index of the event that is shown; a key moves it */
};

/* ---- a screen -------------------------------------------------------------------------------- */

struct top_screen {
	FILE *out;
	unsigned int rows, columns; /* columns 0 for no limit */
	bool terminal;
	GString *line;
};

/* Cuts the line to the width of the terminal, in characters. */
static void put_line(struct top_screen *screen)
{
	if (screen->columns && g_utf8_strlen(screen->line->str, -1) > (glong)screen->columns)
		g_string_truncate(screen->line,
			(gsize)(g_utf8_offset_to_pointer(screen->line->str, (glong)screen->columns) -
				screen->line->str));
	fprintf(screen->out, "%s%s\n", screen->line->str, screen->terminal ? "\033[K" : "");
	g_string_truncate(screen->line, 0);
}

/* The index in this capture of the event that is shown; UINT32_MAX if not in it. */
static uint32_t find_shown(const struct top *t, const struct profile *profile)
{
	const char *text = t->events[t->shown % g_strv_length(t->events)];
	uint32_t i;

	for (i = 0; i < profile->events->len; i++)
		if (strcmp(profile_event(profile, i)->text, text) == 0)
			return i;
	return UINT32_MAX;
}

static void put_head(const struct top *t, struct top_screen *screen, const struct profile *profile,
	uint32_t shown)
{
	const guint count = g_strv_length(t->events);
	const struct profile_event *event;

	text_append_cut(screen->line, t->events[t->shown % count]);
	if (shown == UINT32_MAX) {
		g_string_append(screen->line, ": no samples yet");
	} else {
		event = profile_event(profile, shown);
		if (event->flags & KPROF_EVENT_FALLBACK)
			g_string_append(screen->line, " (in place of what the machine lacks)");
		g_string_append(screen->line, ": ");
		text_append_count(screen->line, event->all.samples, "sample", "samples");
		g_string_append_printf(screen->line,
			" in %.1f s, %" PRIu64 " idle, %" PRIu64 " lost",
			(double)profile->duration_ns / (double)NSEC_PER_SEC, event->idle.samples,
			profile_lost(event));
	}
	put_line(screen);
	if (!screen->terminal)
		return;
	g_string_append_printf(screen->line, "%sq quit   p %s   e event %u of %u",
		recent_samples_runs(t->recent) ? "" : "the profiler is stopped   ",
		t->paused ? "resume" : "pause", t->shown % count + 1, count);
	put_line(screen);
}

static void put_row(
	struct top_screen *screen, const struct breakdown *b, const struct breakdown_row *row)
{
	const struct breakdown_count *c = breakdown_count(b, row, 0);

	g_string_append_printf(screen->line, "%6.2f%%  %7" PRIu64 "  ",
		breakdown_share(b, row, 0, c->self.weight), c->self.samples);
	g_string_append_printf(screen->line, "%-16s  ", row->values[BREAKDOWN_PROCESS]);
	text_append_cut(screen->line, row->values[BREAKDOWN_FUNCTION]);
	g_string_append(screen->line, "  ");
	text_append_cut(screen->line, row->values[BREAKDOWN_FILE]);
	put_line(screen);
}

static void put_rows(const struct top *t, struct top_screen *screen, const struct profile *profile,
	const struct functions *names, uint32_t shown)
{
	const struct breakdown_options how = {
		.fields = 1u << BREAKDOWN_EVENT | 1u << BREAKDOWN_PROCESS | 1u << BREAKDOWN_FUNCTION |
			1u << BREAKDOWN_FILE,
		.own = t->own,
	};
	const struct breakdown_order order = { .field = BREAKDOWN_FIELDS };
	const struct breakdown_input input = { profile, names };
	struct breakdown *b = breakdown_create(&input, 1, &how);
	unsigned int put = 0;
	guint i;

	breakdown_sort(b, &order);
	g_string_append(screen->line, "  share  samples  process           function  file");
	put_line(screen);
	for (i = 0; i < b->rows->len && put + HEAD_LINES + 1 < screen->rows; i++) {
		const struct breakdown_row *row = breakdown_row(b, i);

		if (row->event == shown && breakdown_count(b, row, 0)->self.samples) {
			put_row(screen, b, row);
			put++;
		}
	}
	breakdown_destroy(b);
}

/* One write for the whole screen, so that it does not flicker. */
static void show(const struct top *t, const struct profile *profile, const struct functions *names)
{
	const uint32_t shown = find_shown(t, profile);
	struct top_screen screen = {.rows = PLAIN_ROWS, .terminal = t->terminal};
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
	put_head(t, &screen, profile, shown);
	put_rows(t, &screen, profile, names, shown);
	if (t->terminal)
		fputs("\033[J", screen.out);
	fclose(screen.out);
	fwrite(text, 1, size, stdout);
	fflush(stdout);
	free(text);
	g_string_free(screen.line, TRUE);
}

/* ---- the terminal and its keys --------------------------------------------------------------- */

static void begin_terminal(struct top *t)
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

static void end_terminal(struct top *t)
{
	if (t->raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->termios);
	t->raw = false;
}

/* Handles a key. Whether the screen changes. */
static bool take_keys(struct top *t)
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
static bool wait_for_key(struct top *t, uint64_t end_ns)
{
	struct pollfd fds[] = {
		{ .fd = t->signal_fd, .events = POLLIN },
		{ .fd = t->raw ? STDIN_FILENO : -1, .events = POLLIN },
	};
	const uint64_t now = clock_monotonic_ns();
	const int left_ms = now < end_ns ? (int)((end_ns - now) / NSEC_PER_MSEC) + 1 : 0;

	poll(fds, 2, t->paused ? -1 : left_ms);
	/* a closed terminal stays readable */
	t->quit |= fds[0].revents || (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL));
	return fds[1].revents && take_keys(t);
}

struct top_look {
	struct profile *profile; /* NULL if there is none yet */
	struct functions *names;
};

static void forget(struct top_look *look)
{
	functions_destroy(look->names);
	profile_destroy(look->profile);
	look->names = NULL;
	look->profile = NULL;
}

static int refresh(struct top *t, struct top_look *look, struct err *err)
{
	int ret;

	forget(look);
	ret = recent_samples_take(t->recent, t->symbols, &look->profile, err);
	if (ret)
		return ret;
	look->names = functions_create(look->profile, t->symbols, NULL);
	show(t, look->profile, look->names);
	return 0;
}

static int look_on(struct top *t, struct err *err)
{
	struct top_look look = {NULL, NULL};
	int ret = 0;

	do {
		const uint64_t end_ns =
			clock_monotonic_ns() + (uint64_t)(t->delay_s * (double)NSEC_PER_SEC);

		while (!t->quit && (t->paused || clock_monotonic_ns() < end_ns))
			if (wait_for_key(t, end_ns) && look.profile && !t->quit)
				show(t, look.profile, look.names);
		if (!t->quit)
			ret = refresh(t, &look, err);
	} while (!ret && !t->quit && t->terminal);
	forget(&look);
	return ret;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static char **split_events(const char *specs)
{
	return g_strsplit(specs && *specs ? specs : "default", ",", -1);
}

static int begin(struct top *t, struct err *err)
{
	const struct sampling_settings settings = {.event = t->event};
	sigset_t set;
	int ret;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &t->before);
	t->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->signal_fd < 0)
		return err_set(err, errno, "signalfd: %s", strerror(errno));
	ret = sampling_open(&t->sampling, &t->choice, &t->before, err);
	if (!ret && (!t->sampling.kpctl.running || t->event))
		ret = sampling_start(&t->sampling, &settings, err);
	if (!ret)
		sampling_print_scope(&t->sampling);
	if (!ret)
		t->events = split_events(t->event ? t->event : t->sampling.kpctl.event);
	if (!ret)
		ret = recent_samples_open(t->sampling.dir, &t->recent, err);
	if (!ret)
		t->symbols = functions_open_symbols(NULL);
	return ret;
}

static int top(struct top *t)
{
	struct err err = { "" };
	int ret = begin(t, &err);

	if (!ret) {
		begin_terminal(t);
		ret = look_on(t, &err);
		end_terminal(t);
	}
	g_strfreev(t->events);
	symbols_destroy(t->symbols);
	recent_samples_close(t->recent);
	sampling_close(&t->sampling);
	if (t->signal_fd >= 0)
		close(t->signal_fd);
	if (ret)
		cmd_error("%s", *err.text ? err.text : strerror(-ret));
	return cmd_finish_output(ret ? CMD_FAILED : CMD_OK);
}

static int set_delay(const struct command *command, struct top *t, const char *text)
{
	char *end;

	t->delay_s = g_ascii_strtod(text, &end);
	if (end == text || *end || !(t->delay_s >= 0.1 && t->delay_s <= DELAY_MAX))
		return cmd_usage_error(command, "a delay is from 0.1 to %g seconds, not %s", DELAY_MAX,
			text);
	return CMD_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct top t = { .delay_s = DEFAULT_DELAY, .signal_fd = -1 };
	int letter, status = CMD_OK;

	while (status == CMD_OK && (letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'd')
			status = set_delay(command, &t, optarg);
		else if (letter == 'e')
			t.event = optarg;
		else if (letter == 'm')
			t.choice.mount = optarg;
		t.choice.private |= letter == 'P';
		t.own |= letter == 's';
	}
	if (status != CMD_OK || letter < 0)
		return status;
	if (optind < argc)
		return cmd_usage_error(command, "it takes no arguments");
	if (t.choice.private && t.choice.mount)
		return cmd_usage_error(command, "give --mount or --private, not both");
	return top(&t);
}

const struct command cmd_top = {
	.name = "top",
	.arguments = "",
	.summary = "Show the hottest functions as they are now",
	.examples = "kprof top\n"
		    "kprof top -d 5 -e cycles\n",
	.options = options,
	.run = run,
};
