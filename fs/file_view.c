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
#include "fs/quota.h"
#include "views/viewmarks.h"
#include "views/viewproc.h"
#include "views/viewspans.h"
#include "fs/slow_ops.h"
#include "prof/profiler.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/summary.h"
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

	/* times of other runs or machines: all is read, and the filter interprets times by section */
	if (profiler_is_loaded(profiler))
		return profiler_open_peek(profiler, cursor);
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

	if (!enough && !profiler_memory_bytes(profiler))
		return -ENODATA;
	if (query_has(query, QUERY_LAST) || query_has(query, QUERY_SINCE) || query_has(query, QUERY_UNTIL))
		ret = file_view_open_part(profiler, query, UINT64_MAX, &cursor);
	else
		ret = profiler_open_peek(profiler, &cursor);
	while (!ret) {
		ssize_t n;

		count = COPY_PIECES;
		n = cursor_begin(cursor, COPY_BYTES, iov, &count, &eof);
		if (n <= 0) {
			ret = (int)n; /* the end, or -errno: a view of a part would be wrong */
			break;
		}
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
	/* the trace is that of this machine, since it was booted */
	if (!(format->needs & VIEW_ANNOTATIONS) || !profiler_is_of_this_boot(session->profiler))
		return 0;
	ret = viewmarks_write(session_readings(session), slow_ops_uid(job), slow_ops_cancel(job), fd);
	return ret == -ENODATA ? 0 : ret;
}

/* Sets *fd to a file with the times of the span of the query, or to -1 if the query has none. */
static int open_spans(struct session *session, const struct query *query, void *job, int *fd)
{
	*fd = -1;
	if (!query_has(query, QUERY_SPAN))
		return 0;
	return viewspans_write(
		session_readings(session), slow_ops_uid(job), query->span, slow_ops_cancel(job), fd);
}

/* The folder of the session, as one line. */
static void append_folder(const struct session *session, GString *text)
{
	text_append(text, session->server->mountpoint);
	if (session_name(session))
		g_string_append_printf(text, "/sessions/%s", session_name(session));
}

/* The path of kpdata and the part. */
static void describe_source(struct session *session, const struct query *query, char *out, size_t size)
{
	g_autoptr(GString) text = g_string_new(NULL), part = g_string_new(NULL);

	append_folder(session, text);
	g_string_append(text, "/kpdata");
	if (!query_is_empty(query)) {
		query_append(part, query);
		g_string_append(text, "; only ");
		text_append(text, part->str);
	}
	g_strlcpy(out, text->str, size);
}

static int hand_over(struct session *session, const struct view_format *format, struct session *before,
	const struct query *query, bool wakers, const int files[VIEWPROC_FILES], void *job, struct err *err)
{
	struct viewproc_request request = {
		.copied_stacks = profiler_copied_stacks(session->profiler),
		.has_marks = files[VIEWPROC_MARKS] >= 0,
		.has_spans = files[VIEWPROC_SPANS] >= 0,
		.has_before = files[VIEWPROC_BEFORE] >= 0,
		.wakers = wakers,
		.query = *query,
	};
	static const struct query all;
	struct cancel cancel = *slow_ops_cancel(job);

	cancel.cancel_fd = slow_ops_cancel_fd(job);
	g_strlcpy(request.format, format->name, sizeof(request.format));
	describe_source(session, query, request.source, sizeof(request.source));
	if (before) {
		request.copied_before = profiler_copied_stacks(before->profiler);
		describe_source(before, &all, request.source_before, sizeof(request.source_before));
	}
	return viewproc_make(session_viewproc(session), &request, files, &cancel, err);
}

void file_view_settle(struct session *session, struct query *query)
{
	if (!profiler_is_of_this_boot(session->profiler))
		return; /* by the CLOCK of each of its sections */
	query_settle_wall(query, clock_monotonic_ns(), clock_realtime_ns());
	if (profiler_running(session->profiler))
		query_settle_last(query, clock_monotonic_ns());
}

