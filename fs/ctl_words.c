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

static const struct ctl_words_word *find_word(
	const struct ctl_words_word *words, const char *text, uint64_t *number, struct err *err)
{
	const char *reason = "unknown word";
	struct nearest nearest;
	int ret;

	nearest_init(&nearest, text);
	for (; words->word; words++) {
		if (!words->is_number) {
			if (!strcmp(words->word, text))
				return words;
			nearest_offer(&nearest, words->word);
			continue;
		}
		ret = units_parse_u64(text + (text[0] == '-'), number);
		if (!ret && text[0] == '-')
			*number = -*number; /* as C converts it: 0 for -0 only */
		if (!ret)
			return words;
		reason = ret == -ERANGE ? "the number is too large" : "not a number";
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
	g_autofree char *text = g_strndup(line, len);
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
	*word = find_word(words, split[0], &call->number, err);
	if (!*word)
		return -EINVAL;
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

int ctl_words_on_off(
	const struct ctl_words_call *call, unsigned int i, bool *value, struct err *err)
{
	if (!strcmp(call->argv[i], "on"))
		*value = true;
	else if (!strcmp(call->argv[i], "off"))
		*value = false;
	else
		return err_set(err, EINVAL, "neither on nor off");
	return 0;
}
