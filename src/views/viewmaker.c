/* SPDX-License-Identifier: MIT */
/*
 * The main program of the process that makes views: see viewproc.h.
 *
 * The first thread takes requests, and each is carried out by a separate thread. Requests come from
 * the server, which is the same program and is trusted. If memory is missing, GLib ends the
 * process, and any other internal error ends it too; the server then reports an error for all opens
 * that wait for a view.
 */
#include "views/viewproc.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/trim.h"
#include "base/units.h"
#include "views/viewmarks.h"
#include "views/viewmodel.h"
#include "views/viewspans.h"
#include "views/viewstacks.h"
#include "symbolizer/helpers.h"
#include "sys/become.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/fdpass.h"
#include "sys/proc.h"
#include "capture/query_filter.h"
#include "capture/unwinding.h"
#include "formats/summary.h"
#include "formats/view.h"

/*
 * The bytes of one write(2) of a format that writes line by line; the decoder of the records has
 * its own buffer.
 */
#define SINK_BUFFER_BYTES (64u << 10)

/* How often the connection is polled for cancellation, however often the maker checks. */
#define LOOK_NS (2 * NSEC_PER_MSEC)

struct maker {
	struct viewmodels *models; /* invariant */
	pthread_mutex_t lock;	   /* a leaf */
	pthread_cond_t ended;	   /* a view has */
	unsigned int views;	   /* (lock) being made */
};

/*
 * One view. Only its own thread uses it, after the first thread has set the members and started
 * that thread.
 */
struct view_job {
	struct maker *maker;
	struct viewproc_request request;
	int connection;
	int files[VIEWPROC_FILES];
	uint64_t look_ns; /* when to poll next for cancellation */
	bool cancelled;
};

/* A view that is being written to its file. */
struct sink {
	int fd;
	uint64_t left; /* bytes that may still come */
	bool over;     /* more came */
	struct view_job *job;
};

/* After this the server sends nothing on the connection; it only closes it. */
static bool is_cancelled(void *arg)
{
	struct view_job *job = arg;
	struct pollfd fd = { .fd = job->connection, .events = POLLIN };
	uint64_t now_ns;

	if (job->cancelled)
		return true;
	now_ns = clock_monotonic_ns();
	if (now_ns >= job->look_ns) {
		job->look_ns = now_ns + LOOK_NS;
		job->cancelled = poll(&fd, 1, 0) > 0;
	}
	return job->cancelled;
}

static struct cancel cancel_of(struct view_job *job)
{
	return (struct cancel){ is_cancelled, job, job->connection };
}

/* ---- the view -------------------------------------------------------------------------------- */

/* Unwinds copied stacks (`stack dwarf`); *capture_fd is then another file. */
static int unwind_capture(struct view_job *job, bool has_copied, int *capture_fd, struct err *err)
{
	const struct cancel cancel = cancel_of(job);
	struct decoder decoder;
	int fd, ret;
	bool needed;

	if (!has_copied)
		return 0;
	decode_init_pread(&decoder, *capture_fd, 0);
	ret = unwinding_is_needed(&decoder, &needed);
	if (!ret && needed) {
		ret = unwinding_make(&decoder, viewmodels_symbols(job->maker->models), &cancel, &fd, NULL,
			err);
		if (!ret) {
			close(*capture_fd);
			*capture_fd = fd;
		}
	}
	decode_fini(&decoder);
	return ret;
}

/* Replaces a capture by the part of a query, and the query by one with settled times. */
static int filter(struct view_job *job, struct query *query, int *capture_fd,
	struct query_filter_result *part, struct err *err)
{
	const struct cancel cancel = cancel_of(job);
	struct intervals *spans = NULL;
	struct decoder decoder;
	int ret = 0;

	if (query_has(query, QUERY_SPAN))
		ret = viewspans_read(job->files[VIEWPROC_SPANS], &spans);
	if (ret)
		return ret;
	decode_init_pread(&decoder, *capture_fd, 0);
	ret = query_filter_make(&decoder, query, spans, &cancel, part, err);
	decode_fini(&decoder);
	intervals_destroy(spans);
	if (ret)
		return ret;
	close(*capture_fd);
	*capture_fd = part->fd;
	*query = part->query;
	return 0;
}

/*
 * Of the capture that is compared: the conditions apart from times, which are those of the other capture.
 * Without a sample the difference is from nothing.
 */
