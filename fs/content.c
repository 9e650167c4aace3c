/* SPDX-License-Identifier: MIT */
/* The ways of producing the content of a file: see content.h. */
#include "fs/content.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/dirtab.h"
#include "fs/filetext.h"
#include "fs/lazy.h"
#include "sys/memfile.h"

/* Counts a text that is about to be held. */
static int admit_text(const struct content_call *call, size_t size, struct err *err)
{
	return quota_take(call->quotas, call->share, QUOTA_BYTES, size, err);
}

static enum content_thread in_view_thread(struct session *session, const struct dirtab_row *row)
{
	return CONTENT_IN_VIEW_THREAD;
}

/* ---- rendered -------------------------------------------------------------------------------- */

/* Takes ownership of the text. `ret` is the result of the function that rendered it. */
static int hold_text(const struct content_call *call, GString *text, int ret,
	struct content *content, struct err *err)
{
	if (!ret)
		ret = admit_text(call, text->allocated_len, err);
	if (ret)
		g_string_free(text, TRUE);
	else
		content->text = filetext_create(text);
	return ret;
}

static bool is_long(struct session *session, const struct dirtab_row *row)
{
	return row->is_long && row->is_long(session);
}

static enum content_thread rendered_thread(struct session *session, const struct dirtab_row *row)
{
	return is_long(session, row) ? CONTENT_IN_TRACE_THREAD : CONTENT_IN_WORKER;
}

static int fill_rendered(const struct content_call *call, struct content *content, struct err *err)
{
	GString *text = g_string_new(NULL);
	int ret = call->row->render(call->session, call->row, call->reader, text, err);

	return hold_text(call, text, ret, content, err);
}

static uint64_t measure_rendered(
	struct session *session, const struct dirtab_row *row, uid_t reader)
{
	g_autoptr(GString) text = NULL;

	if (is_long(session, row))
		return 0;
	text = g_string_new(NULL);
	return row->render(session, row, reader, text, NULL) ? 0 : text->len;
}

const struct content_ops content_rendered = {
	.thread = rendered_thread,
	.fill = fill_rendered,
	.measure = measure_rendered,
};

/* ---- made: a memfd, so that the heap of the server does not grow ------------------------------ */

static enum quota_kind made_quota(const struct dirtab_row *row)
{
	return QUOTA_DESCRIPTORS;
}

static int fill_made(const struct content_call *call, struct content *content, struct err *err)
{
	int fd = memfile_create(call->row->name);
	struct stat st;
	int ret;

	if (fd < 0)
		return fd;
	ret = call->row->make(call->session, call->row, fd, call->job, err);
	if (!ret)
		ret = fstat(fd, &st) ? -errno : admit_text(call, (size_t)st.st_size, err);
	if (ret)
		close(fd);
	else
		content->text = filetext_create_file(fd, (size_t)st.st_size);
	return ret;
}

const struct content_ops content_made = {
	.thread = in_view_thread,
	.quota = made_quota,
	.fill = fill_made,
};

/* ---- shared: counted where it is made --------------------------------------------------------- */

static int fill_shared(const struct content_call *call, struct content *content, struct err *err)
{
	return call->row->share(call->session, call->row, call->job, &content->text, err);
}

const struct content_ops content_shared = {
	.thread = in_view_thread,
	.fill = fill_shared,
};

/* ---- lazy ------------------------------------------------------------------------------------ */

static enum content_thread lazy_thread(struct session *session, const struct dirtab_row *row)
{
	const struct lazy_ops *lazy = row->lazy;

	return !lazy->is_long || lazy->is_long(session) ? CONTENT_IN_TRACE_THREAD : CONTENT_IN_WORKER;
}

/* A short text is kept in memory; a long one is made when it is read. */
static int begin_lazy(const struct content_call *call, struct content *content, struct err *err)
{
	struct lazy *lazy;
	GString *text;
	bool whole;
	int ret = call->row->lazy->begin(call->session, call->row, call->job, &lazy, err);

	if (ret)
		return ret;
	whole = lazy_size(lazy) <= CONTENT_WHOLE_MAX;
	ret = admit_text(call, whole ? lazy_size(lazy) : LAZY_HELD_BYTES, err);
	if (!ret && !whole)
		ret = lazy_reserve(lazy);
	if (!ret && !whole) {
		content->text = filetext_create_lazy(lazy);
		return 0;
	}
	if (!ret) {
		text = g_string_new(NULL);
		lazy_read_all(lazy, text);
		content->text = filetext_create(text);
	}
	lazy_destroy(lazy);
	return ret;
}

/*
 * The thread was chosen earlier; if the text has become long since then, it is rendered
 * nevertheless.
 */
static int fill_lazy(const struct content_call *call, struct content *content, struct err *err)
{
	GString *text;
	int ret;

	if (call->job)
		return begin_lazy(call, content, err);
	text = g_string_new(NULL);
	ret = call->row->lazy->render(call->session, text);
	return hold_text(call, text, ret, content, err);
}

const struct content_ops content_lazy = {
	.thread = lazy_thread,
	.fill = fill_lazy,
};

/* ---- streams --------------------------------------------------------------------------------- */

static enum content_thread stream_thread(struct session *session, const struct dirtab_row *row)
{
	const struct stream_ops *stream = row->stream;

	return stream->is_long && stream->is_long(session) ? CONTENT_IN_TRACE_THREAD :
							     CONTENT_IN_WORKER;
}

static enum quota_kind stream_quota(const struct dirtab_row *row)
{
	return row->stream->quota;
}

static int open_stream(const struct content_call *call, struct content *content, struct err *err)
{
	return call->row->stream->open(call->session, call->row, call->reader, call->job,
		&content->cursor);
}

const struct content_ops content_stream = {
	.thread = stream_thread,
	.quota = stream_quota,
	.fill = open_stream,
};

void content_clear(struct content *content, const struct dirtab_row *row)
{
	if (content->cursor)
		row->stream->close(content->cursor);
	filetext_put(content->text);
}
