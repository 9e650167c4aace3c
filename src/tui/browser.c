/* SPDX-License-Identifier: MIT */
/* A browser of the functions of a profile: see browser.h. */
#include "tui/browser.h"

#include <stdarg.h>

#include "tui/browser_state.h"

void browser_say(struct browser *b, const char *format, ...)
{
	va_list ap;

	g_free(b->message);
	va_start(ap, format);
	b->message = g_strdup_vprintf(format, ap);
	va_end(ap);
}

uint64_t browser_current_key(const struct browser *b)
{
	return b->place.cursor < b->rows->shown->len ? rows_at(b->rows, b->place.cursor)->key : 0;
}

void browser_to_key(struct browser *b, uint64_t key)
{
	const uint32_t at = rows_find_key(b->rows, key);

	b->place.cursor = at == UINT32_MAX ? 0 : at;
}

int browser_select(struct browser *b, struct err *err)
{
	const uint64_t key = browser_current_key(b);
	int ret;

	ret = rows_take(b->rows, selection_create(b->profile, &b->choice), b->functions, err);
	browser_to_key(b, key);
	return ret;
}

uint32_t browser_first_event(const struct profile *profile)
{
	uint32_t i;

	for (i = 0; i < profile->events->len; i++) {
		const struct profile_event *event = profile_event(profile, i);

		if (event->all.samples > event->idle.samples)
			return i;
	}
	return 0;
}

void browser_init(struct browser *b, const struct browser_options *options)
{
	*b = (struct browser){
		.options = options,
		.choice = { .own = options->own },
		.how = options->rows,
		.rows = rows_create(),
		.filter = g_strdup(""),
		.typed = g_string_new(NULL),
	};
	b->how.filter = b->filter;
	rows_set(b->rows, &b->how);
}

void browser_fini(struct browser *b)
{
	rows_destroy(b->rows);
	g_strfreev(b->lines);
	if (b->threads)
		g_array_free(b->threads, TRUE);
	g_string_free(b->typed, TRUE);
	g_free(b->title);
	g_free(b->filter);
	g_free(b->search);
	g_free(b->message);
	g_free(b->event);
}

int browser_run(const struct browser_options *options, const struct profile *profile,
	const struct functions *functions, struct err *err)
{
	struct browser b;
	int ret;

	browser_init(&b, options);
	b.profile = profile;
	b.functions = functions;
	b.choice.event = browser_first_event(profile);
	ret = browser_select(&b, err);
	if (!ret)
		ret = screen_begin(options->colours, &b.screen, err);
	if (!ret) {
		while (!b.quit) {
			browser_draw(&b);
			browser_key(&b, screen_key(b.screen, UINT64_MAX));
		}
		screen_end(b.screen);
	}
	browser_fini(&b);
	return ret;
}
