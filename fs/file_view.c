/* SPDX-License-Identifier: MIT */
/*
 * views/: what the capture holds at the moment of the open, in the form of one of view.h's formats.
 *
 * The records are copied into a file without name first, in which decoding can go back and forth, so
 * that neither the capture nor its readers wait for a view. In the opener's thread (views.c).
 */
#include "fs/file.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/units.h"
#include "fs/openfile.h"
#include "fs/server.h"
#include "fs/viewmodel.h"
#include "fs/views.h"
#include "prof/profiler.h"
#include "trace/marks.h"
#include "view/unwinding.h"
#include "view/view.h"

/* Pieces of one copy of the capture; 1 MiB at a time. */
#define COPY_PIECES 64
#define COPY_BYTES (1u << 20)

/* Events that a time line shows: what a browser still takes, in some 40 MiB. */
#define MARKS_MAX 200000

/* One write(2) of a form that writes line by line; what reads the records has a buffer of its own. */
#define SINK_BUFFER_BYTES (64u << 10)

/* A view on its way into its file. One thread. */
struct sink {
	int fd;
	uint64_t left; /* bytes that may still come */
	bool over;     /* more came */
	void *job;
};

static struct view_wish wish_of(void *job)
{
	return (struct view_wish){ views_cancelled, job, views_cancel_fd(job) };
}

/* Copied stacks (`stack dwarf`) made whole: then *capture_fd is another file. */
static int unwind_capture(struct server *server, int *capture_fd, void *job, struct err *err)
{
	struct decoder decoder;
	int fd, ret;
	bool needed;

	if (!profiler_copied_stacks(server->profiler))
		return 0;
	decode_init_pread(&decoder, *capture_fd, 0);
	ret = unwinding_is_needed(&decoder, &needed);
	if (!ret && needed) {
		const struct view_wish wish = wish_of(job);

		ret = unwinding_make(&decoder, viewmodels_symbols(server->viewmodels), &wish, &fd, NULL,
			err);
		if (!ret) {
			close(*capture_fd);
			*capture_fd = fd;
		}
	}
	decode_fini(&decoder);
	return ret;
}

static int write_all(int fd, struct iovec *iov, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		size_t done = 0;

		while (done < iov[i].iov_len) {
			ssize_t n = write(fd, (char *)iov[i].iov_base + done, iov[i].iov_len - done);

			if (n < 0)
				return -errno;
			done += (size_t)n;
		}
	}
	return 0;
}

/*
 * All records held now, with what a reader must know, into fd. -ENODATA: there are none, unless that is
 * `enough`, too: then there is perhaps nothing in fd.
 */
static int copy_capture(struct profiler *profiler, bool enough, int fd, void *job)
{
	struct iovec iov[COPY_PIECES];
	struct cursor *cursor = NULL;
	bool any = false, eof;
	int ret, count;

	if (!enough && !profiler_held_bytes(profiler))
		return -ENODATA;
	ret = profiler_open_peek(profiler, &cursor);
	while (!ret) {
		ssize_t n;

		count = COPY_PIECES;
		n = cursor_begin(cursor, COPY_BYTES, iov, &count, &eof);
		if (n <= 0)
			break;
		ret = write_all(fd, iov, count);
		cursor_end(cursor, true);
		any = true;
		if (!ret && views_cancelled(job))
			ret = -EINTR;
	}
	profiler_close_cursor(cursor);
	decode_seal(fd);
	return ret ? ret : any || enough ? 0 : -ENODATA;
}

static ssize_t write_sink(void *cookie, const char *data, size_t size)
{
	struct sink *sink = cookie;
	struct iovec iov = { .iov_base = (void *)data, .iov_len = size };
	int ret;

	if (size > sink->left) {
		sink->over = true;
		errno = EFBIG;
		return 0;
	}
	ret = write_all(sink->fd, &iov, 1);
	if (ret) {
		errno = -ret;
		return 0;
	}
	sink->left -= size;
	return (ssize_t)size;
}

/* A view that nobody wants, or that became too large, is given up. */
static bool sink_is_over(void *arg)
{
	const struct sink *sink = arg;

	return sink->over || views_cancelled(sink->job);
}

