/* SPDX-License-Identifier: MIT */
/*
 * Copies of cpu/N/trace, which kprof trace merges into one trace. If a copy can't be read to its
 * end, the error is printed and the items before it are used.
 */
#ifndef KPROFS_CMD_TRACECOPIES_H
#define KPROFS_CMD_TRACECOPIES_H

#include <stdbool.h>

#include "trace/tracefile.h"

struct tracecopies;

struct tracecopies *tracecopies_open(char **names, int count);
/* Returns whether a part could not be read. */
bool tracecopies_close(struct tracecopies *copies);

/* The next item of all copies, in order of time; valid until the next call. NULL at the end. */
const struct tracefile_item *tracecopies_next(struct tracecopies *copies);

/* Prints this error of the copy that the last item is from. */
void tracecopies_print_error(struct tracecopies *copies, const char *reason);

/* Reads the header of the i-th copy. Returns false if it has none. */
bool tracecopies_get_head(const struct tracecopies *copies, int i, struct tracefile_head *head);

#endif
