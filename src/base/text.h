/* SPDX-License-Identifier: MIT */
/* Text from other processes, shown on a terminal or in one line. Thread-safe. */
#ifndef KPROFS_BASE_TEXT_H
#define KPROFS_BASE_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Appends `text` so that it stays in its line and cannot control a terminal: control characters,
 * invisible characters, backslashes, and bytes that are not UTF-8 become \xNN.
 */
void text_append(GString *out, const char *text);

/*
 * Appends bytes as UTF-8 text that may have several lines. Bytes below 32 other than newline and
 * tab, 127, and what is not UTF-8 become \xNN.
 */
void text_append_lines(GString *out, const char *text, size_t bytes);

/* The same for a name of any length (C++ templates): a long one is cut and ends in `...`. */
#define TEXT_CUT_BYTES 256
void text_append_cut(GString *out, const char *text);

/* The colour of a share (percent) on a terminal. */
enum text_heat {
	TEXT_HEAT_NONE,
	TEXT_HEAT_WARM, /* green: from 0.5 % on */
	TEXT_HEAT_HOT,	/* red: from 5 % on */
};
enum text_heat text_heat(double share);

/*
 * The escape sequence that sets the colour of a line with this share (percent) on a terminal, ""
 * if it needs none; and the one that ends it.
 */
const char *text_colour(double share);
#define TEXT_COLOUR_END "\033[0m"

/* As text_append(), between double quotes, with the quotes inside as \x22. */
void text_append_quoted(GString *out, const char *text);

/* Whether all of `text` is matched by a pattern, in which * is any text and ? is any byte. */
bool text_matches(const char *pattern, const char *text);

/* "1 sample", "2 samples". */
void text_append_count(GString *out, uint64_t count, const char *one, const char *many);

#endif
