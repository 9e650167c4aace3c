/* SPDX-License-Identifier: MIT */
/*
 * The rows of `kprof top` as text: once where standard output is not a terminal; else again and
 * again, with keys, on a terminal that the browser cannot use. One thread.
 */
#ifndef KPROFS_CMD_TOP_TEXT_H
#define KPROFS_CMD_TOP_TEXT_H

#include "tui/browser.h"

struct top_text_options {
	struct rows_options rows;
	const char *events; /* of the run, with commas in between */
	bool own;	    /* count the samples of the server itself */
	bool callers;	    /* show below each function what calls it */
	bool selected;	    /* not all samples are shown: print how many */
	struct before *before; /* rows have its shares beside them; NULL: no earlier capture */
	int signal_fd;	    /* readable: end */
};

/* Returns when it was printed or the user ends it; what look() returned otherwise. */
int top_text(const struct top_text_options *options, const struct browser_live *live, struct err *err);

#endif
