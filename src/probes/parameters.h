/* SPDX-License-Identifier: MIT */
/*
 * The values of $1, $2, ..., $# and cpid, put into a text: what is written to a file of probes/ has no
 * arguments of a command line. Any thread.
 */
#ifndef KPROFS_PROBES_PARAMETERS_H
#define KPROFS_PROBES_PARAMETERS_H

#include <glib.h>

#include "base/err.h"

/*
 * Appends the text with the values. $N is a number, and 0 if it was not given; str($N) a string in quotes.
 * args ends with NULL; child: the value of cpid, 0 for none. -EINVAL if a value is not what its place needs.
 */
int parameters_replace(const char *text, const char *const *args, int child, GString *out, struct err *err);

#endif
