/* SPDX-License-Identifier: MIT */
/* The keys of a browser; the help in browser_pages.c lists them. */
#include "tui/browser_state.h"

#include <string.h>

uint32_t browser_room(const struct browser *b)
{
	unsigned int rows, columns;

	screen_size(b->screen, &rows, &columns);
	return rows > browser_head(b) + BROWSER_FOOT ? rows - browser_head(b) - BROWSER_FOOT : 1;
}

uint32_t browser_head(const struct browser *b)
{
	unsigned int rows, columns;

	screen_size(b->screen, &rows, &columns);
	return rows < BROWSER_SOURCE_FROM ? BROWSER_HEAD_MAX - 1 : BROWSER_HEAD_MAX;
}

uint32_t browser_length(const struct browser *b)
{
	return b->mode == BROWSER_ROWS ? b->rows->shown->len : g_strv_length(b->lines);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void move(struct browser *b, int64_t by)
{
	struct browser_place *at = b->mode == BROWSER_ROWS ? &b->place : &b->list;
	uint32_t *place = b->mode == BROWSER_PAGE ? &at->first : &at->cursor;
	const int64_t last = (int64_t)browser_length(b) - 1;

	*place = (uint32_t)CLAMP((int64_t)*place + by, 0, MAX(last, 0));
}

/* Whether it is a key that moves. */
static bool take_move(struct browser *b, uint32_t key)
{
	const int64_t page = browser_room(b);

	switch (key) {
	case SCREEN_KEY_UP:
	case 'k':
		move(b, -1);
		return true;
	case SCREEN_KEY_DOWN:
	case 'j':
		move(b, 1);
		return true;
	case SCREEN_KEY_PAGE_UP:
		move(b, -page);
		return true;
	case SCREEN_KEY_PAGE_DOWN:
	case ' ':
		move(b, page);
		return true;
	case SCREEN_KEY_HOME:
	case 'g':
		move(b, -(int64_t)UINT32_MAX);
		return true;
	case SCREEN_KEY_END:
	case 'G':
		move(b, UINT32_MAX);
		return true;
	default:
		return false;
	}
}

/* ---- prompts --------------------------------------------------------------------------------- */

static void search(struct browser *b, uint32_t from, bool backward)
{
	uint32_t found;

	if (!b->search || !*b->search)
		return;
	found = rows_search(b->rows, b->search, from, backward);
	if (found == UINT32_MAX)
		browser_say(b, "no row with %s", b->search);
	else
		b->place.cursor = found;
}

/* Makes the rows anew; the cursor stays at its row, if it is still there. */
static void arrange(struct browser *b)
{
	const uint64_t key = browser_current_key(b);

	rows_set(b->rows, &b->how);
	browser_to_key(b, key);
}

static void set_filter(struct browser *b, const char *text)
{
	g_free(b->filter);
	b->filter = g_strdup(text);
	b->how.filter = b->filter;
	arrange(b);
}

static void take_typed(struct browser *b)
{
	const enum browser_prompt prompt = b->prompt;

	b->prompt = BROWSER_NO_PROMPT;
	if (prompt == BROWSER_FILTER) {
		set_filter(b, b->typed->str);
	} else {
		g_free(b->search);
		b->search = g_strdup(b->typed->str);
		search(b, b->place.cursor, false);
	}
}

static void take_prompt_key(struct browser *b, uint32_t key)
{
	if (key == '\n') {
		take_typed(b);
	} else if (key == 27) {
		b->prompt = BROWSER_NO_PROMPT;
	} else if (key == SCREEN_KEY_BACKSPACE) {
		if (b->typed->len)
			g_string_truncate(b->typed,
				(gsize)(g_utf8_prev_char(b->typed->str + b->typed->len) - b->typed->str));
	} else if (key < SCREEN_KEY_UP && g_unichar_validate(key) && g_unichar_isprint(key) &&
		   b->typed->len < BROWSER_TYPED_MAX) {
		g_string_append_unichar(b->typed, key);
	}
}

static void ask(struct browser *b, enum browser_prompt prompt)
{
	b->prompt = prompt;
	g_string_assign(b->typed, prompt == BROWSER_FILTER ? b->filter : "");
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct row *current(struct browser *b)
{
	return b->place.cursor < b->rows->shown->len ? rows_at(b->rows, b->place.cursor) : NULL;
}

/* To the row above in the tree. */
static void to_parent(struct browser *b, const struct row *row)
{
	uint32_t i = b->place.cursor;

	while (i && rows_at(b->rows, i)->depth >= row->depth)
		i--;
	if (rows_at(b->rows, i)->depth < row->depth)
		b->place.cursor = i;
}

static void annotate(struct browser *b, const struct row *row)
{
	const struct browser_annotation what = {
		.profile = b->rows->selected,
		.functions = b->functions,
		.event = b->choice.event,
		.function = rows_function(b->rows, row),
	};
	struct err err = { "" };
	char *text;

	if (what.function == FUNCTIONS_NO_FRAME) {
		browser_say(b, "the code can't be shown: it has no function with a name");
		return;
	}
	text = b->options->annotate(b->options->arg, &what, &err);
	if (text)
		browser_open_page(b, "the code, with the shares of its instructions", text);
	else
		browser_say(b, "%s", err.text);
}

/* Keys for the current row. */
static void take_row_key(struct browser *b, struct row *row, uint32_t key)
{
	switch (key) {
	case '\n':
	case '+':
		rows_expand(b->rows, row, !row->expanded);
		break;
	case SCREEN_KEY_RIGHT:
		rows_expand(b->rows, row, true);
		break;
	case SCREEN_KEY_LEFT:
		if (row->expanded)
			rows_expand(b->rows, row, false);
		else
			to_parent(b, row);
		break;
	case 'E':
		if (!rows_expand_all(b->rows, row))
			browser_say(b, "stopped at %d rows", ROWS_EXPANDED_MAX);
		break;
	case 'a':
		annotate(b, row);
		break;
	}
}

static void next_event(struct browser *b, uint32_t by)
{
	const uint32_t count = b->profile->events->len;
	struct err err = { "" };

	if (!count)
		return;
	b->choice.event = (MIN(b->choice.event, count) + by) % count;
	browser_remember_event(b);
	if (browser_select(b, &err))
		browser_say(b, "%s", err.text);
}

/* Keys that change what all rows are. */
static void take_view_key(struct browser *b, uint32_t key)
{
	switch (key) {
	case 's':
		b->how.order = (b->how.order + 1) % ROWS_ORDERS;
		break;
	case 'r':
		b->how.reverse = !b->how.reverse;
		break;
	case 'c':
		b->how.kind = (b->how.kind + 1) % ROWS_KINDS;
		break;
	case 'K':
		b->how.no_kernel = !b->how.no_kernel;
		break;
	case 'U':
		b->how.no_user = !b->how.no_user;
		break;
	default:
		return;
	}
	arrange(b);
}

static void take_rows_key(struct browser *b, uint32_t key)
{
	struct row *row = current(b);

	switch (key) {
	case '/':
		ask(b, BROWSER_SEARCH);
		break;
	case 'n':
		search(b, b->place.cursor + 1, false);
		break;
	case 'N':
		search(b, b->place.cursor + MAX(b->rows->shown->len, 1) - 1, true);
		break;
	case 'f':
	case '\\':
		ask(b, BROWSER_FILTER);
		break;
	case 27:
		if (*b->filter)
			set_filter(b, "");
		break;
	case 'C':
		rows_collapse_all(b->rows);
		b->place.cursor = 0;
		break;
	case '\t':
		next_event(b, 1);
		break;
	case SCREEN_KEY_BACK_TAB:
		next_event(b, b->profile->events->len - 1);
		break;
	case 'e':
		browser_open_events(b);
		break;
	case 't':
		browser_open_threads(b);
		break;
	case 'i':
		browser_open_summary(b);
		break;
	case 'p':
		b->paused = b->live && !b->paused;
		break;
	case 'q':
		b->quit = true;
		break;
	default:
		take_view_key(b, key);
		if (row)
			take_row_key(b, row, key);
	}
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void choose(struct browser *b)
{
	const uint32_t chosen = b->list.cursor;
	struct err err = { "" };

	if (b->mode == BROWSER_EVENTS) {
		b->choice.event = chosen;
		browser_remember_event(b);
	} else {
		b->choice.one_thread = chosen > 0;
		if (chosen) {
			const struct selection_thread *thread =
				&g_array_index(b->threads, struct selection_thread, chosen - 1);

			b->choice.pid = thread->pid;
			b->choice.tid = thread->tid;
		}
	}
	browser_close_page(b);
	if (browser_select(b, &err))
		browser_say(b, "%s", err.text);
}

void browser_key(struct browser *b, uint32_t key)
{
	if (key == SCREEN_KEY_SIGNAL) {
		b->quit = true;
		return;
	}
	if (key == SCREEN_KEY_REDRAW)
		return;
	g_clear_pointer(&b->message, g_free);
	if (b->prompt != BROWSER_NO_PROMPT)
		take_prompt_key(b, key);
	else if (take_move(b, key))
		return;
	else if (b->mode != BROWSER_ROWS && (key == 'q' || key == 27))
		browser_close_page(b);
	else if (b->mode == BROWSER_PAGE && key == SCREEN_KEY_LEFT)
		b->shift -= MIN(b->shift, BROWSER_SHIFT);
	else if (b->mode == BROWSER_PAGE && key == SCREEN_KEY_RIGHT)
		b->shift = MIN(b->shift + BROWSER_SHIFT, BROWSER_SHIFT_MAX);
	else if (key == 'h' || key == '?' || key == SCREEN_KEY_F1)
		browser_open_help(b);
	else if (b->mode == BROWSER_ROWS)
		take_rows_key(b, key);
	else if (b->mode != BROWSER_PAGE && key == '\n' && browser_length(b))
		choose(b);
}
