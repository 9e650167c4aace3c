/* SPDX-License-Identifier: MIT */
/* The table of formats: see view.h. */
#include "formats/view.h"

#include <string.h>

#include "formats/breakdown_text.h"
#include "formats/firefox.h"
#include "formats/flame.h"
#include "formats/flat.h"
#include "formats/folded.h"
#include "formats/html.h"
#include "formats/perfdata/perfdata.h"
#include "formats/pprof.h"
#include "formats/records.h"
#include "formats/summary.h"
#include "formats/tracejson.h"
#include "formats/tree.h"
#include "symbolizer/proto.h"

/* The rows of the flat profile with the shares of both captures, the largest change first. */
static void write_flat_difference(const struct view_input *input, FILE *out)
{
	const struct view_input *inputs[] = { input->before, input };
	const struct breakdown_options options = { .fields = 1u << BREAKDOWN_EVENT | 1u << BREAKDOWN_PROCESS |
			1u << BREAKDOWN_FUNCTION | 1u << BREAKDOWN_FILE,
		.merged = true };
	const struct breakdown_order order = { .field = BREAKDOWN_FIELDS, .difference = true };
	struct breakdown_capture captures[G_N_ELEMENTS(inputs)];
	struct breakdown_input counted[G_N_ELEMENTS(inputs)];
	struct breakdown_text text = { .captures = captures, .count = G_N_ELEMENTS(inputs),
		.options = &options, .head = true };
	struct breakdown *rows;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(inputs); i++) {
		const struct summary_source *source = inputs[i]->source;

		captures[i] = (struct breakdown_capture){ inputs[i]->profile,
			source && source->name ? source->name : "", source };
		counted[i] = (struct breakdown_input){ inputs[i]->profile, inputs[i]->functions };
	}
	rows = breakdown_create(counted, G_N_ELEMENTS(inputs), &options);
	breakdown_sort(rows, &order);
	text.rows = rows;
	breakdown_text_write(&text, out);
	breakdown_destroy(rows);
}

static int write_flat(const struct view_input *input, FILE *out, struct err *err)
{
	const struct flat_options options = { .source = input->source };

	(void)err;
	if (input->before) {
		write_flat_difference(input, out);
		return 0;
	}
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

int view_load(const struct view_format *format, struct decoder *decoder, size_t bytes_max, bool wakers,
	struct profile **profile, struct err *err)
{
	const struct profile_options options = {
		.no_samples = format->needs & VIEW_RECORDS,
		.no_stacks = !(format->needs & (VIEW_STACKS | VIEW_LEAVES)),
		.leaves = format->needs & VIEW_LEAVES,
		.moments = format->needs & VIEW_MOMENTS,
		.wakers = wakers,
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
