/* SPDX-License-Identifier: MIT */
/*
 * cpu/: a folder for each present CPU, with its part of the trace and its counters; and
 * kptrace_pipe, which uses the same functions.
 *
 * The rows are made when the server starts, for all CPUs present at that time, and are valid until
 * it ends, since nodes point to them.
 */
#include "fs/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "acct/accounting.h"
#include "base/stats.h"
#include "fs/content.h"
#include "fs/cpus.h"
#include "fs/lazy.h"
#include "fs/pipes.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/slow_ops.h"
#include "prof/profiler.h"
#include "trace/trace_records.h"
#include "trace/reading.h"

#define CPU_FILES 3

/* The struct that contains a row has its CPU. */
struct cpu_file {
	struct dirtab_row row;
	struct trace_records_cpu cpu;
};

struct cpu_folder {
	struct dirtab_row row;
	char name[12];
	struct cpu_file files[CPU_FILES];
};

struct file_cpudir {
	struct cpu_folder *folders;
	unsigned int count;
};

static const struct trace_records_cpu *cpu_of(const struct dirtab_row *row)
{
	return &((const struct cpu_file *)(const void *)row)->cpu;
}

/* ---- trace ----------------------------------------------------------------------------------- */

static bool next_piece(void *maker, GString *out)
{
	return reading_next(maker, out);
}

static void restart(void *maker)
{
	reading_restart(maker);
}

static void destroy(void *maker)
{
	reading_destroy(maker);
}

int file_reading_begin(
	struct session *session, const struct trace_records_cpu *cpu, void *job, struct lazy **lazy)
{
	static const struct lazy_maker maker = {next_piece, restart, destroy};
	struct reading *reading;
	int ret = reading_create(
		session->server->readings, slow_ops_uid(job), cpu, slow_ops_cancel(job), &reading);

	if (!ret)
		*lazy = lazy_create(&maker, reading, reading_size(reading));
	return ret;
}

/* Without programs there are only messages, for which a copy is enough. */
bool file_reading_is_long(struct session *session)
{
	return readings_have_programs(session->server->readings);
}

static int begin_trace(struct session *session, const struct dirtab_row *row, void *job,
	struct lazy **lazy, struct err *err)
{
	return file_reading_begin(session, cpu_of(row), job, lazy);
}

static const struct lazy_ops cpu_trace = {.begin = begin_trace};

/* Not known before an open. */
static uint64_t trace_size(struct session *session, const struct dirtab_row *row)
{
	return 0;
}

/* ---- trace_pipe, kptrace_pipe ---------------------------------------------------------------- */

static int open_cpu_pipe(
	struct session *session, const struct dirtab_row *row, uid_t reader, void *job, void **cursor)
{
	return pipe_open(
		session->server->pipes, reader, cpu_of(row), slow_ops_cancel(job), cursor);
}

static const struct stream_ops cpu_pipe = {
	.quota = QUOTA_PIPES,
	.is_long = file_reading_is_long,
	.open = open_cpu_pipe,
	.close = pipe_close,
	.begin = pipe_begin,
	.end = pipe_end,
	.readable = pipe_readable,
};

static int open_text_pipe(
	struct session *session, const struct dirtab_row *row, uid_t reader, void *job, void **cursor)
{
	const struct trace_records_cpu all = {.cpu = TRACE_RECORDS_TEXT};

	return pipe_open(session->server->pipes, reader, &all, slow_ops_cancel(job), cursor);
}

const struct stream_ops file_kptrace_pipe_stream = {
	.quota = QUOTA_PIPES,
	.is_long = file_reading_is_long,
	.open = open_text_pipe,
	.close = pipe_close,
	.begin = pipe_begin,
	.end = pipe_end,
	.readable = pipe_readable,
	.size = pipe_size,
};

uint64_t file_kptrace_pipe_size(struct session *session, const struct dirtab_row *row)
{
	return 0;
}

/* ---- stat ------------------------------------------------------------------------------------ */