static int write_view(const struct view_format *format, struct view_input *input,
	struct sink *sink, struct err *err)
{
	const cookie_io_functions_t functions = { .write = write_sink };
	FILE *out = fopencookie(sink, "w", functions);
	g_autofree char *buffer = g_malloc(SINK_BUFFER_BYTES);
	int ret;

	if (!out)
		return -errno;
	setvbuf(out, buffer, format->needs & VIEW_RECORDS ? _IONBF : _IOFBF, SINK_BUFFER_BYTES);
	input->cancelled = sink_is_over;
	input->arg = sink;
	ret = format->write(input, out, err);
	if (fflush(out) || ferror(out))
		ret = ret ? ret : err_set(err, ENOSPC, "there is no memory for the view");
	fclose(out);
	if (sink->over)
		ret = err_set(err, EFBIG, "the view would have more than %u MiB",
			(unsigned int)(OPENFILES_TEXT_MAX / MIB));
	return ret;
}

/* ---- the trace beside the samples ------------------------------------------------------------- */

static bool next_mark(void *arg, struct view_mark *mark)
{
	struct mark next;

	if (!marks_next(arg, &next))
		return false;
	*mark = (struct view_mark){ next.time_ns,
		next.cpu == KPROF_CPU_UNKNOWN ? VIEW_CPU_UNKNOWN : next.cpu, next.pid, next.tid,
		next.program, next.name, next.text };
	return true;
}

/* *marks is NULL where there are none, or the form shows none; else its arg is to be destroyed. */
static int open_marks(struct server *server, const struct view_format *format, void *job,
	struct view_marks *place, struct view_marks **marks)
{
	struct marks_missing missing;
	struct marks *m;
	int ret;

	*marks = NULL;
	if (!(format->needs & VIEW_MARKS))
		return 0;
	ret = marks_create(server->readings, views_uid(job), MARKS_MAX, views_cancelled, job, &m);
	if (ret)
		return ret == -ENODATA ? 0 : ret;
	marks_get_missing(m, &missing);
	*place = (struct view_marks){ next_mark, m, missing.left_out, missing.lost };
	*marks = place;
	return 0;
}

/* ---- all --------------------------------------------------------------------------------------- */

static int write_model(struct server *server, const struct view_format *format, int capture_fd,
	const struct view_marks *marks, struct sink *sink, struct err *err)
{
	const struct view_wish wish = wish_of(sink->job);
	struct view_input input = { .capture_fd = -1, .marks = marks };
	struct viewmodel *model;
	int ret = viewmodel_get(server->viewmodels, format, capture_fd, &wish, &model, err);

	if (ret)
		return ret;
	input.capture_fd = model->capture_fd;
	input.profile = model->profile;
	input.names = model->names;
	ret = views_cancelled(sink->job) ? -EINTR : write_view(format, &input, sink, err);
	viewmodel_put(server->viewmodels, model);
	return ret;
}

static int write_records(const struct view_format *format, int capture_fd, struct sink *sink,
	struct err *err)
{
	struct view_input input = {
		.capture_fd = capture_fd,
		.bytes_max = viewmodel_bytes(capture_fd),
	};
	int ret = write_view(format, &input, sink, err);

	close(capture_fd);
	return ret;
}

int file_view_make(struct server *server, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	const struct view_format *format = view_find(row->name);
	struct sink sink = { .fd = fd, .left = OPENFILES_TEXT_MAX, .job = job };
	struct view_marks place, *marks;
	int capture_fd, ret;

	if (views_cancelled(job))
		return -EINTR;
	capture_fd = memfd_create("capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (capture_fd < 0)
		return -errno;
	ret = open_marks(server, format, job, &place, &marks);
	if (!ret)
		ret = copy_capture(server->profiler, marks != NULL, capture_fd, job);
	if (ret == -ENODATA)
		err_set(err, ENODATA, "nothing is captured");
	if (!ret)
		ret = unwind_capture(server, &capture_fd, job, err);
	if (ret)
		close(capture_fd);
	else if (format->needs & VIEW_RECORDS)
		ret = write_records(format, capture_fd, &sink, err);
	else
		ret = write_model(server, format, capture_fd, marks, &sink, err);
	if (marks)
		marks_destroy(marks->arg);
	views_close_cancel_fd(job);
	malloc_trim(0); /* a view takes much memory for a short time */
	return ret;
}
