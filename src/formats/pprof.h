/* SPDX-License-Identifier: MIT */
/*
 * A capture in the format of Google's pprof (profile.proto, gzip), as `go tool pprof` and others
 * read.
 *
 * Each event has two values in a sample: the number of samples, and the sum of their periods.
 * Samples have the labels process, pid, thread and cpu; those of a task that had exited have no pid
 * and thread. As in formats/flat the idle task and the server itself are left out. Comments of the
 * profile have the numbers of these and of lost samples.
 *
 * Addresses are offsets into the files; in the kernel they are addresses. A function without a
 * symbol is named as in capture/functions.h.
 */
#ifndef KPROFS_FORMATS_PPROF_H
#define KPROFS_FORMATS_PPROF_H

#include <stdio.h>

#include "formats/view_input.h"

/*
 * As view_format.write. Returns -EINTR if it was cancelled, -ENODATA if there are no samples,
 * -EFBIG if there are more than PPROF_EVENTS_MAX events, or -ENOMEM.
 */
int pprof_write(const struct view_input *input, FILE *out, struct err *err);

/* A limit is needed since each sample has two values for every event of the capture. */
#define PPROF_EVENTS_MAX 256

#endif
