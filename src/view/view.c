/* SPDX-License-Identifier: MIT */
/* The table of formats: see view.h. */
#include "view/view.h"

#include <string.h>

#include "sym/proto.h"
#include "view/firefox.h"
#include "view/flame.h"
#include "view/flat.h"
#include "view/folded.h"
#include "view/perfdata.h"
#include "view/pprof.h"
#include "view/tracejson.h"
#include "view/tree.h"

static int write_flat(const struct view_input *input, FILE *out, struct err *err)
{
	const struct flat_options options = { .own = false };

	(void)err;
	flat_write(input->profile, input->names, &options, out);
	return 0;
}

const struct view_format view_formats[] = {
	{ "flat", "share, samples, event, process, function, file; hottest first", write_flat,
		VIEW_LEAVES | VIEW_NAMES },
	{ "tree", "who called whom: functions below their callers, and callers below theirs",
		tree_write, VIEW_FUNCTIONS | VIEW_LINES },
	{ "folded", "one stack a line with its count, for flame-graph tools", folded_write,
		VIEW_FUNCTIONS | VIEW_LINES },
	{ "flame.svg", "a flame graph to open in a browser", flame_write,
		VIEW_FUNCTIONS | VIEW_LINES },
	{ "perf.data", "what perf report and perf script read", perfdata_write,
		VIEW_RECORDS },
	{ "pprof", "what go tool pprof reads: profile.proto, gzip", pprof_write,
		VIEW_FUNCTIONS | VIEW_LINES },
	{ "firefox.json", "what the Firefox Profiler reads: its processed profile format",
		firefox_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_MOMENTS },
	{ "trace.json", "what Perfetto reads: samples on a time line, in the Trace Event Format",
		tracejson_write, VIEW_FUNCTIONS | VIEW_LINES | VIEW_MOMENTS | VIEW_MARKS },
	{ NULL },
};

const struct view_format *view_find(const char *name)
{
	const struct view_format *format;

	for (format = view_formats; format->name; format++)
		if (!strcmp(format->name, name))
			return format;
	return NULL;
}

int view_load(const struct view_format *format, struct decoder *decoder, size_t bytes_max,
	struct profile **profile, struct err *err)
{
	const struct profile_options options = {
		.no_samples = format->needs & VIEW_RECORDS,
		.no_stacks = !(format->needs & (VIEW_STACKS | VIEW_LEAVES)),
		.leaves = format->needs & VIEW_LEAVES,
		.moments = format->needs & VIEW_MOMENTS,
		.bytes_max = bytes_max,
	};

	return profile_load_with(decoder, &options, profile, err);
}

struct names *view_name(const struct view_format *format, const struct profile *profile,
	struct symbols *symbols, int cancel_fd)
{
	struct symbols_how how = { .cancel_fd = cancel_fd };

	if (!(format->needs & VIEW_NAMES))
		return NULL;
	if (format->needs & VIEW_LINES) {
		how.flags = SYMBOLS_LINES;
		how.deadline_ns = proto_now_ns() + VIEW_LINES_NS;
	}
	return names_create(profile, symbols, &how);
}
