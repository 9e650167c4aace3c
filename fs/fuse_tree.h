/* SPDX-License-Identifier: MIT */
/* FUSE requests that need no open file: see fuse_tree.c. */
#ifndef KPROFS_FS_FUSE_TREE_H
#define KPROFS_FS_FUSE_TREE_H

#include <stdint.h>

struct fuse_lowlevel_ops;
struct fuse_req;

/* Refuses to create the name, with EPERM and a line in kperr. */
void fuse_tree_refuse(struct fuse_req *req, uint64_t parent, const char *name);

/* Adds the functions for lookups, attributes, directories, and those that the tree refuses. */
void fuse_tree_add(struct fuse_lowlevel_ops *operations);

#endif
