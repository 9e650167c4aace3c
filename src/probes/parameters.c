/* SPDX-License-Identifier: MIT */
/* Parameters of programs. */
#include "probes/parameters.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_';
}

/* Whether `at` stands behind "str(". */
static bool is_in_str(const char *text, const char *at)
{
	while (at > text && isspace((unsigned char)at[-1]))
		at--;
	if (at == text || *--at != '(')
		return false;
	while (at > text && isspace((unsigned char)at[-1]))
		at--;
	return at - text >= 3 && strncmp(at - 3, "str", 3) == 0 && (at - text == 3 || !is_word(at[-4]));
}

static const char *value_of(const char *const *args, unsigned long number)
{
	for (; args && *args; args++)
		if (--number == 0)
			return *args;
	return NULL;
}

static void append_quoted(const char *value, GString *out)
{
	g_string_append_c(out, '"');
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			g_string_append_c(out, '\\');
		if (iscntrl((unsigned char)*value))
			g_string_append_printf(out, "\\x%02x", (unsigned char)*value);
		else
			g_string_append_c(out, *value);
	}
	g_string_append_c(out, '"');
}

static int append_number(unsigned long number, const char *value, GString *out, struct err *err)
{
	const char *digits = value + (*value == '-');
	char *end;

	errno = 0;
	strtoull(digits, &end, 0);
	if (!isdigit((unsigned char)*digits) || *end || errno)
		return err_set(err, EINVAL, "$%lu is '%.60s', which is not a number: use str($%lu)",
			number, value,
			number);
	g_string_append_printf(out, "%s%s%s", *value == '-' ? "(" : "", value, *value == '-' ? ")" : "");
	return 0;
}

/* At "$N" or "$#"; goes behind it. */
static int replace_one(const char *text, const char **at, const char *const *args, GString *out,
	struct err *err)
{
	const char *dollar = *at;
	unsigned long number, count = 0;
	const char *value;
	char *end;

	++*at;
	if (**at == '#') {
		++*at;
		while (args && args[count])
			count++;
		g_string_append_printf(out, "%lu", count);
		return 0;
	}
	number = strtoul(*at, &end, 10);
	*at = end;
	value = value_of(args, number);
	if (is_in_str(text, dollar))
		append_quoted(value ? value : "", out);
	else
		return append_number(number, value ? value : "0", out, err);
	return 0;
}

/* The end of a string or comment that begins here; NULL if none does, as behind a word: in a path. */
static const char *skip_quoted(const char *text, const char *at)
{
	const bool follows_word = at > text && is_word(at[-1]);
	const char *end;

	if (!follows_word && at[0] == '/' && at[1] == '/')
		return at + strcspn(at, "\n");
	if (!follows_word && at[0] == '/' && at[1] == '*') {
		end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	if (at[0] != '"')
		return NULL;
	for (end = at + 1; *end && *end != '"'; end++)
		if (*end == '\\' && end[1])
			end++;
	return *end ? end + 1 : end;
}

/* The end of a word with what says that it is no built-in: "$x", "@x", ".x", "->x"; or of one byte. */
static const char *skip_word(const char *at)
{
	const char *end = at + 1;

	if (at[0] == '-' && at[1] == '>')
		end++;
	if (is_word(*at) || strchr("$@.", *at) || end > at + 1)
		while (is_word(*end))
			end++;
	return end;
}

int parameters_replace(const char *text, const char *const *args, int child, GString *out, struct err *err)
{
	const char *at = text, *end;
	int ret = 0;

	while (*at && !ret) {
		end = skip_quoted(text, at);
		if (!end && *at == '$' && (isdigit((unsigned char)at[1]) || at[1] == '#')) {
			ret = replace_one(text, &at, args, out, err);
			continue;
		}
		if (!end)
			end = skip_word(at);
		if (child && end - at == 4 && strncmp(at, "cpid", 4) == 0)
			g_string_append_printf(out, "%d", child);
		else
			g_string_append_len(out, at, end - at);
		at = end;
	}
	return ret;
}