/* The rows of kpstat that begin with cpu.N., without that. */
static int render_stat(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	g_autofree char *prefix = g_strdup_printf("cpu.%u.", cpu_of(row)->cpu);
	g_autoptr(GString) all = g_string_new(NULL);
	struct stats *stats = stats_create();
	g_auto(GStrv) lines = NULL;
	char **line;

	profiler_print_stats(session->profiler, stats);
	accounting_print_stats(session->accounting, stats);
	stats_render(stats, all);
	stats_destroy(stats);
	lines = g_strsplit(all->str, "\n", -1);
	for (line = lines; *line; line++)
		if (g_str_has_prefix(*line, prefix))
			g_string_append_printf(out, "%s\n", *line + strlen(prefix));
	return 0;
}

/* ---- the folders ----------------------------------------------------------------------------- */

static const struct dirtab_row *lookup_file(
	struct session *session, const struct dirtab_row *dir, const char *name)
{
	struct cpu_folder *folder = (struct cpu_folder *)(void *)dir;
	unsigned int i;

	for (i = 0; i < CPU_FILES; i++)
		if (!strcmp(folder->files[i].row.name, name))
			return &folder->files[i].row;
	return NULL;
}

static void list_files(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	struct cpu_folder *folder = (struct cpu_folder *)(void *)dir;
	unsigned int i;

	for (i = 0; i < CPU_FILES; i++)
		if (!(folder->files[i].row.flags & DIRTAB_UNLISTED))
			g_ptr_array_add(rows, &folder->files[i].row);
}

const struct dirtab_row *file_cpu_lookup(
	struct session *session, const struct dirtab_row *dir, const char *name)
{
	unsigned int i;

	for (i = 0; i < session->server->cpudir->count; i++)
		if (!strcmp(session->server->cpudir->folders[i].name, name))
			return &session->server->cpudir->folders[i].row;
	return NULL;
}

void file_cpu_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	unsigned int i;

	for (i = 0; i < session->server->cpudir->count; i++)
		g_ptr_array_add(rows, &session->server->cpudir->folders[i].row);
}

static void fill_folder(struct cpu_folder *folder, const struct trace_records_cpu *cpu)
{
	static const struct dirtab_row files[CPU_FILES] = {
		{.name = "trace",
			.type = DIRTAB_TEXT,
			.mode = 0400,
			.content = &content_lazy,
			.lazy = &cpu_trace,
			.size = trace_size},
		{.name = "trace_pipe",
			.type = DIRTAB_STREAM,
			.mode = 0400,
			.flags = DIRTAB_UNLISTED,
			.content = &content_stream,
			.stream = &cpu_pipe,
			.size = trace_size},
		{.name = "stat",
			.type = DIRTAB_TEXT,
			.mode = 0400,
			.flags = DIRTAB_COSTLY,
			.content = &content_rendered,
			.render = render_stat},
	};
	unsigned int i;

	snprintf(folder->name, sizeof(folder->name), "%u", cpu->cpu);
	folder->row = (struct dirtab_row){.name = folder->name,
		.type = DIRTAB_DIR,
		.mode = 0500,
		.lookup = lookup_file,
		.list = list_files};
	for (i = 0; i < CPU_FILES; i++)
		folder->files[i] = (struct cpu_file){files[i], *cpu};
}

struct file_cpudir *file_cpudir_create(const struct cpus *cpus)
{
	struct file_cpudir *dir = g_new0(struct file_cpudir, 1);
	struct trace_records_cpu cpu;
	unsigned int i;

	dir->count = cpus_count(cpus);
	dir->folders = g_new0(struct cpu_folder, dir->count);
	cpu.first = cpus_number(cpus, 0);
	cpu.count = cpus_number(cpus, dir->count - 1) + 1;
	for (i = 0; i < dir->count; i++) {
		cpu.cpu = cpus_number(cpus, i);
		fill_folder(&dir->folders[i], &cpu);
	}
	return dir;
}

void file_cpudir_destroy(struct file_cpudir *dir)
{
	if (!dir)
		return;
	g_free(dir->folders);
	g_free(dir);
}
