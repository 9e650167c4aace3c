/* SPDX-License-Identifier: MIT */
/*
 * Views: a capture in a form that people already use. One format a file, all in one table, which
 * views/ of the mounted tree and `kprof convert` walk.
 *
 * A view knows nothing of where the capture comes from or where its bytes go. It is written front
 * to back to a stdio stream, by one thread; several views of one input may be written at once.
 */
#ifndef KPROFS_FORMATS_VIEW_H
#define KPROFS_FORMATS_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/units.h"
#include "capture/functions.h"
#include "capture/profile.h"

/*
 * Something else than a sample that a time line shows: what a program, or somebody, wrote. UTF-8.
 */
struct view_mark {
	uint64_t time_ns;    /* CLOCK_MONOTONIC */
	uint32_t cpu;	     /* VIEW_CPU_UNKNOWN: not known */
	uint32_t pid, tid;
	const char *program; /* NULL: of no process; then pid and tid say nothing */
	const char *name;    /* "": it has none */
	const char *text;
};
#define VIEW_CPU_UNKNOWN 0xffffu

/* Where marks come from. */
struct view_marks {
	/* the next one in the order of time, good until the next call. false: that was all */
	bool (*next)(void *arg, struct view_mark *mark);
	void *arg;
	uint64_t left_out; /* older than those that come */
	uint64_t lost;
};

struct view_input {
	const struct profile *profile; /* NULL: the form reads the records itself */
	const struct functions *names; /* NULL: the form needs none */
	/*
	 * the records themselves: seekable, for pread(2) and decode_init_fd() on a dup; not moved
	 */
	int capture_fd;
	const struct view_marks *marks; /* for a form with VIEW_MARKS, to be used up; NULL: there are none */
	/* what a form that reads the records may keep of them, roughly; 0: whatever it needs */
	size_t bytes_max;
	struct cancel cancel; /* looked at after 10 ms of work at most */
};

/* What a form shows: view_load() and view_name() make it so. */
enum view_needs {
	VIEW_STACKS = 1 << 0,  /* where samples were taken; else all have the stack of no frame */
	VIEW_NAMES = 1 << 1,   /* what is there */
	VIEW_LINES = 1 << 2,   /* source lines and inlined functions too */
	VIEW_MOMENTS = 1 << 3, /* when each sample was taken */
	VIEW_MARKS = 1 << 4,   /* what else happened, if who asks knows of it */
	VIEW_LEAVES = 1 << 5,  /* of the stacks only where the CPU was */
	VIEW_RECORDS = 1 << 6, /* nothing of the profile: it reads the records itself */
};

#define VIEW_FUNCTIONS (VIEW_STACKS | VIEW_NAMES)

/* So long a view reads debug information; the files that are left then are named without it. */
#define VIEW_LINES_NS (3 * NSEC_PER_SEC)

struct view_format {
	const char *name; /* of the file in views/, and of `kprof convert -t` */
	const char *help; /* one line */
	/*
	 * Writes the view. 0, also where the stream failed (the caller looks at ferror); -EINTR:
	 * cancelled; -ENODATA: nothing in the capture that this form could show; -EFBIG: larger
	 * than the form allows. *err gets the sentence.
	 */
	int (*write)(const struct view_input *input, FILE *out, struct err *err);
	unsigned int needs; /* enum view_needs */
};

/* The rows of view_formats; the files of views/ are made from them as well (fs/dirtab.c). */
#define VIEW_FORMATS(row)                                                                          \
	row("flat", "share, samples, event, process, function, file; hottest first", write_flat,   \
		VIEW_LEAVES | VIEW_NAMES)                                                          \
	row("tree", "who called whom: functions below their callers, and callers below theirs",    \
		tree_write, VIEW_FUNCTIONS | VIEW_LINES)                                           \
	row("folded", "one stack a line with its count, for flame-graph tools", folded_write,      \
		VIEW_FUNCTIONS | VIEW_LINES)                                                       \
	row("flame.svg", "a flame graph to open in a browser", flame_write,                        \
		VIEW_FUNCTIONS | VIEW_LINES)                                                       \
	row("perf.data", "what perf report and perf script read", perfdata_write, VIEW_RECORDS)    \
	row("pprof", "what go tool pprof reads: profile.proto, gzip", pprof_write,                 \
		VIEW_FUNCTIONS | VIEW_LINES)                                                       \
	row("firefox.json", "what the Firefox Profiler reads: its processed profile format",       \
		firefox_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_MOMENTS)                         \
	row("trace.json", "what Perfetto reads: samples on a time line, in the Trace Event Format", \
		tracejson_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_MOMENTS | VIEW_MARKS)

/* Ends with a row without name. */
extern const struct view_format view_formats[];

/* The row of a name, NULL where there is none. */
const struct view_format *view_find(const char *name);

/*
 * profile_load_with() of what the form needs. bytes_max: what the profile and names for it may
 * take, roughly, 0: whatever they need; -EFBIG where that is not enough.
 */
int view_load(const struct view_format *format, struct decoder *decoder, size_t bytes_max,
	struct profile **profile, struct err *err);

/*
 * functions_create() of what the form needs; NULL: nothing. cancel_fd: once it is readable the
 * names are not wanted any more; -1: they are.
 */
struct functions *view_name(const struct view_format *format, const struct profile *profile,
	struct symbols *symbols, int cancel_fd);

static inline bool view_cancelled(const struct view_input *input)
{
	return cancel_requested(&input->cancel);
}

#endif
