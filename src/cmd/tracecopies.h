/* SPDX-License-Identifier: MIT */
/*
 * Copies of cpu/N/trace, of which kprof trace makes one trace. What can't be read is said, and read up to
 * there.
 */
#ifndef KPROFS_CMD_TRACECOPIES_H
#define KPROFS_CMD_TRACECOPIES_H

#include <stdbool.h>

#include "trace/tracefile.h"

struct tracecopies;

struct tracecopies *tracecopies_open(char **names, int count);
/* Whether there was something that could not be read. */
bool tracecopies_close(struct tracecopies *copies);

/* The next item of all copies in the order of time, good until the next call; NULL: that was all. */
const struct tracefile_item *tracecopies_next(struct tracecopies *copies);

/* Says what is wrong with the copy of the item that came last. */
void tracecopies_blame(struct tracecopies *copies, const char *reason);

/* The header of the i-th copy. false: it has none. */
bool tracecopies_get_head(const struct tracecopies *copies, int i, struct tracefile_head *head);

#endif
