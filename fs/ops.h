/* SPDX-License-Identifier: MIT */
/*
 * The FUSE side of the server. Nothing outside ops.c and ops_tree.c knows libfuse: others see
 * requests and poll handles as opaque pointers and answer them with the functions here.
 *
 * A request is answered exactly once, by any thread; it is gone then. Replies don't block.
 */
#ifndef KPROFS_FS_OPS_H
#define KPROFS_FS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"

struct fuse_pollhandle;
struct fuse_req;
struct openfile;
struct ops;
struct options;
struct origin;
struct server;

/* Nothing is mounted yet. -EINVAL: the mount options are not what libfuse takes. */
int ops_create(struct server *server, const struct options *options, struct ops **ops,
	struct err *err);
int ops_mount(struct ops *ops, const char *mountpoint, struct err *err);
/*
 * The mount is not in the mount table any more: ops_destroy() unmounts nothing, since another
 * server may have mounted there. What clients have open gives them errors from now on. No thread
 * may be in ops_serve.
 */
void ops_unmounted(struct ops *ops);
/* Unmounts, if that has not happened otherwise. No thread may be in ops_serve. */
void ops_destroy(struct ops *ops);

/* Serves requests until the mount is gone or ops_stop() is called. Any number of threads. */
void ops_serve(struct ops *ops);
/* Makes ops_serve() return in all threads, each after the request it is at. Needs no descriptor. */
void ops_stop(struct ops *ops);

/*
 * ---- answers ----------------------------------------------------------------------------------
 */

void ops_reply_error(struct fuse_req *req, int code); /* an errno; 0: done */
void ops_reply_written(struct fuse_req *req, size_t size);
/* The pieces of a read. -errno: nobody takes them any more. */
int ops_reply_pieces(struct fuse_req *req, const struct iovec *iov, int count);
/*
 * Fills the file and answers the open with it, or with the error. Takes the caller's reference to
 * the file: the kernel's open has it, or it is put.
 */
void ops_finish_open(struct fuse_req *req, struct openfile *file, const struct origin *origin);
/* Answers an open with an error before anything was filled; takes the file. */
void ops_fail_open(struct fuse_req *req, struct openfile *file, int code);

/*
 * Makes the bytes of a file's lazy text and answers the read with them, or with EINTR where
 * slow_ops_cancel(job). The caller has a reference to the file.
 */
void ops_finish_read(struct fuse_req *req, struct openfile *file, uint64_t offset, size_t size,
	void *job);

/*
 * ---- interruption -----------------------------------------------------------------------------
 */

/*
 * `interrupt` is called at most once, from a worker, when the program that waits for the request
 * is interrupted, perhaps before this returns, perhaps while another thread is answering: then
 * `req` may be compared with, not used. It may answer the request, unless it is called before this
 * returns. Not to be called under a lock that `interrupt` takes.
 */
void ops_on_interrupt(struct fuse_req *req, void (*interrupt)(struct fuse_req *req, void *arg),
	void *arg);
bool ops_interrupted(struct fuse_req *req);

/*
 * ---- poll -------------------------------------------------------------------------------------
 */

/* Tells the kernel that a file it polled should be polled again; frees the handle. */
void ops_poll_notify(struct fuse_pollhandle *handle);
void ops_poll_destroy(struct fuse_pollhandle *handle);

#endif
