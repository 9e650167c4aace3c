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
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/units.h"
#include "fs/openfile.h"
#include "fs/server.h"
#include "fs/views.h"
#include "prof/profiler.h"
#include "trace/marks.h"
#include "view/unwinding.h"
#include "view/view.h"

/* Pieces of one copy of the capture; 1 MiB at a time. */
#define COPY_PIECES 64
#define COPY_BYTES (1u << 20)

/*
 * What the model of one view may take: some for what each capture has, and for each byte of the
 * capture a few. A stack that no other shares anything with takes twenty times its bytes; in captures
 * of real programs most of each stack is shared.
 */
#define MODEL_BYTES (64 * MIB)
#define MODEL_FACTOR 4

/* Events that a time line shows: what a browser still takes, in some 40 MiB. */
#define MARKS_MAX 200000

/* A view on its way into its file. One thread. */
struct sink {
	int fd;
	uint64_t left; /* bytes that may still come */
	bool over;     /* more came */
	void *job;
};

struct symbolizer {
	pthread_mutex_t lock; /* held while names are asked for: one view at a time */
	struct symbols *symbols; /* (lock) made when first needed */
};

struct symbolizer *file_view_create_symbolizer(void)
{
	struct symbolizer *symbolizer = g_new0(struct symbolizer, 1);

	pthread_mutex_init(&symbolizer->lock, NULL);
	return symbolizer;
}

void file_view_destroy_symbolizer(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	if (symbolizer->symbols)
		symbols_destroy(symbolizer->symbols);
	pthread_mutex_destroy(&symbolizer->lock);
	g_free(symbolizer);
}

/* With the lock held. */
static struct symbols *open_symbols(struct symbolizer *symbolizer)
{
	if (!symbolizer->symbols)
		symbolizer->symbols = names_open_symbols(NULL);
	return symbolizer->symbols;
}

static struct names *find_names(struct symbolizer *symbolizer, const struct view_format *format,
	const struct profile *profile)
{
	struct names *names;

	pthread_mutex_lock(&symbolizer->lock);
	names = view_name(format, profile, open_symbols(symbolizer));
	pthread_mutex_unlock(&symbolizer->lock);
	return names;
}

/* Copied stacks (`stack dwarf`) made whole: then *capture_fd is another file. */
static int unwind_capture(struct symbolizer *symbolizer, int *capture_fd, void *job, struct err *err)
{
	struct symbols *symbols;
	struct decoder decoder;
	int fd, ret;
	bool needed;

	decode_init_pread(&decoder, *capture_fd, 0);
	ret = unwinding_is_needed(&decoder, &needed);
	if (!ret && needed) {
		pthread_mutex_lock(&symbolizer->lock);
		symbols = open_symbols(symbolizer);
		pthread_mutex_unlock(&symbolizer->lock);
		ret = unwinding_make(&decoder, symbols, views_cancelled, job, &fd, NULL, err);
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
	struct cursor *cursor;
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
	return ret ? ret : any || enough ? 0 : -ENODATA;
}

static size_t model_bytes(int capture_fd)
{
	struct stat st;

	return MODEL_BYTES + (fstat(capture_fd, &st) ? 0 : MODEL_FACTOR * (size_t)st.st_size);
}

static int load_profile(const struct view_format *format, int capture_fd, struct profile **profile,
	struct err *err)
{
	struct decoder decoder;
	int ret;

	if (lseek(capture_fd, 0, SEEK_SET) < 0)
		return -errno;
	decode_init_fd(&decoder, capture_fd);
	ret = view_load(format, &decoder, model_bytes(capture_fd), profile, err);
	decode_fini(&decoder);
	return ret;
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
	int ret;

	if (!out)
		return -errno;
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
	ret = marks_create(server->readings, MARKS_MAX, views_cancelled, job, &m);
	if (ret)
		return ret == -ENODATA ? 0 : ret;
	marks_get_missing(m, &missing);
	*place = (struct view_marks){ next_mark, m, missing.left_out, missing.lost };
	*marks = place;
	return 0;
}

/* ---- all --------------------------------------------------------------------------------------- */

static int make_view(struct server *server, const struct view_format *format, int capture_fd,
	const struct view_marks *marks, int fd, void *job, struct err *err)
{
	struct sink sink = { .fd = fd, .left = OPENFILES_TEXT_MAX, .job = job };
	struct view_input input = { .capture_fd = capture_fd, .marks = marks };
	struct profile *profile;
	struct names *names;
	int ret;

	ret = load_profile(format, capture_fd, &profile, err);
	if (ret)
		return ret;
	names = find_names(server->symbolizer, format, profile);
	input.profile = profile;
	input.names = names;
	ret = views_cancelled(job) ? -EINTR : write_view(format, &input, &sink, err);
	names_destroy(names);
	profile_destroy(profile);
	malloc_trim(0); /* a view takes much memory for a short time */
	return ret;
}

int file_view_make(struct server *server, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	const struct view_format *format = view_find(row->name);
	struct view_marks place, *marks;
	int capture_fd, ret;

	if (views_cancelled(job))
		return -EINTR;
	capture_fd = memfd_create("capture", MFD_CLOEXEC);
	if (capture_fd < 0)
		return -errno;
	ret = open_marks(server, format, job, &place, &marks);
	if (!ret)
		ret = copy_capture(server->profiler, marks != NULL, capture_fd, job);
	if (ret == -ENODATA)
		err_set(err, ENODATA, "nothing is captured");
	if (!ret)
		ret = unwind_capture(server->symbolizer, &capture_fd, job, err);
	if (!ret)
		ret = make_view(server, format, capture_fd, marks, fd, job, err);
	if (marks)
		marks_destroy(marks->arg);
	close(capture_fd);
	return ret;
}
