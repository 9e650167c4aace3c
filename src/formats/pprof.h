/* SPDX-License-Identifier: MIT */
/*
 * A capture in the format of Google's pprof (profile.proto, gzip), as `go tool pprof` and others
 * read.
 *
 * Each event has two values a sample: how many there were, and what they stand for by their
 * periods. Samples have the labels process, pid, thread and cpu, pid and thread not of a task that
 * was gone. As in formats/flat the idle task and the server itself are left out; comments of the
 * profile tell how many these were, and what was lost.
 *
 * Addresses are offsets into the files, in the kernel addresses; a function that has no name is
 * called as in capture/functions.h.
 */
#ifndef KPROFS_FORMATS_PPROF_H
#define KPROFS_FORMATS_PPROF_H

#include "formats/view.h"

/*
 * See view_format.write: -EINTR; -ENODATA: no samples; -EFBIG: more than PPROF_EVENTS_MAX; -ENOMEM.
 */
int pprof_write(const struct view_input *input, FILE *out, struct err *err);

/* Each sample has two values for every event, its own and those of all others. */
#define PPROF_EVENTS_MAX 256

#endif
