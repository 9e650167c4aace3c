/* SPDX-License-Identifier: MIT */
/* Table 1, the files and folders of the mount: see dirtab.h. */
#include "fs/tree.h"

#include "fs/content.h"
#include "fs/file.h"
#include "formats/view.h"

#define VIEW_ROW(view, about, ...) \
	{ .name = view, .type = DIRTAB_TEXT, .mode = 0400, .help = about, .content = &content_made, \
		.make = file_view_make },

static const struct dirtab_row view_rows[] = {
	VIEW_FORMATS(VIEW_ROW)
	{ .name = "ctf", .type = DIRTAB_DIR, .mode = 0500,
		.help = "the trace as CTF: a folder that babeltrace2 reads",
		.lookup = file_ctf_lookup,
		.list = file_ctf_list },
	{ .name = "metrics", .type = DIRTAB_TEXT, .mode = 0400, .flags = DIRTAB_COSTLY,
		.help = "kpstat, mpstat and the maps of probes as OpenMetrics, for Prometheus",
		.content = &content_made, .make = file_metrics_make },
	{ .name = "sched", .type = DIRTAB_TEXT, .mode = 0400,
		.help = "the time of each process on a CPU, waiting for one, and sleeping",
		.content = &content_made, .make = file_sched_make },
	{ NULL },
};

static const struct dirtab_row kernel_rows[] = {
	{ .name = "info", .type = DIRTAB_TEXT, .mode = 0400, .flags = DIRTAB_COSTLY,
		.help = "a line for each event of the kernel",
		.content = &content_made, .make = file_kernel_info_make },
	{ .name = "pids", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_SLOW_WRITE,
		.help = "the processes whose kernel events are recorded, with those that they start",
		.content = &content_rendered, .render = file_kernel_pids_render,
		.write = file_kernel_pids_write, .usage = "all, PID[,PID...], or exec PID" },
	{ NULL },
};

static const struct dirtab_row event_rows[] = {
	{ .name = "enabled", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_SWITCH,
		.help = "the switch above all events",
		.content = &content_rendered, .render = file_events_enabled_render,
		.words = file_events_enabled_words },
	{ .name = "all", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_SWITCH,
		.help = "sets every event at once",
		.content = &content_rendered, .render = file_events_all_render,
		.words = file_events_all_words },
	{ .name = "info", .type = DIRTAB_TEXT, .mode = 0400,
		.help = "a line for each event",
		.content = &content_rendered, .render = file_events_info_render },
	{ .name = "overflow", .type = DIRTAB_TEXT, .mode = 0400,
		.help = "events overwritten or dropped",
		.content = &content_rendered, .render = file_events_overflow_render },
	{ .name = "reset", .type = DIRTAB_TEXT, .mode = 0200, .flags = DIRTAB_SWITCH | DIRTAB_UNLISTED,
		.help = "empties the trace of all programs",
		.words = file_events_reset_words },
	{ .name = "kernel", .type = DIRTAB_DIR, .mode = 0700,
		.help = "the switches of kernel events: 0 is off, 1 [stack] [/FILTER/] is on",
		.rows = kernel_rows,
		.lookup = file_kernel_lookup, .list = file_kernel_list },
	{ NULL },
};

static const struct dirtab_row probe_rows[] = {
	{ .name = "list", .type = DIRTAB_TEXT, .mode = 0400, .flags = DIRTAB_COSTLY,
		.help = "the probes that a program can name",
		.content = &content_made, .make = file_probes_list_make },
	{ NULL },
};

