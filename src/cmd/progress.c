/* SPDX-License-Identifier: MIT */
/*
 * Progress of symbolization: see progress.h. A source (symbolizer/symbols.h) that counts the files
 * and passes the requests on to the remote source.
 */
#include "cmd/progress.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "symbolizer/remote.h"
#include "sys/clock.h"
#include "sys/terminal.h"

/* Nothing is shown before this time. */
#define PATIENCE_NS (500 * NSEC_PER_MSEC)

struct progress {
	void *source; /* of remote_source */
	GMutex lock;  /* covers the members below; files are read in parallel */
	uint32_t files, requested; /* files: set before the first request */
	uint64_t begin_ns;
	bool on;    /* standard error is a terminal, and progress_end() was not called */
	bool shown; /* the line is on the terminal */
};

struct progress *progress_begin(void)
{
	struct progress *progress = g_new0(struct progress, 1);

	g_mutex_init(&progress->lock);
	progress->begin_ns = clock_monotonic_ns();
	progress->on = isatty(STDERR_FILENO);
	return progress;
}

void progress_set_files(struct progress *progress, uint32_t files)
{
	progress->files = files;
}

static void show(struct progress *progress, const char *path)
{
	g_autoptr(GString) line = g_string_new(NULL);
	unsigned int rows, columns;

	progress->requested++;
	if (!progress->on || clock_monotonic_ns() - progress->begin_ns < PATIENCE_NS ||
		terminal_size(STDERR_FILENO, &rows, &columns))
		return;
	g_string_append_printf(line, "kprof: symbolizing file %" PRIu32 " of %" PRIu32 ": ",
		progress->requested, MAX(progress->requested, progress->files));
	text_append(line, path);
	if (g_utf8_strlen(line->str, -1) >= (glong)columns)
		g_string_truncate(line,
			(gsize)(g_utf8_offset_to_pointer(line->str, (glong)columns - 1) - line->str));
	fprintf(stderr, "\r%s\033[K", line->str);
	fflush(stderr);
	progress->shown = true;
}

static int resolve(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	struct progress *progress = self;

	g_mutex_lock(&progress->lock);
	show(progress, file->path);
	g_mutex_unlock(&progress->lock);
	return remote_source.resolve(progress->source, file, offsets, count, how, arena, places);
}

static void prepare(void *self)
{
	remote_source.prepare(((struct progress *)self)->source);
}

static int connect_parser(void *self, const struct symbols_file *file, const struct symbols_how *how)
{
	return remote_source.connect(((struct progress *)self)->source, file, how);
}

static void stats(void *self, struct stats *rows)
{
	remote_source.stats(((struct progress *)self)->source, rows);
}

static void destroy(void *self)
{
	struct progress *progress = self;

	remote_source.destroy(progress->source);
	g_mutex_clear(&progress->lock);
	g_free(progress);
}

static const struct symbols_source source = {
	.resolve = resolve,
	.prepare = prepare,
	.lanes = REMOTE_LANES,
	.connect = connect_parser,
	.stats = stats,
	.destroy = destroy,
};

struct symbols *progress_open_symbols(struct progress *progress)
{
	static const struct helpers_options plain;

	progress->source = remote_create(&plain);
	return symbols_create(&source, progress, SYMBOLS_CACHE_BYTES);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = progress->on = false;
}
