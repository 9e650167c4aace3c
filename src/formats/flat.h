/* SPDX-License-Identifier: MIT */
/*
 * The flat profile: which functions the samples were taken in, hottest first. Lines:
 *
 *	# ...		what the capture holds, and what is missing from it
 *	share samples event process function file		(the heads of the columns)
 *	one line a function in a process, event by event
 *	idle ...	what each event met in the idle task, outside of the shares
 *
 * Shares are of the samples of one event that are counted, weighed by their periods. Columns are
 * separated by blanks, the file is the last one and may contain some. Strings: see text.h.
 */
#ifndef KPROFS_FORMATS_FLAT_H
#define KPROFS_FORMATS_FLAT_H

#include <stdbool.h>
#include <stdio.h>

#include "capture/functions.h"
#include "capture/profile.h"

struct flat_options {
	bool own;     /* count the samples taken in the server itself */
	bool total;   /* a column for what a function and all that it calls took; sorts by it */
	bool colours; /* for a terminal */
	bool callers; /* below each function its callers, with `<-` for an event */
};

/* Writes the view; errors of the stream are the caller's to find (ferror). Thread-safe. */
void flat_write(const struct profile *profile, const struct functions *names,
	const struct flat_options *options, FILE *out);

#endif
