/* SPDX-License-Identifier: MIT */
/*
 * views/: the capture at the moment of the open, in one of the formats of view.h.
 *
 * The records are first copied into an unnamed file, in which decoding can seek, so that neither
 * the capture nor its readers wait for a view. This file and one with the annotations of the trace
 * are passed to the process that makes views (viewproc.h). The functions run in a thread of
 * slow_ops.h.
 */
#include "fs/file.h"

#include <errno.h>
#include <glib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/server.h"
#include "fs/session.h"
#include "views/viewmarks.h"
#include "views/viewproc.h"
#include "views/viewspans.h"
#include "fs/slow_ops.h"
#include "prof/profiler.h"
#include "formats/view.h"
#include "sys/clock.h"
#include "sys/memfile.h"

/* Pieces of one copy of the capture; 1 MiB at a time. */
#define COPY_PIECES 64
#define COPY_BYTES (1u << 20)

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
 * Records outside of the time of a query are skipped. Times of the wall clock may differ by as much
 * as it was set since the CLOCK of the copy; `last` counts from a sample that is not the newest one
 * at most by the time until the rings are drained.
 */
int file_view_open_part(struct profiler *profiler, const struct query *query, uint64_t bytes_max,
	struct cursor **cursor)
{
	struct capture_part part = { .until_ns = UINT64_MAX, .bytes_max = bytes_max };
	struct query narrow = *query;

	query_settle_last(&narrow, profiler_late_time(profiler));
	if (query_has(&narrow, QUERY_SINCE))
		part.since_ns = narrow.since_ns;
	if (query_has(&narrow, QUERY_UNTIL))
		part.until_ns = narrow.until_ns;
	return profiler_open_part(profiler, &part, cursor);
}

/*
 * Writes all records held now, with what is needed to decode them, into fd. Returns -ENODATA if
 * there are none and `enough` is false; if it is true, fd may stay empty.
 */
static int copy_capture(struct profiler *profiler, const struct query *query, bool enough, int fd,
	void *job)
{
	struct iovec iov[COPY_PIECES];
	struct cursor *cursor = NULL;
	bool any = false, eof;
	int ret, count;

	if (!enough && !profiler_held_bytes(profiler))
		return -ENODATA;
	if (query_has(query, QUERY_LAST) || query_has(query, QUERY_SINCE) || query_has(query, QUERY_UNTIL))
		ret = file_view_open_part(profiler, query, UINT64_MAX, &cursor);
	else
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
		if (!ret && cancel_requested(slow_ops_cancel(job)))
			ret = -EINTR;
	}
	profiler_close_cursor(cursor);
	decode_seal(fd);
	return ret ? ret : any || enough ? 0 : -ENODATA;
}

/*
 * Sets *fd to a file with the annotations of the trace, or to -1 if there are none or the format
 * shows none.
 */
static int open_marks(struct session *session, const struct view_format *format, void *job, int *fd)
{
	int ret;

	*fd = -1;
	if (!(format->needs & VIEW_ANNOTATIONS))
		return 0;
	ret = viewmarks_write(session->server->readings, slow_ops_uid(job), slow_ops_cancel(job), fd);
	return ret == -ENODATA ? 0 : ret;
}

/* Sets *fd to a file with the times of the span of the query, or to -1 if the query has none. */
static int open_spans(struct session *session, const struct query *query, void *job, int *fd)
{
	*fd = -1;
	if (!query_has(query, QUERY_SPAN))
		return 0;
	return viewspans_write(
		session->server->readings, slow_ops_uid(job), query->span, slow_ops_cancel(job), fd);
}

static int hand_over(struct session *session, const struct view_format *format,
	const struct query *query, const int files[VIEWPROC_FILES], void *job, struct err *err)
{
	struct viewproc_request request = {
		.copied_stacks = profiler_copied_stacks(session->profiler),
		.has_marks = files[VIEWPROC_MARKS] >= 0,
		.has_spans = files[VIEWPROC_SPANS] >= 0,
		.query = *query,
	};
	struct cancel cancel = *slow_ops_cancel(job);

	cancel.cancel_fd = slow_ops_cancel_fd(job);
	g_strlcpy(request.format, format->name, sizeof(request.format));
	return viewproc_make(session->server->viewproc, &request, files, &cancel, err);
}

void file_view_settle(struct session *session, struct query *query)
{
	query_settle_wall(query, clock_monotonic_ns(), clock_realtime_ns());
	if (profiler_running(session->profiler))
		query_settle_last(query, clock_monotonic_ns());
}

int file_view_make_part(struct session *session, const char *name, const struct query *part, int fd,
	void *job, struct err *err)
{
	const struct view_format *format = view_find(name);
	struct query query = *part;
	int files[VIEWPROC_FILES] = { -1, fd, -1, -1 }, ret;

	if (cancel_requested(slow_ops_cancel(job)))
		return -EINTR;
	file_view_settle(session, &query);
	files[VIEWPROC_CAPTURE] = memfile_create_sealable("capture");
	if (files[VIEWPROC_CAPTURE] < 0)
		return files[VIEWPROC_CAPTURE];
	ret = open_marks(session, format, job, &files[VIEWPROC_MARKS]);
	if (!ret)
		ret = open_spans(session, &query, job, &files[VIEWPROC_SPANS]);
	if (!ret)
		ret = copy_capture(session->profiler, &query, files[VIEWPROC_MARKS] >= 0,
			files[VIEWPROC_CAPTURE], job);
	if (ret == -ENODATA)
		err_set(err, ENODATA, "nothing captured yet: echo start > kpctl");
	if (!ret)
		ret = hand_over(session, format, &query, files, job, err);
	close(files[VIEWPROC_CAPTURE]);
	if (files[VIEWPROC_MARKS] >= 0)
		close(files[VIEWPROC_MARKS]);
	if (files[VIEWPROC_SPANS] >= 0)
		close(files[VIEWPROC_SPANS]);
	slow_ops_close_cancel_fd(job);
	return ret;
}

int file_view_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	static const struct query all;

	return file_view_make_part(session, row->name, &all, fd, job, err);
}