static const struct dirtab_row root_rows[] = {
	{ .name = "help", .type = DIRTAB_TEXT, .mode = 0400, .flags = DIRTAB_OF_SESSION,
		.help = "this page",
		.content = &content_rendered, .render = file_help_render },
	{ .name = "kpctl", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_OF_SESSION | DIRTAB_CONTROL,
		.help = "commands to the profiler; reads as its settings",
		.content = &content_rendered, .render = file_kpctl_render,
		.words = file_kpctl_words },
	{ .name = "kpdata", .type = DIRTAB_STREAM, .mode = 0600,
		.flags = DIRTAB_OF_SESSION | DIRTAB_SLOW_WRITE,
		.help = "the samples as records; waits for more while the profiler runs",
		.content = &content_stream, .stream = &file_kpdata_stream, .size = file_kpdata_size,
		.write = file_kpdata_write, .usage = "ADDRESS" },
	{ .name = "load", .type = DIRTAB_TEXT, .mode = 0600,
		.flags = DIRTAB_OF_SESSION | DIRTAB_SLOW_WRITE | DIRTAB_BULK | DIRTAB_PRIVILEGED,
		.help = "copies of kpdata that are written to it become the capture; reads as their size",
		.content = &content_rendered, .render = file_load_render,
		.writer = &file_load_writer, .usage = "copies of kpdata" },
	{ .name = "kptrace", .type = DIRTAB_TEXT, .mode = 0600,
		.help = "the trace as text, oldest first; a line that is written is added to it",
		.content = &content_lazy, .lazy = &file_kptrace_lazy, .size = file_kptrace_size,
		.write = file_kptrace_write, .usage = "TEXT of at most 65535 bytes without NUL" },
	{ .name = "kptrace_ctl", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_SWITCH,
		.help = "commands to the trace",
		.content = &content_rendered, .render = file_kptrace_ctl_render,
		.words = file_kptrace_ctl_words },
	{ .name = "kptrace_pipe", .type = DIRTAB_STREAM, .mode = 0400, .flags = DIRTAB_UNLISTED,
		.help = "the trace while it is being written",
		.content = &content_stream, .stream = &file_kptrace_pipe_stream,
		.size = file_kptrace_pipe_size },
	{ .name = "kprintx", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_SWITCH,
		.help = "the switch of kprof_printx()",
		.content = &content_rendered, .render = file_kprintx_render,
		.words = file_kprintx_words },
	{ .name = "mpstat", .type = DIRTAB_TEXT, .mode = 0600, .flags = DIRTAB_OF_SESSION | DIRTAB_SLOW_WRITE,
		.help = "the time of each CPU in each state, as text",
		.content = &content_rendered, .render = file_mpstat_render,
		.size = file_mpstat_size, .words = file_mpstat_words },
	{ .name = "mpstat-raw", .type = DIRTAB_TEXT, .mode = 0600,
		.flags = DIRTAB_OF_SESSION | DIRTAB_SLOW_WRITE,
		.help = "the same in lines of fixed length",
		.content = &content_rendered, .render = file_mpstat_raw_render,
		.size = file_mpstat_raw_size, .words = file_mpstat_words },
	{ .name = "kpstat", .type = DIRTAB_TEXT, .mode = 0400, .flags = DIRTAB_OF_SESSION | DIRTAB_COSTLY,
		.help = "every counter, one a line",
		.content = &content_rendered, .render = file_kpstat_render, .is_long = file_kpstat_is_long },
	{ .name = "kperr", .type = DIRTAB_TEXT, .mode = 0400, .flags = DIRTAB_OF_SESSION,
		.help = "why commands were refused, the newest last",
		.content = &content_rendered, .render = file_kperr_render },
	{ .name = "cpu", .type = DIRTAB_DIR, .mode = 0500,
		.help = "of each CPU N/trace and N/trace_pipe (not listed), as records, and N/stat",
		.lookup = file_cpu_lookup,
		.list = file_cpu_list },
	{ .name = "events", .type = DIRTAB_DIR, .mode = 0700,
		.help = "the switches of events of programs, PROVIDER:EVENT: 0 is off, 1 is on",
		.rows = event_rows,
		.lookup = file_events_lookup, .list = file_events_list,
		.create = file_events_create,
		.usage = "PROVIDER:EVENT, each of at most 100 letters, digits, '_', '.' and '-'" },
	{ .name = "probes", .type = DIRTAB_DIR, .mode = 0700, .flags = DIRTAB_OF_SESSION,
		.help = "programs that count events: write one to a new file, read its answer, remove it",
		.rows = probe_rows,
		.lookup = file_probes_lookup, .list = file_probes_list,
		.create = file_probes_new, .remove = file_probes_remove,
		.usage = "at most 64 letters, digits, '_', '.' and '-'" },
	{ .name = "views", .type = DIRTAB_DIR, .mode = 0500, .flags = DIRTAB_OF_SESSION,
		.help = "the samples and the trace in other formats, made when a file is opened; of a\n"
			"                     part of the samples: views/last/10s/flat,\n"
			"                     views/by/comm/NAME/flat and others, see kprof(5)",
		.rows = view_rows,
		.resolve = file_part_resolve, .list = file_part_list },
	{ .name = "sessions", .type = DIRTAB_DIR, .mode = 0700,
		.flags = DIRTAB_UNLISTED | DIRTAB_SESSIONS,
		.help = "profilers beside this one: mkdir makes one with files of its own, rmdir ends it",
		.lookup = file_sessions_lookup, .list = file_sessions_list },
	{ NULL },
};

static const struct dirtab_row root_row = {
	.name = "/",
	.type = DIRTAB_DIR,
	.mode = 0550,
	.flags = DIRTAB_SHARED,
	.rows = root_rows,
};

const struct dirtab_row *tree_root(void)
{
	return &root_row;
}
