/* SPDX-License-Identifier: MIT */
/* JSON strings and members: see json.h. */
#include "formats/json.h"

static void append_character(GString *out, gunichar c)
{
	if (c == '"' || c == '\\')
		g_string_append_printf(out, "\\%c", (char)c);
	else if (c >= 0x20 && c < 0x7f)
		g_string_append_c(out, (char)c);
	else if (c < 0x10000)
		g_string_append_printf(out, "\\u%04x", c);
	else
		g_string_append_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			0xdc00 + ((c - 0x10000) & 0x3ff));
}

void json_append_string(GString *out, const char *text)
{
	g_string_append_c(out, '"');
	while (*text) {
		gunichar c = g_utf8_get_char_validated(text, -1);

		if (c == (gunichar)-1 || c == (gunichar)-2) {
			g_string_append_printf(out, "\\\\x%02x", (unsigned char)*text++);
			continue;
		}
		append_character(out, c);
		text = g_utf8_next_char(text);
	}
	g_string_append_c(out, '"');
}

void json_append_name(GString *out, const char *name)
{
	char last = out->len ? out->str[out->len - 1] : '{';

	if (last != '{' && last != '[')
		g_string_append_c(out, ',');
	json_append_string(out, name);
	g_string_append_c(out, ':');
}

void json_append_member(GString *out, const char *name, const char *text)
{
	json_append_name(out, name);
	json_append_string(out, text);
}

void json_flush(GString *text, FILE *out)
{
	fwrite(text->str, 1, text->len, out);
	g_string_truncate(text, 0);
}
