/* SPDX-License-Identifier: MIT */
/* A capture in the browser of src/tui, and what the browser of kprof top shares with it. */
#ifndef KPROFS_CMD_REPORT_BROWSER_H
#define KPROFS_CMD_REPORT_BROWSER_H

#include "cmd/report_input.h"
#include "formats/flat.h"
#include "tui/browser.h"

/*
 * Returns whether standard input and output are terminals. Then the caller tries the browser;
 * otherwise it prints text.
 */
bool report_browser_is_possible(void);

/*
 * Returns a negative value, after printing a line with the reason, if the browser could not be
 * shown; the caller then prints text.
 */
int report_browser(const struct report_input *capture, const struct flat_options *options);

/*
 * The page of browser_options.annotate: what kprof annotate prints. arg: where the samples are from,
 * a string.
 */
char *report_browser_annotate(void *arg, const struct browser_annotation *what, struct err *err);

#endif
