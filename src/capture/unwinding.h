/* SPDX-License-Identifier: MIT */
/*
 * A capture with copied stacks (`stack dwarf`, USER_STACK) made into one with whole stacks, before
 * anything is made of it: so every view and report has one form of stacks to know.
 *
 *	USER_STACK and its sample  ->  here  ->  the sample with all its frames  ->  profile, ...
 *
 * Each frame is found from the row (symbolizer/unwind_row.h) of the place in its file. Where there
 *is none, a frame pointer that leads somewhere in the copy is believed. A stack ends where neither
 * helps, where the copy ends, or with what has no caller.
 */
#ifndef KPROFS_CAPTURE_UNWINDING_H
#define KPROFS_CAPTURE_UNWINDING_H

#include <stdbool.h>

#include "base/err.h"
#include "symbolizer/symbols.h"
#include "capture/decode.h"
#include "base/cancel.h"

/* Are there copied stacks? Reads to the first one, and rewinds. -ESPIPE: it can't. */
int unwinding_is_needed(struct decoder *decoder, bool *needed);

struct unwinding_counts {
	uint64_t stacks;   /* that were copied */
	uint64_t complete; /* unwound to a function that has no caller */
};

/*
 * *fd: a file without name with the capture anew, at its beginning, to be closed. What of the
 * capture is damaged is in it as it was. The decoder has been read to its end. wish (NULL: it is
 * wanted) is asked at least every 10 ms of work. -EINTR: not wanted any more; else -errno of
 * reading and writing.
 */
int unwinding_make(struct decoder *decoder, struct symbols *symbols,
	const struct cancel *cancel, int *fd, struct unwinding_counts *counts, struct err *err);

#endif
