/* SPDX-License-Identifier: MIT */
/*
 * The lines of kptrace_pipe of a private server while a command or a program of probes runs, up to a
 * message that is written at the end: the pipe is in the order of time, so nothing is missing before it.
 * One thread.
 */
#ifndef KPROFS_CMD_LIVE_PIPE_H
#define KPROFS_CMD_LIVE_PIPE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cmd/launch.h"

struct live_pipe {
	/* set by the caller */
	void (*take)(void *arg, const char *line, size_t bytes); /* a line without its newline, with a NUL */
	bool (*flush)(void *arg); /* called after the lines of one read; false: the output failed */
	void *arg;

	int fd; /* to be polled; -1 if it is not open */
	bool failed; /* flush() returned false */

	/* private */
	GString *held; /* the beginning of a line */
	char *mark; /* the message that ends the trace; NULL before it is written */
	bool marked; /* it was read */
};

/* Before any other call, also before one that fails. Members that the caller sets are kept. */
void live_pipe_init(struct live_pipe *pipe);
/* Opens the pipe of the server at dir. Returns -errno of open(2). */
int live_pipe_open(struct live_pipe *pipe, const char *dir, struct err *err);
void live_pipe_fini(struct live_pipe *pipe);

/* Takes the lines that are there; does not block. Returns false at the end of the pipe. */
bool live_pipe_read(struct live_pipe *pipe);

/*
 * Takes the lines up to now, however many these are: the time that none comes is limited to END_MS. If that
 * takes long, it says so on standard error, and that a signal ends it. name: of the command, for the message.
 * Returns the errors of kpctl_client_write_file(), -ETIMEDOUT, -EINTR after a signal (launch->stopped), or
 * -EPIPE if the server has ended. If the output fails, it returns 0 at once.
 */
int live_pipe_finish(struct live_pipe *pipe, struct launch *launch, const char *dir, const char *name,
	struct err *err);

#endif
