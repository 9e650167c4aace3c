/* SPDX-License-Identifier: MIT */
/* Replies, interrupts and poll wake-ups: see reply.h. */
#include "fs/reply.h"

#include "fs/libfuse.h"

void reply_error(struct fuse_req *req, int code)
{
	fuse_reply_err(req, code);
}

void reply_written(struct fuse_req *req, size_t size)
{
	fuse_reply_write(req, size);
}

int reply_pieces(struct fuse_req *req, const struct iovec *iov, int count)
{
	return count ? fuse_reply_iov(req, iov, count) : fuse_reply_buf(req, NULL, 0);
}

void reply_on_interrupt(struct fuse_req *req, void (*interrupt)(struct fuse_req *req, void *arg),
	void *arg)
{
	fuse_req_interrupt_func(req, interrupt, arg);
}

bool reply_interrupted(struct fuse_req *req)
{
	return fuse_req_interrupted(req);
}

void reply_poll_notify(struct fuse_pollhandle *handle)
{
	fuse_lowlevel_notify_poll(handle);
	fuse_pollhandle_destroy(handle);
}

void reply_poll_destroy(struct fuse_pollhandle *handle)
{
	fuse_pollhandle_destroy(handle);
}
