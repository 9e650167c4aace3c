/* SPDX-License-Identifier: MIT */
/* What a shell completes after kprofs: see options.h. */
#include "fs/options.h"

#include <string.h>

/* Appends the word if it begins with what was typed behind the first `length` bytes. */
static void offer(GString *out, const char *typed, int length, const char *word, const char *help)
{
	if (g_str_has_prefix(word, typed + length))
		g_string_append_printf(out, "%.*s%s\t%s\n", length, typed, word, help);
}

/* typed: from the beginning of the list; the last option is being typed. */
static void offer_mount_options(GString *out, const char *typed)
{
	const char *comma = strrchr(typed, ','), *last = comma ? comma + 1 : typed;
	const char *equals = strchr(last, '='), *name, *help, *values;
	size_t i;

	for (i = 0; (name = options_mount_option(i, &help, &values)); i++) {
		g_auto(GStrv) words = g_strsplit(values, " ", -1);
		char **word;

		if (!equals) {
			offer(out, typed, (int)(last - typed), name, help);
			continue;
		}
		for (word = words; *word && g_str_has_prefix(last, name); word++)
			offer(out, typed, (int)(equals + 1 - typed), *word, "");
	}
}

void options_complete(int count, char **words, GString *out)
{
	static const char *const options[][2] = {
		{"-o", "mount options, separated by commas"},
		{"-f", "don't become a daemon"},
		{"--foreground", "don't become a daemon"},
		{"-h", "print the options"},
		{"--help", "print the options"},
		{"-V", "print the version"},
		{"--version", "print the version"},
	};
	const char *typed = count ? words[count - 1] : "";
	size_t i;

	if (count > 1 && strcmp(words[count - 2], "-o") == 0) {
		g_string_append(out, "words\n");
		offer_mount_options(out, typed);
	} else if (typed[0] == '-') {
		g_string_append(out, "words\n");
		for (i = 0; i < G_N_ELEMENTS(options); i++)
			offer(out, typed, 0, options[i][0], options[i][1]);
	} else {
		g_string_append(out, "folders\n");
	}
}
