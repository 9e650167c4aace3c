/* SPDX-License-Identifier: MIT */
/*
 * A terminal that is drawn by ncurses: only screen.c includes it. At most one screen at a time, and
 * one thread, since ncurses has global state.
 */
#ifndef KPROFS_TUI_SCREEN_H
#define KPROFS_TUI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum screen_style {
	SCREEN_PLAIN,
	SCREEN_WARM, /* as TEXT_HEAT_WARM */
	SCREEN_HOT,  /* as TEXT_HEAT_HOT */
	SCREEN_BAR,  /* headings: reverse */
};

/* Keys without a character; a character is its own number. */
enum screen_key {
	SCREEN_KEY_NONE = 0, /* the time is over */
	SCREEN_KEY_UP = 0x200000,
	SCREEN_KEY_DOWN,
	SCREEN_KEY_LEFT,
	SCREEN_KEY_RIGHT,
	SCREEN_KEY_PAGE_UP,
	SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_HOME,
	SCREEN_KEY_END,
	SCREEN_KEY_BACK_TAB,
	SCREEN_KEY_BACKSPACE,
	SCREEN_KEY_F1,
	SCREEN_KEY_REDRAW, /* the size changed, or the process was stopped and goes on */
	SCREEN_KEY_SIGNAL, /* SIGINT, SIGTERM, SIGHUP; or the terminal was closed */
	SCREEN_KEY_OTHER,
};

struct screen;

/* Whether standard input and output are terminals. */
bool screen_is_possible(void);

/*
 * Takes the terminal. Until screen_end() SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGWINCH of this
 * thread are blocked and become keys. Sets the locale of characters. Returns -ENOTTY if the
 * terminal's type (TERM) is not known or it can't move its cursor, or -errno of signalfd(2).
 */
int screen_begin(bool colours, struct screen **screen, struct err *err);

/* Leaves the terminal as it was. */
void screen_end(struct screen *screen);

void screen_size(const struct screen *screen, unsigned int *rows, unsigned int *columns);

void screen_clear(struct screen *screen);

/*
 * Puts a line: the text must have been made by fit_append(), with the screen's columns. selected: the
 * row that the next key is for. Rows below the screen are ignored.
 */
void screen_put(struct screen *screen, unsigned int row, const char *text, enum screen_style style,
	bool selected);

/* Shows what was put since screen_clear(); rows without a text are empty. */
void screen_show(struct screen *screen);

/* Waits for a key, at most until this time on the monotonic clock; UINT64_MAX: without an end. */
uint32_t screen_key(struct screen *screen, uint64_t end_ns);

#endif
