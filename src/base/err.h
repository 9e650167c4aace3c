/* SPDX-License-Identifier: MIT */
/*
 * Errors: the rules by which functions of kprofs return and report them.
 *
 * A function that can fail returns int: 0, or a negated errno (-EINVAL). Results are returned
 * through out-parameters, which stand last and are unchanged on failure. A caller that wants to
 * report the reason passes a `struct err`. The function in which the failure happens writes the
 * sentence, once, with err_set(). Callers above may put a prefix before it with err_prefix().
 * Nothing in between writes to the log: the boundary (fs/ for requests, main.c and src/cmd/ for
 * programs) turns the number into one reply or exit status, and the sentence into one line of
 * kperr or stderr.
 *
 * Data that another process wrote is never a reason to abort: count it, detach the process, go
 * on.
 */
#ifndef KPROFS_BASE_ERR_H
#define KPROFS_BASE_ERR_H

/* Enough for a sentence with a path in it; longer text is cut. */
#define ERR_TEXT_MAX 512

struct err {
	char text[ERR_TEXT_MAX]; /* "" if no sentence was written */
};

/* Writes the sentence and returns -code. If err is NULL, it only returns -code. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds "WORDS: " before the sentence. Errors without a sentence are not changed. */
void err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
