/* SPDX-License-Identifier: MIT */
/*
 * The flat profile: the functions in which the samples were taken, hottest first. Lines:
 *
 *	# ...		the summary (summary.h)
 *	share samples event process function file		(the heads of the columns)
 *	one line a function in a process, event by event
 *	idle ...	the samples of each event in the idle task, which are in no share
 *
 * Shares are of the counted samples of one event, weighted by their periods. Columns are separated
 * by blanks; the file is the last one and may contain blanks. Strings: see base/text.h.
 */
#ifndef KPROFS_FORMATS_FLAT_H
#define KPROFS_FORMATS_FLAT_H

#include <stdio.h>

#include "formats/flat_count.h"

/* Writes the view; the caller checks the stream for errors (ferror). Thread-safe. */
void flat_write(const struct profile *profile, const struct functions *functions,
	const struct flat_options *options, FILE *out);

#endif
