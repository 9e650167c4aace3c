/* SPDX-License-Identifier: MIT */
/* The state of a browser; only its files include it. */
#ifndef KPROFS_TUI_BROWSER_STATE_H
#define KPROFS_TUI_BROWSER_STATE_H

#include "tui/browser.h"
#include "tui/rows.h"
#include "tui/screen.h"
#include "tui/selection.h"

/* Characters by which a page is shifted, and up to which. */
#define BROWSER_SHIFT 8
#define BROWSER_SHIFT_MAX 2048

/* Characters that can be typed at a prompt. */
#define BROWSER_TYPED_MAX 200

/*
 * Lines above the rows: the source, the event, and the headings of the columns; below them: the keys. The
 * source is left out on screens of fewer lines than BROWSER_SOURCE_FROM.
 */
#define BROWSER_HEAD_MAX 3
#define BROWSER_FOOT 1
#define BROWSER_SOURCE_FROM 8

enum browser_mode {
	BROWSER_ROWS,
	BROWSER_PAGE,	/* a text */
	BROWSER_EVENTS, /* a list to choose from */
	BROWSER_THREADS,
};

enum browser_prompt {
	BROWSER_NO_PROMPT,
	BROWSER_SEARCH,
	BROWSER_FILTER,
};

/* A position in a list, which the cursor stays in. */
struct browser_place {
	uint32_t cursor; /* index */
	uint32_t first;	 /* the first one on the screen */
};

struct browser {
	const struct browser_options *options;
	struct screen *screen;
	const struct profile *profile;
	const struct functions *functions;

	const struct browser_live *live; /* NULL if the profile stays the same */
	struct browser_look look;	 /* the current one */
	uint64_t due_ns;		 /* when the next look is taken, CLOCK_MONOTONIC */
	uint64_t chosen; /* the key of the row that the cursor stays at; 0: it stays at its line */
	char *event;	 /* the text of the event that is shown */
	bool paused;

	struct selection_choice choice;
	struct rows *rows;
	struct rows_options how; /* its filter is that of `filter` */
	char *filter;
	struct browser_place place;
	size_t process_bytes; /* of the longest name of a process so far, if that is short */

	enum browser_mode mode;
	struct browser_place list; /* in a page or a list */
	uint32_t shift; /* of a page: characters to the left of the screen */
	char *title;		   /* of the page */
	char **lines;		   /* of the page or list: UTF-8, names in it are escaped */
	GArray *threads;	   /* struct selection_thread, of the list; the list has one line more */

	enum browser_prompt prompt;
	GString *typed;
	char *search;  /* the last text that was searched for */
	char *message; /* instead of the keys until the next key, or NULL */
	bool quit;
};

/* Initializes what both ways to run a browser share, and frees it. */
void browser_init(struct browser *b, const struct browser_options *options);
void browser_fini(struct browser *b);

/* The event that is shown at first: the first one with samples that are counted. */
uint32_t browser_first_event(const struct profile *profile);

/* Makes the rows anew, after a change of the choice. -EFBIG */
int browser_select(struct browser *b, struct err *err);

/* The key of the row at the cursor, and the cursor to the row with a key; to the first if there is none. */
uint64_t browser_current_key(const struct browser *b);
void browser_to_key(struct browser *b, uint64_t key);

/* Remembers by its text which event of the live profile is shown. */
void browser_remember_event(struct browser *b);

void browser_draw(struct browser *b);
void browser_key(struct browser *b, uint32_t key);

/* How many lines the current list has, and how many of them the screen shows. */
uint32_t browser_length(const struct browser *b);
uint32_t browser_room(const struct browser *b);

/* How many lines are above the rows. */
uint32_t browser_head(const struct browser *b);

/* Shows a page or a list with these lines; takes ownership of the text, if there is one. */
void browser_open_page(struct browser *b, const char *title, char *text);
void browser_open_help(struct browser *b);
void browser_open_summary(struct browser *b);
void browser_open_events(struct browser *b);
void browser_open_threads(struct browser *b);
void browser_close_page(struct browser *b);

__attribute__((format(printf, 2, 3))) void browser_say(struct browser *b, const char *format, ...);

#endif
