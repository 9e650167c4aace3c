/* SPDX-License-Identifier: MIT */
/* A terminal that is drawn by ncurses: see screen.h. */
#include "tui/screen.h"

#include <curses.h>
#include <errno.h>
#include <glib.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <term.h>
#include <unistd.h>

/* <term.h> has macros with the names of our variables */
#undef columns
#undef lines

#include "base/units.h"
#include "sys/clock.h"
#include "sys/terminal.h"

/* How long the rest of an escape sequence of a key may take: ms. A slow line sends it in parts. */
#define ESCAPE_DELAY_MS 50

struct screen {
	SCREEN *terminal;
	bool colours;
	int signal_fd;
	sigset_t before; /* signals that were blocked */
};

static const struct {
	int code;
	uint32_t key;
} keys[] = {
	{ KEY_UP, SCREEN_KEY_UP },
	{ KEY_DOWN, SCREEN_KEY_DOWN },
	{ KEY_LEFT, SCREEN_KEY_LEFT },
	{ KEY_RIGHT, SCREEN_KEY_RIGHT },
	{ KEY_PPAGE, SCREEN_KEY_PAGE_UP },
	{ KEY_NPAGE, SCREEN_KEY_PAGE_DOWN },
	{ KEY_HOME, SCREEN_KEY_HOME },
	{ KEY_END, SCREEN_KEY_END },
	{ KEY_BTAB, SCREEN_KEY_BACK_TAB },
	{ KEY_BACKSPACE, SCREEN_KEY_BACKSPACE },
	{ KEY_ENTER, '\n' },
	{ KEY_F(1), SCREEN_KEY_F1 },
	{ KEY_RESIZE, SCREEN_KEY_REDRAW },
};

bool screen_is_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int check_type(struct err *err)
{
	const char *type = getenv("TERM");
	int found = 0;
	bool moves_cursor;

	if (!type || !*type)
		return err_set(err, ENOTTY, "TERM is not set");
	if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
		return err_set(err, ENOTTY, "the terminal type in TERM is not known");
	moves_cursor = cursor_address != NULL;
	del_curterm(cur_term); /* newterm() reads the description again */
	if (!moves_cursor)
		return err_set(err, ENOTTY, "the terminal type in TERM cannot move its cursor");
	return 0;
}

static int take_signals(struct screen *screen, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGWINCH);
	screen->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (screen->signal_fd < 0)
		return err_set(err, errno, "signalfd: %s", strerror(errno));
	pthread_sigmask(SIG_BLOCK, &set, &screen->before);
	return 0;
}

static void release_signals(struct screen *screen)
{
	pthread_sigmask(SIG_SETMASK, &screen->before, NULL);
	close(screen->signal_fd);
}

/* The modes of the new terminal. */
static void set_modes(struct screen *screen, bool colours)
{
	set_escdelay(ESCAPE_DELAY_MS);
	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	screen->colours = colours && has_colors() && start_color() == OK;
	if (screen->colours) {
		use_default_colors();
		init_pair(SCREEN_HOT, COLOR_RED, -1);
		init_pair(SCREEN_WARM, COLOR_GREEN, -1);
	}
}

int screen_begin(bool colours, struct screen **result, struct err *err)
{
	struct screen *screen;
	int ret;

	setlocale(LC_CTYPE, "");
	ret = check_type(err);
	if (ret)
		return ret;
	screen = g_new0(struct screen, 1);
	ret = take_signals(screen, err);
	if (ret) {
		g_free(screen);
		return ret;
	}
	screen->terminal = newterm(NULL, stdout, stdin);
	if (!screen->terminal) {
		release_signals(screen);
		g_free(screen);
		return err_set(err, ENOTTY, "the terminal can't be used");
	}
	set_modes(screen, colours);
	*result = screen;
	return 0;
}

void screen_end(struct screen *screen)
{
	endwin();
	delscreen(screen->terminal);
	release_signals(screen);
	g_free(screen);
}

/* ---- output ---------------------------------------------------------------------------------- */

void screen_size(const struct screen *screen, unsigned int *rows, unsigned int *columns)
{
	*rows = LINES > 0 ? (unsigned int)LINES : 1;
	*columns = COLS > 0 ? (unsigned int)COLS : 1;
}

void screen_clear(struct screen *screen)
{
	erase();
}

void screen_put(struct screen *screen, unsigned int row, const char *text, enum screen_style style,
	bool selected)
{
	attr_t attributes = style == SCREEN_BAR || selected ? A_REVERSE : A_NORMAL;
	short pair = 0;

	if (row >= (unsigned int)LINES)
		return;
	if (screen->colours && (style == SCREEN_HOT || style == SCREEN_WARM))
		pair = (short)style;
	attr_set(attributes, pair, NULL);
	mvaddstr((int)row, 0, text);
	attr_set(A_NORMAL, 0, NULL);
}

void screen_show(struct screen *screen)
{
	refresh();
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void fit_to_size(void)
{
	unsigned int rows, columns;

	if (terminal_size(STDOUT_FILENO, &rows, &columns) == 0)
		resizeterm((int)rows, (int)columns);
	clearok(stdscr, TRUE);
}

/*
 * Stops as SIGTSTP does by default: with a shell's terminal as it was; not at all, where no shell would
 * let the process go on.
 */
static void stop(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL }, saved;
	sigset_t set;

	endwin();
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigaction(SIGTSTP, &action, &saved);
	raise(SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* stopped here */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTSTP, &saved, NULL);
	fit_to_size();
}

static uint32_t take_signal(struct screen *screen)
{
	struct signalfd_siginfo info;

	if (read(screen->signal_fd, &info, sizeof(info)) != sizeof(info))
		return SCREEN_KEY_NONE;
	switch (info.ssi_signo) {
	case SIGWINCH:
		fit_to_size();
		return SCREEN_KEY_REDRAW;
	case SIGTSTP:
		stop();
		return SCREEN_KEY_REDRAW;
	default:
		return SCREEN_KEY_SIGNAL;
	}
}

/* SCREEN_KEY_NONE: there was none. */
static uint32_t take_key(void)
{
	wint_t code;
	size_t i;

	switch (get_wch(&code)) {
	case OK:
		if (code == '\r')
			return '\n';
		return code == 127 || code == '\b' ? SCREEN_KEY_BACKSPACE : (uint32_t)code;
	case KEY_CODE_YES:
		for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (keys[i].code == (int)code)
				return keys[i].key;
		return SCREEN_KEY_OTHER;
	default:
		return SCREEN_KEY_NONE;
	}
}

uint32_t screen_key(struct screen *screen, uint64_t end_ns)
{
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = screen->signal_fd, .events = POLLIN },
			{ .fd = STDIN_FILENO, .events = POLLIN },
		};
		uint32_t key = take_key(); /* ncurses may have read it already */
		uint64_t now, left_ms;

		if (key)
			return key;
		now = clock_monotonic_ns();
		if (now >= end_ns)
			return SCREEN_KEY_NONE;
		left_ms = (end_ns - now) / NSEC_PER_MSEC + 1;
		poll(fds, 2, left_ms > INT32_MAX ? -1 : (int)left_ms);
		if (fds[0].revents) {
			key = take_signal(screen);
			if (key)
				return key;
		}
		if (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
			return SCREEN_KEY_SIGNAL; /* a closed terminal stays readable */
	}
}
