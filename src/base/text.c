/* SPDX-License-Identifier: MIT */
/* Text from other processes: see text.h. */
#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static void append_hex(GString *out, const char *bytes, size_t size)
{
	for (; size; size--)
		g_string_append_printf(out, "\\x%02x", (unsigned char)*bytes++);
}

/* The number of bytes at the start that need no escape: of most strings all. */
static size_t count_plain(const char *text, char also)
{
	size_t n = 0;

	while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '\\' && text[n] != also)
		n++;
	return n;
}

static void append_escaped(GString *out, const char *text, char also)
{
	for (;;) {
		size_t plain = count_plain(text, also);
		const char *next;
		gunichar c;

		g_string_append_len(out, text, (gssize)plain);
		text += plain;
		if (!*text)
			return;
		next = text + 1;
		c = (unsigned char)*text;
		if (c >= 0x80) {
			c = g_utf8_get_char_validated(text, -1);
			if (c != (gunichar)-1 && c != (gunichar)-2)
				next = g_utf8_next_char(text);
			else
				c = 0;
		}
		if (c && g_unichar_isprint(c) && c != '\\' && c != (unsigned char)also)
			g_string_append_len(out, text, next - text);
		else
			append_hex(out, text, (size_t)(next - text));
		text = next;
	}
}

void text_append(GString *out, const char *text)
{
	append_escaped(out, text, '\\');
}

void text_append_cut(GString *out, const char *text)
{
	g_autofree char *start = NULL;

	if (strlen(text) <= TEXT_CUT_BYTES) {
		text_append(out, text);
		return;
	}
	start = g_strndup(text, TEXT_CUT_BYTES);
	text_append(out, start);
	g_string_append(out, "...");
}

void text_append_quoted(GString *out, const char *text)
{
	g_string_append_c(out, '"');
	append_escaped(out, text, '"');
	g_string_append_c(out, '"');
}

void text_append_count(GString *out, uint64_t count, const char *one, const char *many)
{
	g_string_append_printf(out, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

enum text_heat text_heat(double share)
{
	if (share >= 5)
		return TEXT_HEAT_HOT;
	return share >= 0.5 ? TEXT_HEAT_WARM : TEXT_HEAT_NONE;
}

const char *text_colour(double share)
{
	static const char *const sequences[] = {
		[TEXT_HEAT_NONE] = "",
		[TEXT_HEAT_WARM] = "\033[32m",
		[TEXT_HEAT_HOT] = "\033[31m",
	};

	return sequences[text_heat(share)];
}

static bool stays_in_lines(unsigned char byte)
{
	return (byte >= 32 && byte < 127) || byte == '\t' || byte == '\n';
}

void text_append_lines(GString *out, const char *text, size_t bytes)
{
	const char *end = text + bytes, *next;

	while (text < end) {
		for (next = text; next < end && stays_in_lines((unsigned char)*next); next++)
			;
		g_string_append_len(out, text, (gssize)(next - text));
		text = next;
		if (text == end)
			break;
		next = text + 1;
		/* -1 if it is not UTF-8, -2 if it is truncated UTF-8; NUL is below 32 */
		if ((unsigned char)*text >= 128 &&
			g_utf8_get_char_validated(text, end - text) < (gunichar)-2) {
			next = g_utf8_next_char(text);
			g_string_append_len(out, text, (gssize)(next - text));
		} else {
			append_hex(out, text, 1);
		}
		text = next;
	}
}

/*
 * Iterative, so that no pattern takes exponential time: of several '*' only the last one is gone back
 * to.
 */
bool text_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *tried = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			tried = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++tried;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
