/* SPDX-License-Identifier: MIT */
/* Table 1, the files and folders of the mount: see dirtab.h. */
#include "fs/tree.h"

#include "fs/content.h"
#include "fs/file.h"
#include "formats/view.h"

#define VIEW_ROW(view, ...) \
	{ .name = view, .type = DIRTAB_TEXT, .mode = 0400, .content = &content_made, \
		.make = file_view_make },

static const struct dirtab_row view_rows[] = {
	VIEW_FORMATS(VIEW_ROW)
	{ .name = "ctf", .type = DIRTAB_DIR, .mode = 0500, .lookup = file_ctf_lookup,
		.list = file_ctf_list },
	{ .name = "metrics", .type = DIRTAB_TEXT, .mode = 0400, .flags = DIRTAB_COSTLY,
		.content = &content_rendered, .render = file_metrics_render },
	{ NULL },
};

static const struct dirtab_row event_rows[] = {
	{ .name = "enabled", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_SWITCH,
		.content = &content_rendered, .render = file_events_enabled_render,
		.words = file_events_enabled_words },
	{ .name = "all", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_SWITCH,
		.content = &content_rendered, .render = file_events_all_render,
		.words = file_events_all_words },
	{ .name = "info", .type = DIRTAB_TEXT, .mode = 0400,
		.content = &content_rendered, .render = file_events_info_render },
	{ .name = "overflow", .type = DIRTAB_TEXT, .mode = 0400,
		.content = &content_rendered, .render = file_events_overflow_render },
	{ .name = "reset", .type = DIRTAB_TEXT, .mode = 0200, .flags = DIRTAB_SWITCH,
		.words = file_events_reset_words },
	{ NULL },
};

static const struct dirtab_row root_rows[] = {
	{ .name = "kpctl", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_CONTROL,
		.content = &content_rendered, .render = file_kpctl_render,
		.words = file_kpctl_words },
	{ .name = "kpdata", .type = DIRTAB_STREAM, .mode = 0600, .flags = DIRTAB_SLOW_WRITE,
		.content = &content_stream, .stream = &file_kpdata_stream, .size = file_kpdata_size,
		.write = file_kpdata_write, .usage = "ADDRESS" },
	{ .name = "kptrace", .type = DIRTAB_TEXT, .mode = 0600,
		.content = &content_lazy, .lazy = &file_kptrace_lazy, .size = file_kptrace_size,
		.write = file_kptrace_write, .usage = "TEXT of at most 65535 bytes without NUL" },
	{ .name = "kptrace_ctl", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_SWITCH,
		.content = &content_rendered, .render = file_kptrace_ctl_render,
		.words = file_kptrace_ctl_words },
	{ .name = "kptrace_pipe", .type = DIRTAB_STREAM, .mode = 0400, .flags = DIRTAB_UNLISTED,
		.content = &content_stream, .stream = &file_kptrace_pipe_stream,
		.size = file_kptrace_pipe_size },
	{ .name = "kprintx", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_SWITCH,
		.content = &content_rendered, .render = file_kprintx_render,
		.words = file_kprintx_words },
	{ .name = "mpstat", .type = DIRTAB_TEXT, .mode = 0600,
		.content = &content_rendered, .render = file_mpstat_render,
		.size = file_mpstat_size, .words = file_mpstat_words },
	{ .name = "mpstat-raw", .type = DIRTAB_TEXT, .mode = 0600,
		.content = &content_rendered, .render = file_mpstat_raw_render,
		.size = file_mpstat_raw_size, .words = file_mpstat_words },
	{ .name = "kpstat", .type = DIRTAB_TEXT, .mode = 0400, .flags = DIRTAB_COSTLY,
		.content = &content_rendered, .render = file_kpstat_render },
	{ .name = "kperr", .type = DIRTAB_TEXT, .mode = 0400,
		.content = &content_rendered, .render = file_kperr_render },
	{ .name = "cpu", .type = DIRTAB_DIR, .mode = 0500, .lookup = file_cpu_lookup,
		.list = file_cpu_list },
	{ .name = "events", .type = DIRTAB_DIR, .mode = 0700, .rows = event_rows,
		.lookup = file_events_lookup, .list = file_events_list,
		.create = file_events_create },
	{ .name = "views", .type = DIRTAB_DIR, .mode = 0500, .rows = view_rows },
	{ NULL },
};

static const struct dirtab_row root_row = {
	.name = "/",
	.type = DIRTAB_DIR,
	.mode = 0550,
	.rows = root_rows,
};

const struct dirtab_row *tree_root(void)
{
	return &root_row;
}
