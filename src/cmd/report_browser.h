/* SPDX-License-Identifier: MIT */
/* A capture in the browser of src/tui. */
#ifndef KPROFS_CMD_REPORT_BROWSER_H
#define KPROFS_CMD_REPORT_BROWSER_H

#include "cmd/report_input.h"
#include "formats/flat.h"

/*
 * Returns whether standard input and output are terminals. Then the caller tries the browser;
 * otherwise it prints text.
 */
bool report_browser_is_possible(void);

/* Below zero: it could not be shown, and the caller prints text; one line with the reason was printed. */
int report_browser(const struct report_input *capture, const struct flat_options *options);

#endif
