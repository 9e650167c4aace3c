/* SPDX-License-Identifier: MIT */
/*
 * Unwinds the copied stacks of a capture (`stack dwarf`, USER_STACK), before anything else is made
 * of it: so views and reports have only one kind of stacks to handle.
 *
 *	USER_STACK and its sample  ->  here  ->  the sample with all its frames  ->  profile, ...
 *
 * Each frame is found with the row (symbolizer/unwind_row.h) of the address in its file. If there
 * is no row, a frame pointer is used that points into the copy. A stack ends if there is neither,
 * at the end of the copy, or at a function that has no caller.
 */
#ifndef KPROFS_CAPTURE_UNWINDING_H
#define KPROFS_CAPTURE_UNWINDING_H

#include <stdbool.h>

#include "base/cancel.h"
#include "base/err.h"
#include "capture/decode.h"
#include "symbolizer/symbols.h"

/*
 * Sets *needed to whether there are copied stacks. Reads up to the first one, and rewinds. Returns
 * -ESPIPE if the decoder can't be rewound.
 */
int unwinding_is_needed(struct decoder *decoder, bool *needed);

struct unwinding_counts {
	uint64_t stacks;   /* copied stacks */
	uint64_t complete; /* of them, those unwound to a function that has no caller */
};

/*
 * Sets *fd to an unnamed file with the new capture, at its beginning; the caller closes it. Damaged
 * parts of the capture are copied unchanged. The decoder is read to its end. Cancellation is
 * checked at least every 10 ms of work. Returns -EINTR if it was cancelled, or -errno of reading
 * and writing.
 */
int unwinding_make(struct decoder *decoder, struct symbols *symbols,
	const struct cancel *cancel, int *fd, struct unwinding_counts *counts, struct err *err);

#endif
