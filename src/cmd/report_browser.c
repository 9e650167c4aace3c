/* SPDX-License-Identifier: MIT */
/* A capture in the browser of src/tui: see report_browser.h. */
#include "cmd/report_browser.h"

#include <errno.h>

#include "cmd/annotate.h"
#include "cmd/cmd.h"
#include "tui/screen.h"

char *report_browser_annotate(void *arg, const struct browser_annotation *what, struct err *err)
{
	struct annotate a = {
		.profile = what->profile,
		.names = what->functions,
		.source = arg,
		.event = profile_event(what->profile, what->event)->text,
		.function = what->function,
		.file = PROCESSES_NONE,
		.own = true, /* the profile has the selected samples only */
	};
	struct err reason = { "" };
	GString *out;

	if (!annotate_choose(&a)) {
		err_set(err, ENOENT, "no samples were taken in the function itself");
		return NULL;
	}
	out = g_string_new(NULL);
	if (annotate_read(&a, &reason))
		g_string_append_printf(out, "# the code can't be shown: %s\n", reason.text);
	annotate_text(&a, false, out);
	annotate_fini(&a);
	return g_string_free(out, FALSE);
}

bool report_browser_is_possible(void)
{
	return screen_is_possible();
}

int report_browser(const struct report_input *capture, const struct flat_options *options)
{
	const struct browser_options how = {
		.source = &capture->input.origin,
		.own = options->own,
		.rows.order = options->total ? ROWS_BY_TOTAL : ROWS_BY_SELF,
		.colours = options->colours,
		.annotate = report_browser_annotate,
		.arg = (void *)capture->input.source,
	};
	struct err err = { "" };
	int ret = browser_run(&how, capture->profile, capture->names, &err);

	if (ret)
		cmd_error("text, not the browser: %s", err.text);
	return ret;
}
