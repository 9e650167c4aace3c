/* SPDX-License-Identifier: MIT */
/*
 * Table 2, the control words of a file; turns the lines of a write into commands.
 *
 * A line is one command: words are split at blanks, case counts, nothing is quoted. Usage texts and
 * errors are generated from the table, so that they cannot name a word that does not exist.
 */
#ifndef KPROFS_FS_CTL_WORDS_H
#define KPROFS_FS_CTL_WORDS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/switch_word.h"

struct openfile;
struct origin;
struct session;

/* One write has fewer bytes than this; the same limit as for a message of kptrace. */
#define CTL_WORDS_WRITE_MAX (64 * 1024)
/* More words than any command takes, with one to spare so that "too many" can be detected. */
#define CTL_WORDS_ARGS_MAX 8

struct ctl_words_call {
	struct session *session;
	struct openfile *file; /* the open file that the command came through */
	const struct origin *origin; /* of the write; set where a handler needs it */
	enum switch_word to;   /* the first word, of a row that is a switch */
	unsigned int argc;
	char *argv[CTL_WORDS_ARGS_MAX]; /* the words after the first */
};

/* A table ends with a row without word. */
struct ctl_words_word {
	const char *word; /* of a switch its words, with | between them; NUMBER stands for numbers */
	const char *args; /* as the usage shows them; "" for none */
	unsigned int min_args, max_args;
	/* returns 0 with a text in err if the command succeeded with a note */
	int (*handler)(struct ctl_words_call *call, struct err *err);
	const char *help; /* one sentence without full stop */
	bool is_switch;   /* the first word is one of base/switch_word.h, if `word` names it */
	bool is_text;     /* the rest of the line is one argument, with its blanks */
};

/*
 * Takes the next line of the rest of a write, without its newline. Returns false if nothing is
 * left.
 */
bool ctl_words_next_line(const char **data, size_t *left, const char **line, size_t *len);

/*
 * Carries out one line. Returns -EINVAL if the line has no word, a word that is not in the table, a
 * wrong number of arguments or a NUL; otherwise the value that the handler returned. *word becomes
 * the row that the line named, or NULL. The line `help` succeeds with a note and no row; the usage
 * is then that of all words.
 */
int ctl_words_run(const struct ctl_words_word *words, struct ctl_words_call *call, const char *line,
	size_t len, const struct ctl_words_word **word, struct err *err);

/* Appends "WORD ARGS" of one row, or of all rows with " | " between them where word is NULL. */
void ctl_words_usage(
	const struct ctl_words_word *words, const struct ctl_words_word *word, GString *out);

/* Parses argument i as a number; returns -EINVAL with a sentence if it is none. */
int ctl_words_number(
	const struct ctl_words_call *call, unsigned int i, uint64_t *value, struct err *err);

/* Parses argument i as a word of a switch; returns -EINVAL with a sentence if it is none. */
int ctl_words_switch(const struct ctl_words_call *call, unsigned int i, enum switch_word *to,
	struct err *err);

#endif
