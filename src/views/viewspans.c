/* SPDX-License-Identifier: MIT */
/* The times of a span from the trace: see viewspans.h. */
#include "views/viewspans.h"

#include <errno.h>
#include <glib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fdio.h"
#include "sys/memfile.h"
#include "trace/trace_spans.h"

/* The trace has them in the form of intervals. */
_Static_assert(sizeof(struct interval) == sizeof(struct trace_span) &&
		offsetof(struct interval, end_ns) == offsetof(struct trace_span, end_ns) &&
		offsetof(struct interval, pid) == offsetof(struct trace_span, pid) &&
		offsetof(struct interval, tid) == offsetof(struct trace_span, tid),
	"a span is an interval");

int viewspans_write(struct readings *readings, uid_t uid, const char *label, const struct cancel *cancel,
	int *fd)
{
	struct growing *spans;
	int ret = trace_spans_take(readings, uid, label, cancel, &spans), file;

	if (ret)
		return ret;
	file = memfile_create("spans");
	ret = file < 0 ? file : fdio_write(file, spans->data, spans->len * sizeof(struct trace_span));
	growing_destroy(spans);
	if (!ret)
		*fd = file;
	else if (file >= 0)
		close(file);
	return ret;
}

int viewspans_take(struct readings *readings, uid_t uid, const char *label, const struct cancel *cancel,
	struct intervals **spans)
{
	int fd, ret = viewspans_write(readings, uid, label, cancel, &fd);

	if (ret)
		return ret;
	ret = viewspans_read(fd, spans);
	close(fd);
	return ret;
}

int viewspans_read(int fd, struct intervals **spans)
{
	struct interval *array;
	struct stat st;
	ssize_t n = 0;
	size_t bytes;

	if (fstat(fd, &st))
		return -errno;
	bytes = (size_t)st.st_size;
	array = g_try_malloc(bytes + 1);
	if (!array)
		return -ENOMEM;
	if (bytes)
		n = pread(fd, array, bytes, 0);
	if (n >= 0)
		*spans = intervals_create(array, (size_t)n / sizeof(*array));
	g_free(array);
	return n < 0 ? -errno : *spans ? 0 : -ENOMEM;
}