static void refuse_empty(struct session *session, struct err *err)
{
	const uint64_t ns = profiler_runs_ns(session->profiler);

	g_autoptr(GString) folder = g_string_new(NULL);

	append_folder(session, folder);
	if (ns)
		err_set(err, ENODATA, "no samples were taken in %.3f s", (double)ns / NSEC_PER_SEC);
	else
		err_set(err, ENODATA, "nothing captured yet: echo start > %s/kpctl", folder->str);
}

/* The mode of a directory whose files all users reach and read. */
#define ALL_MAY_READ 0005

/*
 * Finds the session from which the difference is shown, with a reference; NULL if none is. Root, the user
 * who mounted, its owner, and everybody if its mode lets all users read may read it.
 */
static int find_before(struct session *session, const struct file_view_part *part, void *job,
	struct session **before, struct err *err)
{
	const uid_t uid = slow_ops_uid(job);
	struct dirtab_owner owner;

	*before = NULL;
	if (!part->versus[0])
		return 0;
	*before = sessions_find(session->server->sessions, part->versus);
	if (!*before)
		return err_set(err, ENOENT, "there is no session '%s'", part->versus);
	session_owner(*before, &owner);
	if (quotas_is_privileged(session->server->quotas, uid) || owner.uid == uid ||
		(owner.mode & ALL_MAY_READ) == ALL_MAY_READ)
		return 0;
	session_put(*before);
	*before = NULL;
	return err_set(err, EACCES, "session '%s' belongs to another user", part->versus);
}

/* Copies the captures, and what a format shows besides, into the files of the request. */
static int fill_files(struct session *session, const struct view_format *format, struct session *before,
	struct query *query, void *job, int files[VIEWPROC_FILES], struct err *err)
{
	static const struct query all;
	int ret;

	files[VIEWPROC_CAPTURE] = memfile_create_sealable("capture");
	if (files[VIEWPROC_CAPTURE] < 0)
		return files[VIEWPROC_CAPTURE];
	if (query_has(query, QUERY_SPAN) && !(profiler_is_of_this_boot(session->profiler) &&
		(!before || profiler_is_of_this_boot(before->profiler))))
		return err_set(err, ENODATA, "a capture that was loaded, or was made before this machine "
			"was booted, has no spans: they are in the trace of its machine");
	ret = open_marks(session, format, job, &files[VIEWPROC_MARKS]);
	if (!ret)
		ret = open_spans(session, query, job, &files[VIEWPROC_SPANS]);
	if (!ret)
		ret = copy_capture(session->profiler, query, files[VIEWPROC_MARKS] >= 0,
			files[VIEWPROC_CAPTURE], job);
	if (ret == -ENODATA)
		refuse_empty(session, err);
	if (ret || !before)
		return ret;
	files[VIEWPROC_BEFORE] = memfile_create_sealable("before");
	if (files[VIEWPROC_BEFORE] < 0)
		return files[VIEWPROC_BEFORE];
	ret = copy_capture(before->profiler, &all, false, files[VIEWPROC_BEFORE], job);
	if (ret == -ENODATA)
		err_set(err, ENODATA, "session '%s' has no samples", session_name(before));
	return ret;
}

int file_view_make_part(struct session *session, const char *name, const struct file_view_part *part,
	int fd, void *job, struct err *err)
{
	static const enum viewproc_file ours[] = {
		VIEWPROC_CAPTURE, VIEWPROC_MARKS, VIEWPROC_SPANS, VIEWPROC_BEFORE
	};
	const struct view_format *format = view_find(name);
	struct query query = part->query;
	int files[VIEWPROC_FILES] = { -1, fd, -1, -1, -1 }, ret;
	struct session *before;
	size_t i;

	if (cancel_requested(slow_ops_cancel(job)))
		return -EINTR;
	file_view_settle(session, &query);
	ret = find_before(session, part, job, &before, err);
	if (ret)
		return ret;
	ret = fill_files(session, format, before, &query, job, files, err);
	if (!ret)
		ret = hand_over(session, format, before, &query, part->wakers, files, job, err);
	for (i = 0; i < G_N_ELEMENTS(ours); i++)
		if (files[ours[i]] >= 0)
			close(files[ours[i]]);
	if (before)
		session_put(before);
	slow_ops_close_cancel_fd(job);
	return ret;
}

int file_view_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	static const struct file_view_part all;

	return file_view_make_part(session, row->name, &all, fd, job, err);
}
