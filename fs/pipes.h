/* SPDX-License-Identifier: MIT */
/*
 * kptrace_pipe and cpu/N/trace_pipe: each open follows the trace by itself.
 *
 * The thread "kp-pipe" gathers new events. It wakes only while a pipe is open and a reader waits
 * for it. Thread-safe as struct stream_ops says.
 */
#ifndef KPROFS_FS_PIPES_H
#define KPROFS_FS_PIPES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/cancel.h"

struct trace_records_cpu;
struct pipes;
struct readings;
struct streams;

/*
 * The interval at which the thread gathers while a reader waits: half of the largest delay of a
 * line.
 */
#define PIPES_TICK_MS 50

/* Waiting readers are woken by `streams`. */
struct pipes *pipes_create(struct readings *readings, struct streams *streams);
/* Ends the thread. */
void pipes_close(struct pipes *pipes);
/* Called after pipes_close(), when no pipe is open. NULL is allowed. */
void pipes_destroy(struct pipes *pipes);

/*
 * Creates a pipe whose contents begin now. Copies the events that programs hold, which takes too
 * long for a worker if there are programs. Returns -EINTR if it was cancelled.
 */
int pipe_open(struct pipes *pipes, uid_t reader, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, void **cursor);
/* The functions of struct stream_ops. */
void pipe_close(void *cursor);
ssize_t pipe_begin(void *cursor, size_t want, struct iovec *iov, int *count, bool *eof);
void pipe_end(void *cursor, bool taken);
bool pipe_readable(void *cursor);
uint64_t pipe_size(void *cursor);

#endif
