/* SPDX-License-Identifier: MIT */
/* Text in a column of a terminal: see fit.h. */
#include "tui/fit.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/text.h"

/* The longest escape of one character: four bytes as \xNN. */
#define ESCAPE_MAX 17

/* Returns the columns of a character, or 0 if it must be replaced to be shown. */
static unsigned int width_of(gunichar c)
{
	int width;

	if (c < 0x80)
		return c >= ' ' && c < 0x7f;
	if (c >= (gunichar)-2 || !g_get_charset(NULL) || !g_unichar_isprint(c))
		return 0;
	width = wcwidth((wchar_t)c);
	return width > 0 ? (unsigned int)width : 0;
}

/* The next character as it is shown, of *size bytes; the columns that it takes. */
static unsigned int next_character(const char *text, char shown[ESCAPE_MAX], gsize *size)
{
	const gunichar c = g_utf8_get_char_validated(text, -1);
	const unsigned int width = width_of(c);
	gsize i;

	*size = c < (gunichar)-2 ? (gsize)(g_utf8_next_char(text) - text) : 1;
	if (width) {
		memcpy(shown, text, *size);
		shown[*size] = 0;
		return width;
	}
	for (i = 0; i < *size; i++)
		snprintf(shown + 4 * i, 5, "\\x%02x", (unsigned char)text[i]);
	return 4 * (unsigned int)*size;
}

/* As much as fits; the columns that it takes. */
static unsigned int put(GString *out, const char *text, unsigned int columns)
{
	unsigned int taken = 0, width;
	char shown[ESCAPE_MAX];
	gsize size;

	for (; *text; text += size) {
		width = next_character(text, shown, &size);
		if (width > columns - taken)
			break;
		taken += width;
		g_string_append(out, shown);
	}
	return taken;
}

static void pad_to(GString *out, unsigned int taken, unsigned int columns)
{
	for (; taken < columns; taken++)
		g_string_append_c(out, ' ');
}

void fit_append(GString *out, const char *name, unsigned int columns)
{
	g_autoptr(GString) escaped = g_string_new(NULL);

	text_append_cut(escaped, name);
	pad_to(out, put(out, escaped->str, columns), columns);
}

void fit_append_line(GString *out, const char *line, unsigned int columns, bool pad)
{
	const unsigned int taken = put(out, line, columns);

	if (pad)
		pad_to(out, taken, columns);
}
