/* SPDX-License-Identifier: MIT */
/*
 * Replies to requests of the kernel, for modules that do not know libfuse: a request and a poll
 * handle are opaque pointers there.
 *
 * A request is answered exactly once, by any thread; the pointer is invalid after that. Replies do
 * not block.
 */
#ifndef KPROFS_FS_REPLY_H
#define KPROFS_FS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct fuse_pollhandle;
struct fuse_req;

void reply_error(struct fuse_req *req, int code); /* an errno, or 0 for success */
void reply_written(struct fuse_req *req, size_t size);
/*
 * Answers a read with these pieces, or with end of file if there are none. Returns -errno if the
 * reader was interrupted and got nothing.
 */
int reply_pieces(struct fuse_req *req, const struct iovec *iov, int count);

/* ---- interruption ---------------------------------------------------------------------------- */

/*
 * `interrupt` is called at most once, from a worker, when the program that waits for the request
 * is interrupted. That may be before this function returns, and while another thread answers the
 * request: `interrupt` may compare `req` with other requests, but not use it. It may answer the
 * request, unless it is called before this returns. Not to be called under a lock that `interrupt`
 * takes.
 */
void reply_on_interrupt(struct fuse_req *req, void (*interrupt)(struct fuse_req *req, void *arg),
	void *arg);
bool reply_interrupted(struct fuse_req *req);

/* ---- poll ------------------------------------------------------------------------------------ */

/* Tells the kernel that a file it polled should be polled again; frees the handle. */
void reply_poll_notify(struct fuse_pollhandle *handle);
void reply_poll_destroy(struct fuse_pollhandle *handle);

#endif
