/* SPDX-License-Identifier: MIT */
/*
 * Opens and reads that take long: their texts are made in separate threads, so that no other
 * request waits.
 *
 * A thread exists while there is something to make, at most max_threads, and one more for root
 * and the user who mounted; further requests wait for one, and users are served in turn (turns.h).
 * A waiting request can be interrupted at any time. Thread-safe; nothing here blocks.
 */
#ifndef KPROFS_FS_SLOW_OPS_H
#define KPROFS_FS_SLOW_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"

struct fuse_req;
struct openfile;
struct origin;
struct quotas;
struct slow_ops;

/* The number of views that are made at once; privileged users get one more. The memory for each
 * depends on its capture. */
#define SLOW_OPS_THREADS 3
/* The number of readings of the trace that are made at once; their copies have a separate limit. */
#define SLOW_OPS_TRACE_THREADS 4

/*
 * `name` is that of the threads; it must stay valid. With `brief` an open is short, and is
 * interrupted only by signals that end its program.
 */
struct slow_ops *slow_ops_create(
	const char *name, unsigned int max_threads, bool brief, const struct quotas *quotas);

/* Queues the open; it is answered when the text is there. Takes the caller's reference. */
void slow_ops_open(struct slow_ops *ops, struct fuse_req *req, struct openfile *file,
	const struct origin *origin);

/* Queues a read of a lazy text; it is answered when the bytes are there. */
void slow_ops_read(struct slow_ops *ops, struct fuse_req *req, struct openfile *file,
	uint64_t offset, size_t size);

/* Cancels all jobs and answers their openers; returns when no thread is left. */
void slow_ops_close(struct slow_ops *ops);
/* Called after slow_ops_close(). NULL is allowed. */
void slow_ops_destroy(struct slow_ops *ops);

/*
 * Returns the cancellation of a job, for the thread that carries it out; it is valid as long as the
 * job. It has no descriptor: see slow_ops_cancel_fd(). Returns NULL for NULL, a job that needs no
 * separate thread.
 */
const struct cancel *slow_ops_cancel(const void *job);
/* Returns the user who opens, for the same thread. */
uid_t slow_ops_uid(const void *job);
/*
 * Returns a descriptor that becomes readable at the cancellation, for the same thread; -1 if none
 * can be made.
 */
int slow_ops_cancel_fd(void *job);
/* Closes it. Called before the opener is answered. */
void slow_ops_close_cancel_fd(void *job);

#endif