static int take_part_before(struct view_job *job, int *capture_fd, struct err *err)
{
	struct query query = job->request.query;
	struct query_filter_result part;

	query.keys &= ~(1u << QUERY_LAST | 1u << QUERY_SINCE | 1u << QUERY_UNTIL);
	return query_is_empty(&query) ? 0 : filter(job, &query, capture_fd, &part, err);
}

/*
 * Replaces the capture by the part that is meant, with the settled times in the request. Without a
 * sample nothing is shown, except the annotations of a format that has some.
 */
static int take_part(struct view_job *job, int *capture_fd, bool has_marks, struct err *err)
{
	struct query_filter_result part;
	int ret;

	if (query_is_empty(&job->request.query))
		return 0;
	ret = filter(job, &job->request.query, capture_fd, &part, err);
	if (ret)
		return ret;
	if (part.samples || has_marks)
		return 0;
	if (part.lost)
		return err_set(err, ENODATA, "no sample of this part is held, and %" PRIu64 " were lost",
			part.lost);
	return err_set(err, ENODATA, "no sample of this part is held");
}

static ssize_t write_sink(void *cookie, const char *data, size_t size)
{
	struct sink *sink = cookie;
	size_t done = 0;

	if (size > sink->left) {
		sink->over = true;
		errno = EFBIG;
		return 0;
	}
	while (done < size) {
		ssize_t n = write(sink->fd, data + done, size - done);

		if (n < 0)
			return 0;
		done += (size_t)n;
	}
	sink->left -= size;
	return (ssize_t)size;
}

/* A view that is cancelled, or that became too large, ends. */
static bool sink_is_over(void *arg)
{
	const struct sink *sink = arg;

	return sink->over || is_cancelled(sink->job);
}

static int write_view(const struct view_format *format, struct view_input *input, struct sink *sink,
	struct err *err)
{
	const cookie_io_functions_t functions = { .write = write_sink };
	FILE *out = fopencookie(sink, "w", functions);
	g_autofree char *buffer = g_malloc(SINK_BUFFER_BYTES);
	int ret;

	if (!out)
		return -errno;
	setvbuf(out, buffer, format->needs & VIEW_RECORDS ? _IONBF : _IOFBF, SINK_BUFFER_BYTES);
	input->cancel = (struct cancel){ sink_is_over, sink, -1 };
	ret = format->write(input, out, err);
	if (fflush(out) || ferror(out))
		ret = ret ? ret : err_set(err, ENOSPC, "there is no memory for the view");
	fclose(out);
	if (sink->over)
		ret = err_set(err, EFBIG, "the view would have more than %u MiB",
			(unsigned int)(VIEWPROC_BYTES_MAX / MIB));
	return ret;
}

static void set_model(struct view_input *input, const struct viewmodel *model)
{
	input->capture_fd = model->capture_fd;
	input->profile = model->profile;
	input->functions = model->names;
}

/* The model of the capture that is compared; NULL if none is. */
static int get_before(struct view_job *job, const struct view_format *format, struct viewmodel **model,
	struct err *err)
{
	const struct cancel cancel = cancel_of(job);
	int fd = job->files[VIEWPROC_BEFORE], ret;

	*model = NULL;
	if (fd < 0)
		return 0;
	job->files[VIEWPROC_BEFORE] = -1;
	ret = take_part_before(job, &fd, err);
	if (!ret)
		ret = unwind_capture(job, job->request.copied_before, &fd, err);
	if (!ret)
		return viewmodel_get(job->maker->models, format, fd, job->request.wakers, &cancel, model,
			err);
	close(fd);
	return ret;
}

