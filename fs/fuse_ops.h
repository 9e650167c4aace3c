/* SPDX-License-Identifier: MIT */
/*
 * Requests of the kernel: receives them and dispatches them to the functions of this folder, and
 * the session with the kernel. Modules that answer a request later use reply.h.
 */
#ifndef KPROFS_FS_FUSE_OPS_H
#define KPROFS_FS_FUSE_OPS_H

#include <stdbool.h>

#include "base/err.h"

struct fuse_ops;
struct options;
struct server;

/*
 * Creates the session without mounting. `ready` is called in a worker when the kernel's first
 * request, INIT, has been received. Returns -EINVAL if libfuse refuses the mount options.
 */
int fuse_ops_create(struct server *server, const struct options *options,
	void (*ready)(struct server *server), struct fuse_ops **ops, struct err *err);
int fuse_ops_mount(struct fuse_ops *ops, const char *mountpoint, struct err *err);
/*
 * The mount is not in the mount table any more: fuse_ops_destroy() unmounts nothing, since another
 * server may have mounted there. Accesses to open files fail from now on. No thread may be in
 * fuse_ops_serve.
 */
void fuse_ops_unmounted(struct fuse_ops *ops);
/* Unmounts, if that has not happened otherwise. No thread may be in fuse_ops_serve. */
void fuse_ops_destroy(struct fuse_ops *ops);

/*
 * Serves requests until the file system is unmounted or fuse_ops_stop() is called. Any number of
 * threads may call it.
 */
void fuse_ops_serve(struct fuse_ops *ops);
/*
 * Makes the kernel forget the folders that were made for lookups and have no user. Waits for
 * lookups that are in progress, which workers answer, so it is not called in a worker.
 */
void fuse_ops_drop_names(struct fuse_ops *ops);

/*
 * Makes fuse_ops_serve() return in all threads, each after its current request. Needs no
 * descriptor.
 */
void fuse_ops_stop(struct fuse_ops *ops);

#endif
