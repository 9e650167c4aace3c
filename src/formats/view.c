/* SPDX-License-Identifier: MIT */
/* The table of formats: see view.h. */
#include "formats/view.h"

#include <string.h>

#include "formats/firefox.h"
#include "formats/flame.h"
#include "formats/flat.h"
#include "formats/folded.h"
#include "formats/html.h"
#include "formats/perfdata/perfdata.h"
#include "formats/pprof.h"
#include "formats/tracejson.h"
#include "formats/tree.h"
#include "symbolizer/proto.h"

static int write_flat(const struct view_input *input, FILE *out, struct err *err)
{
	const struct flat_options options = { .own = false };

	(void)err;
	flat_write(input->profile, input->functions, &options, out);
	return 0;
}

#define FORMAT_ROW(...) { __VA_ARGS__ },

const struct view_format view_formats[] = { VIEW_FORMATS(FORMAT_ROW) { NULL } };

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

struct functions *view_name(const struct view_format *format, const struct profile *profile,
	struct symbols *symbols, int cancel_fd)
{
	struct symbols_how how = { .cancel_fd = cancel_fd };

	if (!(format->needs & VIEW_NAMES))
		return NULL;
	if (format->needs & VIEW_LINES) {
		how.flags = SYMBOLS_LINES;
		how.deadline_ns = proto_now_ns() + VIEW_LINES_NS;
	}
	return functions_create(profile, symbols, &how);
}