/* Takes ownership of the descriptor of the capture. */
static int write_model(const struct view_format *format, int capture_fd,
	const struct view_annotations *marks, struct sink *sink, struct err *err)
{
	struct view_job *job = sink->job;
	const struct summary_source source = { .name = job->request.source };
	const struct summary_source source_before = { .name = job->request.source_before };
	struct view_input input = { .capture_fd = -1, .annotations = marks, .source = &source };
	struct view_input input_before = { .capture_fd = -1, .source = &source_before };
	struct viewmodels *models = job->maker->models;
	const struct cancel cancel = cancel_of(job);
	struct viewmodel *model, *before;
	int ret = viewmodel_get(models, format, capture_fd, job->request.wakers, &cancel, &model, err);

	if (ret)
		return ret;
	set_model(&input, model);
	ret = get_before(job, format, &before, err);
	if (!ret && before) {
		set_model(&input_before, before);
		input_before.cancel = cancel;
		input.before = &input_before;
	}
	if (!ret)
		ret = is_cancelled(job) ? -EINTR : write_view(format, &input, sink, err);
	viewmodel_put(models, model);
	if (input.before)
		viewmodel_put(models, before);
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

/* Of the trace what belongs to the part. */
static int select_marks(struct view_job *job, struct view_annotations *marks)
{
	const struct query *query = &job->request.query;
	struct intervals *spans = NULL;
	int ret = 0;

	if (query_has(query, QUERY_SPAN))
		ret = viewspans_read(job->files[VIEWPROC_SPANS], &spans);
	if (!ret && !query_is_empty(query))
		viewmarks_select(marks, query, spans);
	return ret;
}

static int make_view(struct view_job *job, struct err *err)
{
	const struct view_format *format = view_find(job->request.format);
	struct sink sink = { .fd = job->files[VIEWPROC_OUT], .left = VIEWPROC_BYTES_MAX, .job = job };
	int capture_fd = job->files[VIEWPROC_CAPTURE], ret;
	const struct cancel cancel = cancel_of(job);
	struct view_annotations marks;
	bool has_marks = job->files[VIEWPROC_MARKS] >= 0;

	job->files[VIEWPROC_CAPTURE] = -1;
	ret = has_marks ? viewmarks_open(job->files[VIEWPROC_MARKS], &marks) : 0;
	if (ret) {
		close(capture_fd);
		return ret;
	}
	ret = take_part(job, &capture_fd, has_marks, err);
	if (!ret && has_marks)
		ret = select_marks(job, &marks);
	if (!ret)
		ret = unwind_capture(job, job->request.copied_stacks, &capture_fd, err);
	if (!ret && has_marks)
		ret = viewstacks_name(&marks, capture_fd, job->maker->models, &cancel);
	if (ret)
		close(capture_fd);
	else if (format->needs & VIEW_RECORDS)
		ret = write_records(format, capture_fd, &sink, err);
	else
		ret = write_model(format, capture_fd, has_marks ? &marks : NULL, &sink, err);
	if (has_marks)
		viewmarks_close(&marks);
	return ret;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void close_files(struct view_job *job)
{
	int i;

	for (i = 0; i < VIEWPROC_FILES; i++)
		if (job->files[i] >= 0)
			close(job->files[i]);
	close(job->connection);
	g_free(job);
}

static void count_symbols(const struct maker *maker, uint64_t counts[VIEWPROC_COUNTS])
{
	struct stats *stats = stats_create();
	int i;

	symbols_stats(viewmodels_symbols(maker->models), stats);
	for (i = 0; i < VIEWPROC_COUNTS; i++)
		if (stats_find_u64(stats, viewproc_counts[i], &counts[i]))
			counts[i] = 0;
	stats_destroy(stats);
}

static void finish_job(struct view_job *job, struct viewproc_answer *answer)
{
	struct maker *maker = job->maker;

	count_symbols(maker, answer->counts);
	(void)!send(job->connection, answer, sizeof(*answer), MSG_NOSIGNAL);
	close_files(job);
	pthread_mutex_lock(&maker->lock);
	maker->views--;
	pthread_cond_signal(&maker->ended);
	pthread_mutex_unlock(&maker->lock);
}

static void *run_job(void *arg)
{
	struct viewproc_answer answer = {0};
	struct view_job *job = arg;

	pthread_setname_np(pthread_self(), "kp-make");
	answer.ret = make_view(job, &answer.err);
	trim_memory(); /* a view takes much memory for a short time */
	finish_job(job, &answer);
	return NULL;
}

/*
 * If there is no thread, the connection is closed without an answer, as at the end of this process.
 */
static void begin_job(struct maker *maker, struct view_job *job)
{
	struct viewproc_answer answer = { .ret = 0 };
	pthread_attr_t detached;
	pthread_t thread;

	job->maker = maker;
	pthread_mutex_lock(&maker->lock);
	maker->views++;
	pthread_mutex_unlock(&maker->lock);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	answer.ret = -pthread_create(&thread, &detached, run_job, job);
	pthread_attr_destroy(&detached);
	if (!answer.ret)
		return;
	err_set(&answer.err, ENOMEM, "a thread for the view: %s", g_strerror(-answer.ret));
	finish_job(job, &answer);
}

/*
 * Waits for the next request. Without one for VIEWPROC_SECONDS the server can send none any more; those that
 * it has sent are received.
 */
static void wait_for_request(struct maker *maker)
{
	struct pollfd server = { .fd = VIEWPROC_FD, .events = POLLIN };
	bool is_idle = false;

	while (!is_idle && !poll(&server, 1, VIEWPROC_SECONDS * 1000)) {
		pthread_mutex_lock(&maker->lock);
		is_idle = !maker->views;
		pthread_mutex_unlock(&maker->lock);
	}
	if (is_idle)
		shutdown(VIEWPROC_FD, SHUT_RD);
}

/* Receives the next request. Returns NULL if there will be none. */
static struct view_job *receive(void)
{
	struct view_job *job = g_new0(struct view_job, 1);
	int fds[1 + VIEWPROC_FILES], i, next = 0, count;
	struct fdpass pass = { .fds = fds, .max = 1 + VIEWPROC_FILES };
	ssize_t n;

	do
		n = fdpass_receive(VIEWPROC_FD, &job->request, sizeof(job->request), &pass, 0);
	while (n == -EINTR);
	count = n == sizeof(job->request) ? (int)pass.count : 0;
	/*
	 * fewer if this process may not have more descriptors: it ends, and another is started
	 */
	if (count != 1 + VIEWPROC_MARKS + job->request.has_marks + job->request.has_spans +
			job->request.has_before) {
		g_free(job);
		return NULL;
	}
	job->connection = fds[next++];
	for (i = 0; i < VIEWPROC_FILES; i++)
		job->files[i] = -1;
	for (i = 0; i < VIEWPROC_MARKS; i++)
		job->files[i] = fds[next++];
	if (job->request.has_marks)
		job->files[VIEWPROC_MARKS] = fds[next++];
	if (job->request.has_spans)
		job->files[VIEWPROC_SPANS] = fds[next++];
	if (job->request.has_before)
		job->files[VIEWPROC_BEFORE] = fds[next++];
	return job;
}

/* A core dump of its address space would be of no use, and its end loses no data. */
static void prepare_process(void)
{
	static const struct rlimit none = { 0, 0 };

	pthread_setname_np(pthread_self(), "kp-views");
	setrlimit(RLIMIT_CORE, &none);
	(void)proc_prefer_to_end(NULL); /* else it is chosen by its size, as any */
}

bool viewproc_is_asked(int argc, char **argv)
{
	return (argc == 3 || argc == 5) && !strcmp(argv[1], VIEWPROC_WORD);
}

/* A path of a descriptor. */
#define HELPER_PATH_MAX 32

/* kprof-symbols as a descriptor, since the user may not reach the folder that it is in. */
static int open_helper(char *path, size_t size)
{
	g_autofree char *program = helpers_find_program();
	int fd = open(program, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	snprintf(path, size, "/proc/self/fd/%d", fd);
	return 0;
}

/*
 * A user may take the descriptors of each process that the user could trace, such as a helper that has just
 * been executed: none that is the server's may be left, nor its folder.
 */
static int take_rights(char **argv)
{
	int ret = child_close_streams(STDERR_FILENO);

	if (!ret && chdir("/"))
		ret = -errno;
	return ret ? ret : become_user((uid_t)strtoul(argv[3], NULL, 10), (gid_t)strtoul(argv[4], NULL, 10));
}

int viewproc_main(char **argv)
{
	struct maker maker = { .views = 0 };
	static const int first[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, VIEWPROC_FD };
	const bool is_users = argv[3] != NULL;
	char helper[HELPER_PATH_MAX] = "";
	struct view_job *job;

	prepare_process();
	if (is_users)
		child_keep_only(first, G_N_ELEMENTS(first));
	if (is_users && (open_helper(helper, sizeof(helper)) || take_rights(argv)))
		return EXIT_FAILURE;
	pthread_mutex_init(&maker.lock, NULL);
	pthread_cond_init(&maker.ended, NULL);
	maker.models = viewmodels_create(*argv[2] ? argv[2] : NULL, is_users ? helper : NULL);
	for (;;) {
		if (is_users)
			wait_for_request(&maker);
		job = receive();
		if (!job)
			break;
		begin_job(&maker, job);
	}
	/* the server has cancelled the current views before it closed the socket, or has ended */
	close(VIEWPROC_FD);
	pthread_mutex_lock(&maker.lock);
	while (maker.views)
		pthread_cond_wait(&maker.ended, &maker.lock);
	pthread_mutex_unlock(&maker.lock);
	viewmodels_destroy(maker.models);
	pthread_cond_destroy(&maker.ended);
	pthread_mutex_destroy(&maker.lock);
	return EXIT_SUCCESS;
}
