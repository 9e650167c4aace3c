/* SPDX-License-Identifier: MIT */
/*
 * The samples one by one, by time, as text in the layout of `perf script`: a line about the sample,
 * then a line for each frame, innermost first, then an empty line. For stackcollapse-perf.pl and
 * other programs that read perf script. Differences: inlined functions are not shown, and names are
 * those of kprof.
 *
 * All samples are in it, as in perf.data: those of the idle task are of swapper, process 0; those of
 * tasks that had exited are of process -1.
 */
#ifndef KPROFS_FORMATS_SCRIPT_H
#define KPROFS_FORMATS_SCRIPT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "capture/functions.h"
#include "capture/profile.h"

enum script_field {
	SCRIPT_COMM,
	SCRIPT_TID,
	SCRIPT_PID,
	SCRIPT_TIME,
	SCRIPT_CPU,
	SCRIPT_EVENT,
	SCRIPT_IP,
	SCRIPT_SYM,
	SCRIPT_DSO,
	SCRIPT_SYMOFF,
	SCRIPT_PERIOD,
	SCRIPT_WAKER, /* not in perf: the task that ended a time away */
	SCRIPT_FIELDS,
};

/* Names of the fields, as perf script -F has them, and `waker`. */
extern const char *const script_fields[SCRIPT_FIELDS];

struct script_options {
	unsigned int fields; /* bits: 1 << field */
	bool ns;       /* times with nine digits */
	bool no_chain; /* the innermost frame only, in the sample's line */
};

/*
 * Sets the fields of perf script without -F, or changes them by a list as -F takes it: names, or
 * `+name` and `-name`. Returns -EINVAL if it is not such a list.
 */
int script_set_fields(struct script_options *options, const char *list, struct err *err);

/* The profile must have its moments. The caller checks the stream for errors (ferror). */
void script_write(const struct profile *profile, const struct functions *functions,
	const struct script_options *options, FILE *out);

#endif
