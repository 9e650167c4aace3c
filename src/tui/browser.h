/* SPDX-License-Identifier: MIT */
/*
 * A browser of the functions of a profile on a terminal: rows that expand to callers or callees, a
 * search, a filter, threads and events to choose from, the code of a function. One thread.
 *
 * browser.c begins and ends it, browser_draw.c draws it, browser_keys.c handles its keys, and
 * browser_pages.c has its pages, one of which is the help.
 */
#ifndef KPROFS_TUI_BROWSER_H
#define KPROFS_TUI_BROWSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/functions.h"
#include "capture/profile.h"

struct browser;

struct browser_annotation {
	const struct profile *profile;	   /* the selected samples */
	const struct functions *functions; /* of that profile */
	uint32_t event;			   /* index */
	uint32_t function;		   /* index */
};

struct browser_options {
	const char *source; /* where the samples are from, in a few words */
	bool own;	    /* count the samples of the server itself, too */
	bool total;	    /* sorted by the total at first */
	bool colours;
	/* The code of a function as text (to be freed), or NULL with the reason in *err. */
	char *(*annotate)(void *arg, const struct browser_annotation *what, struct err *err);
	void *arg;
};

/*
 * Shows a profile until the user ends the browser. The arguments must outlive the call. Returns
 * -ENOTTY if this terminal cannot show it, with the reason in *err, or -EFBIG if the profile has
 * too many different stacks.
 */
int browser_run(const struct browser_options *options, const struct profile *profile,
	const struct functions *functions, struct err *err);

#endif
