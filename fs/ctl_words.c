/* SPDX-License-Identifier: MIT */
/* Turns lines into commands: see ctl_words.h. */
#include "fs/ctl_words.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"

/* Edits between two words that may be the same one: words have few letters. */
#define NEAR_MAX 2

bool ctl_words_next_line(const char **data, size_t *left, const char **line, size_t *len)
{
	const char *newline;

	if (!*left)
		return false;
	newline = memchr(*data, '\n', *left);
	*line = *data;
	*len = newline ? (size_t)(newline - *data) : *left;
	*data += *len + (newline ? 1 : 0);
	*left -= *len + (newline ? 1 : 0);
	return true;
}

/*
 * Splits text in place into at most `max` words; returns how many there are, at most max + 1.
 */
static unsigned int split_words(char *text, char **words, unsigned int max)
{
	unsigned int n = 0;

	for (;;) {
		text += strspn(text, " \t");
		if (!*text)
			return n;
		if (n == max)
			return n + 1;
		words[n++] = text;
		text += strcspn(text, " \t");
		if (*text)
			*text++ = '\0';
	}
}

/* Returns 0 if the row of a switch takes this word; -EINVAL, or -ERANGE for too large a number. */
static int take_switch(const struct ctl_words_word *row, const char *text, enum switch_word *to,
	struct nearest *nearest)
{
	g_auto(GStrv) names = g_strsplit(row->word, "|", -1);
	bool is_name = g_ascii_isalpha(text[0]);
	int ret = switch_word_parse(text, to);

	for (char **name = names; *name; name++)
		if (strcmp(*name, "NUMBER") != 0)
			nearest_offer(nearest, *name);
	if (!ret && is_name && !g_strv_contains((const char *const *)names, text))
		ret = -EINVAL;
	return ret;
}

/* The rest of a line behind its first word, without blanks around it. */
static char *rest_of(const char *line, size_t len)
{
	char *text = g_strndup(line, len), *rest = text + strspn(text, " \t");
	char *found = g_strdup(g_strstrip(rest + strcspn(rest, " \t")));

	g_free(text);
	return found;
}

static const struct ctl_words_word *find_word(const struct ctl_words_word *words, const char *text,
	enum switch_word *to, struct err *err)
{
	const char *reason = "unknown word";
	struct nearest nearest;
	int ret;

	nearest_init(&nearest, text);
	for (; words->word; words++) {
		if (!words->is_switch) {
			if (!strcmp(words->word, text))
				return words;
			nearest_offer(&nearest, words->word);
			continue;
		}
		ret = take_switch(words, text, to, &nearest);
		if (!ret)
			return words;
		if (ret == -ERANGE)
			reason = "the number is too large";
	}
	if (nearest.count && nearest.distances[0] <= NEAR_MAX)
		err_set(err, EINVAL, "%s: did you mean '%s'?", reason, nearest.names[0]);
	else
		err_set(err, EINVAL, "%s", reason);
	return NULL;
}

static int check_args(const struct ctl_words_word *word, unsigned int argc, struct err *err)
{
	if (argc < word->min_args)
		return err_set(err, EINVAL, "'%s' needs %s", word->word,
			word->min_args == 1 ? "an argument" : "more arguments");
	if (argc > word->max_args)
		return err_set(err, EINVAL,
			word->max_args ? "'%s' has too many arguments" : "'%s' takes no argument",
			word->word);
	return 0;
}

int ctl_words_run(const struct ctl_words_word *words, struct ctl_words_call *call, const char *line,
	size_t len, const struct ctl_words_word **word, struct err *err)
{
	g_autofree char *text = g_strndup(line, len), *rest = NULL;
	char *split[CTL_WORDS_ARGS_MAX + 1];
	unsigned int n;
	int ret;

	*word = NULL;
	if (memchr(line, '\0', len))
		return err_set(err, EINVAL, "a NUL byte in the command");
	n = split_words(text, split, CTL_WORDS_ARGS_MAX + 1);
	if (!n)
		return err_set(err, EINVAL, "an empty command");
	if (n == 1 && !strcmp(split[0], "help"))
		return err_set(err, 0, "what can be written is");
	*word = find_word(words, split[0], &call->to, err);
	if (!*word)
		return -EINVAL;
	if ((*word)->is_text && n > 1) {
		rest = rest_of(line, len);
		split[1] = rest;
		n = 2;
	}
	ret = check_args(*word, n - 1, err);
	if (ret)
		return ret;
	call->argc = n - 1;
	memcpy(call->argv, split + 1, call->argc * sizeof(char *));
	return (*word)->handler(call, err);
}

static void append_usage(const struct ctl_words_word *word, GString *out)
{
	g_string_append(out, word->word);
	if (word->args[0])
		g_string_append_printf(out, " %s", word->args);
}

void ctl_words_usage(
	const struct ctl_words_word *words, const struct ctl_words_word *word, GString *out)
{
	const struct ctl_words_word *w;

	if (word) {
		append_usage(word, out);
		return;
	}
	for (w = words; w->word; w++) {
		if (w != words)
			g_string_append(out, " | ");
		append_usage(w, out);
	}
}

int ctl_words_number(
	const struct ctl_words_call *call, unsigned int i, uint64_t *value, struct err *err)
{
	int ret = units_parse_u64(call->argv[i], value);

	if (ret == -ERANGE)
		return err_set(err, EINVAL, "the number is too large");
	if (ret)
		return err_set(err, EINVAL, "not a number");
	return 0;
}

int ctl_words_switch(const struct ctl_words_call *call, unsigned int i, enum switch_word *to,
	struct err *err)
{
	int ret = switch_word_parse(call->argv[i], to);

	if (ret == -ERANGE)
		return err_set(err, EINVAL, "the number is too large");
	if (ret)
		return err_set(err, EINVAL, "neither on, off, toggle nor a number");
	return 0;
}
