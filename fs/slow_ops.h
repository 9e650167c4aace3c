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

/* Made at once, and one more for privileged users: each may take as much memory as its capture is
 * varied. */
#define SLOW_OPS_THREADS 3
/* Readings of the trace at once: their copies have a bound of their own. */
#define SLOW_OPS_TRACE_THREADS 4

/*
 * `name`: of the threads, invariant. brief: an open takes a moment at most, and is interrupted only
 * by what ends its program.
 */
struct slow_ops *slow_ops_create(
	const char *name, unsigned int max_threads, bool brief, const struct quotas *quotas);

/* Queues the open; it is answered when the text is there. Takes the caller's reference. */
void slow_ops_open(struct slow_ops *ops, struct fuse_req *req, struct openfile *file,
	const struct origin *origin);

/* Queues a read of a lazy text; it is answered when the bytes are there. */
void slow_ops_read(struct slow_ops *ops, struct fuse_req *req, struct openfile *file,
	uint64_t offset, size_t size);

/* Gives all of them up and answers their openers; returns when no thread is left. */
void slow_ops_close(struct slow_ops *ops);
/* After slow_ops_close(). Harmless for NULL. */
void slow_ops_destroy(struct slow_ops *ops);

/*
 * For the thread that carries out the job: its cancellation, valid as long as the job. Without a
 * descriptor: see slow_ops_cancel_fd(). Returns NULL for NULL, a job that needs no separate thread.
 */
const struct cancel *slow_ops_cancel(const void *job);
/* For the same: the user who opens. */
uid_t slow_ops_uid(const void *job);
/* For the same: a descriptor that is readable from then on; -1 if none can be made. */
int slow_ops_cancel_fd(void *job);
/* Its end, before the opener is answered. */
void slow_ops_close_cancel_fd(void *job);

#endif
