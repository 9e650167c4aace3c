/* SPDX-License-Identifier: MIT */
/*
 * A browser of the functions of a profile on a terminal: rows that expand to callers or callees, a
 * search, a filter, threads and events to choose from, the code of a function. The profile is that
 * of a capture, or that of the last seconds, which is taken again and again. One thread.
 *
 * browser.c begins and ends it, browser_live.c takes the profiles of the last seconds,
 * browser_draw.c draws it, browser_keys.c handles its keys, and browser_pages.c has its pages, one
 * of which is the help.
 */
#ifndef KPROFS_TUI_BROWSER_H
#define KPROFS_TUI_BROWSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/functions.h"
#include "capture/profile.h"
#include "formats/summary.h"
#include "tui/before.h"
#include "tui/rows.h"

struct browser;

struct browser_annotation {
	const struct profile *profile;	   /* the selected samples */
	const struct functions *functions; /* of that profile */
	uint32_t event;			   /* index */
	uint32_t function;		   /* index */
};

struct browser_options {
	const struct summary_source *source; /* where the samples are from */
	bool own;	    /* count the samples of the server itself, too */
	struct rows_options rows; /* at first; without a filter */
	bool colours;
	struct before *before; /* rows have its shares beside them; NULL: no earlier capture */
	/* The code of a function as text (to be freed), or NULL with the reason in *err. */
	char *(*annotate)(void *arg, const struct browser_annotation *what, struct err *err);
	void *arg;
};

/* The samples of the last seconds. The receiver owns the profile and its functions. */
struct browser_look {
	struct profile *profile;
	struct functions *functions;
	bool stopped; /* the profiler does not run any more */
};

struct browser_live {
	uint64_t every_ns; /* the time between two looks */
	const char *event; /* the text of the event that is shown at first */
	/* Takes the samples since the previous look. A negative value ends the browser. */
	int (*look)(void *arg, struct browser_look *look, struct err *err);
	void *arg;
};

/*
 * Shows a profile until the user ends the browser. The arguments must outlive the call. Returns
 * -ENOTTY if this terminal cannot show it, with the reason in *err, or -EFBIG if the profile has
 * too many different stacks.
 */
int browser_run(const struct browser_options *options, const struct profile *profile,
	const struct functions *functions, struct err *err);

/*
 * Shows one look after the other until the user ends the browser. The cursor stays at its row, and
 * expanded rows stay expanded. Returns -ENOTTY as above, or what look() returned.
 */
int browser_run_live(
	const struct browser_options *options, const struct browser_live *live, struct err *err);

#endif
