/* SPDX-License-Identifier: MIT */
/*
 * The data in a report for browsers, which report_data.js reads. Numbers are LEB128 varints, as in
 * the records of kpdata. In this order:
 *
 *	bytes of the header, and the header: a JSON object in ASCII with
 *		start_ms	the wall clock at time 0, in ms since 1970; 0 if it is not known
 *		events		arrays of: text; 1 if it is a clock, whose weight is in ns, else 0
 *		cpu_times	arrays of: CPU; how long it was measured; user, kern, irq, idle, steal
 *				(see mpstat), in us; empty if the capture does not have them
 *		processes	names
 *		files		paths
 *		functions	arrays of: name; index of the file
 *		tracks		arrays of: event, name of the process, name of the thread, pid (-1:
 *				of a task that had exited), tid, flags (enum profile_cell_flags),
 *				number of samples
 *	the number of nodes. A node is a process, or a function below its caller. Nodes count from
 *	1; 0 is above the processes. Then two columns:
 *		how much smaller the number of the parent is
 *		index of the process or function * 4 + kind: 0 a process, 1 a function of a program,
 *			2 of the kernel, 3 inlined
 *	the number of samples. They are sorted by track, and by time in each. Then four columns:
 *		time in us since the first sample of all; of all but the first sample of a track,
 *			since the previous one
 *		CPU
 *		node; 0: of the idle task or the server itself
 *		weight, less that of the previous sample of the track (0 for the first), as
 *			zigzag: 0, -1, 1, -2 are 0, 1, 2, 3
 *
 * Numbers are below 2^53, so that a browser's numbers hold them.
 */
#ifndef KPROFS_FORMATS_HTML_DATA_H
#define KPROFS_FORMATS_HTML_DATA_H

#include <glib.h>

#include "base/err.h"
#include "formats/view_input.h"

/* A browser takes about 30 bytes for a sample. */
#define HTML_DATA_SAMPLES_MAX (16u << 20)

/* Larger weights and times are written as this. The difference of two, as zigzag, is below 2^53. */
#define HTML_DATA_NUMBER_MAX ((1ull << 52) - 1)

/*
 * Makes the data of a profile with its moments. Returns -EINTR if the view was cancelled, -ENODATA
 * if there are no samples, -EFBIG if there are more than CALLTREE_NODES_MAX nodes or
 * HTML_DATA_SAMPLES_MAX samples; *err has the sentence. The caller frees *data.
 */
int html_data_make(const struct view_input *input, GByteArray **data, struct err *err);

#endif
