/* SPDX-License-Identifier: MIT */
/* The lines of kptrace_pipe: see live_pipe.h. */
#include "cmd/live_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/kpctl_client.h"
#include "sys/clock.h"

#define LOOK_MS	   250   /* how long one wait takes at most */
#define END_MS	   30000 /* how long none of the last lines may come */
#define SAY_MS	   10000 /* after this time it is said that there are more */
#define READ_BYTES 65536

void live_pipe_init(struct live_pipe *pipe)
{
	pipe->fd = -1;
	pipe->held = g_string_new(NULL);
}

int live_pipe_open(struct live_pipe *pipe, const char *dir, struct err *err)
{
	g_autofree char *path = g_build_filename(dir, "kptrace_pipe", NULL);

	pipe->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return pipe->fd < 0 ? err_set(err, errno, "%s: %s", path, strerror(errno)) : 0;
}

void live_pipe_fini(struct live_pipe *pipe)
{
	if (pipe->fd >= 0)
		close(pipe->fd);
	pipe->fd = -1;
	g_string_free(pipe->held, TRUE);
	g_free(pipe->mark);
}

/* The message has the header of a line and the text, and nothing else. */
static bool is_mark(const struct live_pipe *pipe, const char *line, size_t bytes)
{
	const size_t mark_bytes = pipe->mark ? strlen(pipe->mark) : 0;
	const char *text = memmem(line, bytes, ": ", 2);

	return mark_bytes && text && (size_t)(line + bytes - text) == mark_bytes + 2 &&
	       memcmp(text + 2, pipe->mark, mark_bytes) == 0;
}

static void take_line(struct live_pipe *pipe, const char *line, size_t bytes)
{
	if (pipe->marked)
		return;
	pipe->marked = is_mark(pipe, line, bytes);
	if (!pipe->marked)
		pipe->take(pipe->arg, line, bytes);
}

bool live_pipe_read(struct live_pipe *pipe)
{
	char buffer[READ_BYTES];
	ssize_t n = read(pipe->fd, buffer, sizeof(buffer));
	char *begin, *end;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	g_string_append_len(pipe->held, buffer, n);
	begin = pipe->held->str;
	while ((end = memchr(begin, '\n', pipe->held->len - (size_t)(begin - pipe->held->str)))) {
		*end = '\0';
		take_line(pipe, begin, (size_t)(end - begin));
		begin = end + 1;
	}
	g_string_erase(pipe->held, 0, begin - pipe->held->str);
	if (!pipe->flush(pipe->arg))
		pipe->failed = true;
	return true;
}

/* Waits for the next lines, or for signals, and takes them. *last_ns: when the last ones came. */
static int take_more(struct live_pipe *pipe, struct launch *launch, uint64_t *last_ns, struct err *err)
{
	struct pollfd fds[] = { { .fd = pipe->fd, .events = POLLIN },
		{ .fd = launch->signal_fd, .events = POLLIN } };

	poll(fds, 2, LOOK_MS);
	launch_signals(launch);
	if (launch->stopped)
		return err_set(err, EINTR, "stopped by a signal: the last lines of the trace are missing");
	if (fds[0].revents) {
		if (!live_pipe_read(pipe))
			return err_set(err, EPIPE, "the trace has ended early: its last lines are missing");
		*last_ns = clock_monotonic_ns();
	} else if (clock_monotonic_ns() - *last_ns > END_MS * NSEC_PER_MSEC) {
		return err_set(err, ETIMEDOUT, "the last lines of the trace do not come within %d s",
			END_MS / 1000);
	}
	return 0;
}

int live_pipe_finish(struct live_pipe *pipe, struct launch *launch, const char *dir, const char *name,
	struct err *err)
{
	const uint64_t begin_ns = clock_monotonic_ns();
	uint64_t last_ns = begin_ns;
	g_autofree char *line = NULL;
	bool said = false;
	int ret;

	launch->finishing = true;
	pipe->mark = g_strdup_printf("kprof %s %d ends", name, (int)getpid());
	line = g_strconcat(pipe->mark, "\n", NULL);
	ret = kpctl_client_write_file(dir, "kptrace", line, err);
	while (!ret && !pipe->marked && !pipe->failed) {
		ret = take_more(pipe, launch, &last_ns, err);
		if (!said && !pipe->marked && last_ns - begin_ns > SAY_MS * NSEC_PER_MSEC) {
			cmd_error("the last lines of the trace are being written; Ctrl-C ends that");
			said = true;
		}
	}
	return ret;
}
