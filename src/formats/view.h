/* SPDX-License-Identifier: MIT */
/*
 * Views: a capture in the formats of common tools. Each format is one file here and one row of a
 * table, which views/ of the mounted tree and `kprof convert` use.
 *
 * The code of a format does not depend on where the capture comes from or where its bytes go. It
 * writes sequentially to a stdio stream, in one thread; several views of one input may be written
 * at once.
 */
#ifndef KPROFS_FORMATS_VIEW_H
#define KPROFS_FORMATS_VIEW_H

#include <stdio.h>

#include "base/err.h"
#include "base/units.h"
#include "formats/view_input.h"

/* What a format needs; view_load() and view_name() provide it. */
enum view_needs {
	VIEW_STACKS = 1 << 0,  /* the stacks of samples; without it all are STACKS_ROOT */
	VIEW_NAMES = 1 << 1,   /* the functions of places */
	VIEW_LINES = 1 << 2,   /* source lines and inlined functions too */
	VIEW_MOMENTS = 1 << 3, /* the time of each sample */
	VIEW_ANNOTATIONS = 1 << 4, /* annotations, if the caller has any */
	VIEW_LEAVES = 1 << 5,  /* of each stack only the innermost frame */
	VIEW_RECORDS = 1 << 6, /* no profile: it reads the records itself */
	VIEW_DIFFERENCE = 1 << 7, /* it can show the difference from an earlier capture */
	VIEW_WAKERS = 1 << 8, /* it can show the wakers behind the stacks of times away (profile.h) */
};

#define VIEW_FUNCTIONS (VIEW_STACKS | VIEW_NAMES)

/* How long a view reads debug information; files after that are symbolized without it. */
#define VIEW_LINES_NS (3 * NSEC_PER_SEC)

struct view_format {
	const char *name; /* of the file in views/, and of `kprof convert -t` */
	const char *help; /* one line */
	/*
	 * Writes the view. Returns 0, also if the stream failed (the caller checks ferror), -EINTR
	 * if it was cancelled, -ENODATA if the capture has nothing that this format shows, -EFBIG
	 * if the result is larger than the format allows. *err gets the sentence.
	 */
	int (*write)(const struct view_input *input, FILE *out, struct err *err);
	unsigned int needs; /* enum view_needs */
};

/* clang-format off */
/* The rows of view_formats; the files of views/ are made from them as well (fs/tree.c). */
#define VIEW_FORMATS(row)									\
	row("flat",										\
		"share, samples, event, process, function, file; hottest first",		\
		write_flat, VIEW_LEAVES | VIEW_NAMES | VIEW_DIFFERENCE)				\
	row("tree",										\
		"call trees: functions below their callers, and callers below their callees",\
		tree_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_DIFFERENCE | VIEW_WAKERS)	\
	row("folded",										\
		"one stack a line with its count, for flame-graph tools",			\
		folded_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_WAKERS)			\
	row("flame.svg",									\
		"a flame graph to open in a browser",						\
		flame_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_DIFFERENCE | VIEW_WAKERS)	\
	row("report.html",									\
		"flame graph, tables and time line on one page, to open in a browser",		\
		html_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_MOMENTS | VIEW_DIFFERENCE)	\
	row("kpdata",										\
		"the records themselves, of a part of a capture or of several",			\
		records_write, VIEW_RECORDS)							\
	row("perf.data",									\
		"what perf report and perf script read",					\
		perfdata_write, VIEW_RECORDS)							\
	row("pprof",										\
		"what go tool pprof reads: profile.proto, gzip",				\
		pprof_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_WAKERS)			\
	row("firefox.json",									\
		"what the Firefox Profiler reads: its processed profile format",		\
		firefox_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_MOMENTS)			\
	row("trace.json",									\
		"what Perfetto reads: samples on a time line, in the Trace Event Format",	\
		tracejson_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_MOMENTS | VIEW_ANNOTATIONS)
/* clang-format on */

/* The last row has no name. */
extern const struct view_format view_formats[];

/* The row of a name; NULL if there is none. */
const struct view_format *view_find(const char *name);

/*
 * profile_load_with() for what the format needs. bytes_max is the approximate number of bytes that
 * the profile and its functions may take, or 0 for no limit. Returns -EFBIG if they need more.
 * wakers: for a format with VIEW_WAKERS, stacks of times away go on with those of their wakers.
 */
int view_load(const struct view_format *format, struct decoder *decoder, size_t bytes_max, bool wakers,
	struct profile **profile, struct err *err);

/*
 * functions_create() for what the format needs; NULL if it needs no functions. cancel_fd: readable
 * when the view is cancelled; -1 if it can't be.
 */
struct functions *view_name(const struct view_format *format, const struct profile *profile,
	struct symbols *symbols, int cancel_fd);

#endif
