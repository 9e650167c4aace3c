/* SPDX-License-Identifier: MIT */
/*
 * A capture as a perf.data file, which perf report, perf script and other tools read like one that
 * perf wrote. All samples are in it, also those of the idle task (perf's process 0) and of the
 * server; those of tasks that had exited are of process -1.
 *
 * Limits of the format: stacks deeper than PERFDATA_WORDS_MAX lose their outermost frames;
 * tracepoints keep their names, but not their type, with which perf would expect their fields.
 *
 * The records are read twice, without a model of them: see perfdata_survey.h.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_H

#include <stdio.h>

#include "formats/view_input.h"

/*
 * As view_format.write. Returns -EINTR if it was cancelled, -ENODATA if there are no samples,
 * -EFBIG if there are too many events, -EIO if the capture changed meanwhile.
 */
int perfdata_write(const struct view_input *input, FILE *out, struct err *err);

#endif
