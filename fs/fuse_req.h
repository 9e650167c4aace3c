/* SPDX-License-Identifier: MIT */
/*
 * Functions that the files which know libfuse share: they find the server, node, open file and user
 * of a request.
 */
#ifndef KPROFS_FS_FUSE_REQ_H
#define KPROFS_FS_FUSE_REQ_H

#include "fs/libfuse.h"
#include "fs/node.h"
#include "fs/openfile.h"
#include "fs/server.h"

struct fuse_ops {
	struct server *server;	      /* invariant */
	void (*ready)(struct server *server); /* invariant */
	struct fuse_session *session; /* invariant; libfuse locks it */
	int epoll;		      /* invariant: the workers wait in it for the device and for `stop` */
	int stop;		      /* invariant: a bell, rung by fuse_ops_stop(), never taken */
	bool mounted;		      /* main thread's */
};

static inline struct server *server_of(fuse_req_t req)
{
	struct fuse_ops *ops = fuse_req_userdata(req);

	return ops->server;
}

static inline struct node *node_of(fuse_req_t req, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? nodes_root(server_of(req)->nodes) :
				     (struct node *)(uintptr_t)ino;
}

static inline fuse_ino_t ino_of(const struct node *node)
{
	return (fuse_ino_t)(uintptr_t)node;
}

static inline struct openfile *file_of(const struct fuse_file_info *fi)
{
	return (struct openfile *)(uintptr_t)fi->fh;
}

static inline struct origin origin_of(fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	return (struct origin){ .pid = ctx->pid, .uid = ctx->uid, .gid = ctx->gid };
}

#endif
