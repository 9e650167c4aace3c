/* SPDX-License-Identifier: MIT */
/*
 * A browser of a profiler that runs: see browser.h. It takes a look when the time is over, and keys
 * until then. A look that is taken while the browser is paused, or while the user chooses from a
 * list of the current one, is dropped: each look has the samples of its own time only.
 */
#include "tui/browser_state.h"

#include <string.h>

#include "sys/clock.h"

static void release(struct browser_look *look)
{
	functions_destroy(look->functions);
	profile_destroy(look->profile);
	*look = (struct browser_look){ 0 };
}

void browser_remember_event(struct browser *b)
{
	if (!b->live || b->choice.event >= b->profile->events->len)
		return;
	g_free(b->event);
	b->event = g_strdup(profile_event(b->profile, b->choice.event)->text);
}

/* Shows the look instead of the current one. */
static void show(struct browser *b, struct browser_look *look)
{
	struct browser_look before = b->look;
	struct err err = { "" };
	uint32_t at;

	b->look = *look;
	b->profile = look->profile;
	b->functions = look->functions;
	/* UINT32_MAX while the capture has no samples of it */
	b->choice.event = profile_find_event(b->profile, b->event);
	if (rows_take(b->rows, selection_create(b->profile, &b->choice), b->functions, &err))
		browser_say(b, "%s", err.text);
	at = b->chosen ? rows_find_key(b->rows, b->chosen) : UINT32_MAX;
	if (at != UINT32_MAX)
		b->place.cursor = at;
	release(&before);
}

static bool stands_still(const struct browser *b)
{
	return b->look.profile &&
	       (b->paused || b->mode == BROWSER_EVENTS || b->mode == BROWSER_THREADS);
}

static int take_look(struct browser *b, struct err *err)
{
	struct browser_look look = { 0 };
	int ret = b->live->look(b->live->arg, &look, err);

	b->due_ns = clock_monotonic_ns() + b->live->every_ns;
	if (ret)
		return ret;
	if (stands_still(b))
		release(&look);
	else
		show(b, &look);
	return 0;
}

/* Whether it is a key that is meant for the current row. */
static bool is_for_row(const struct browser *b, uint32_t key)
{
	return b->prompt == BROWSER_NO_PROMPT &&
	       (key == '\n' || key == '+' || key == 'E' || key == 'a' || key == SCREEN_KEY_RIGHT ||
		       key == SCREEN_KEY_LEFT);
}

/* The cursor stays at the row that it was moved to, or that a key was for; Home ends that. */
static void take_key(struct browser *b, uint32_t key)
{
	const bool rows = b->mode == BROWSER_ROWS, for_row = rows && is_for_row(b, key);
	const bool home = rows && b->prompt == BROWSER_NO_PROMPT && (key == SCREEN_KEY_HOME || key == 'g');
	const uint64_t before = browser_current_key(b);
	const uint32_t order = b->how.order, kind = b->how.kind;
	const bool reverse = b->how.reverse;

	browser_key(b, key);
	if (home)
		b->chosen = 0;
	else if (for_row)
		b->chosen = before;
	else if (rows && browser_current_key(b) != before)
		b->chosen = browser_current_key(b);
	if (!b->chosen && (order != b->how.order || kind != b->how.kind || reverse != b->how.reverse))
		b->place.cursor = 0;
}

static int run(struct browser *b, struct err *err)
{
	int ret = 0;

	while (!b->quit && !ret) {
		uint32_t key;

		browser_draw(b);
		key = screen_key(b->screen, b->due_ns);
		if (key != SCREEN_KEY_NONE)
			take_key(b, key);
		if (!b->quit && clock_monotonic_ns() >= b->due_ns)
			ret = take_look(b, err);
	}
	return ret;
}

int browser_run_live(
	const struct browser_options *options, const struct browser_live *live, struct err *err)
{
	struct browser b;
	int ret;

	browser_init(&b, options);
	b.live = live;
	b.event = g_strdup(live->event);
	ret = take_look(&b, err);
	if (!ret)
		ret = screen_begin(options->colours, &b.screen, err);
	if (!ret) {
		ret = run(&b, err);
		screen_end(b.screen);
	}
	browser_fini(&b);
	release(&b.look);
	return ret;
}
