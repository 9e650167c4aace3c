/* SPDX-License-Identifier: MIT */
/*
 * How errors travel in kprofs.
 *
 * A function that can fail returns int: 0, or a negated errno (-EINVAL). Results come back through
 * out-parameters, which stand last and are untouched on failure. A caller that wants to tell a
 * person why hands down a `struct err`; whoever knows the reason writes the sentence once, with
 * err_set(), where the failure happens. Callers above may put a word in front with err_prefix().
 * Nobody logs on the way: the boundary (fs/ for requests, main.c and src/cmd/ for programs) turns
 * the number into one reply or exit status and the sentence into one line of kperr or stderr.
 *
 * Nothing that another process wrote is ever a reason to abort: count it, detach it, go on.
 */
#ifndef KPROFS_BASE_ERR_H
#define KPROFS_BASE_ERR_H

/* Long enough for a sentence with a path in it; longer text is cut. */
#define ERR_TEXT_MAX 512

struct err {
	char text[ERR_TEXT_MAX]; /* "" when nobody has said anything */
};

/* Writes the sentence and returns -code. err may be NULL: then only the number travels. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "WORDS: " in front of what is there. Leaves errors without text alone. */
void err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
