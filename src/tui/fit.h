/* SPDX-License-Identifier: MIT */
/*
 * Text from other processes in a column of a terminal. Control characters, invisible characters and
 * bytes that are not UTF-8 become \xNN; so do all characters other than ASCII if the encoding of
 * the locale is not UTF-8. Thread-safe while the locale does not change.
 */
#ifndef KPROFS_TUI_FIT_H
#define KPROFS_TUI_FIT_H

#include <glib.h>
#include <stdbool.h>

/*
 * Appends as much of a name as fits into so many columns, and blanks up to their end. Backslashes too
 * become \xNN, and long names are cut as by text_append_cut().
 */
void fit_append(GString *out, const char *name, unsigned int columns);

/* The same for a line whose names are escaped already. pad: with blanks up to the end. */
void fit_append_line(GString *out, const char *line, unsigned int columns, bool pad);

#endif
