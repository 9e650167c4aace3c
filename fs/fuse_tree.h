/* SPDX-License-Identifier: MIT */
/* FUSE requests that need no open file: see fuse_tree.c. */
#ifndef KPROFS_FS_FUSE_TREE_H
#define KPROFS_FS_FUSE_TREE_H

struct fuse_lowlevel_ops;

/* Adds the functions for lookups, attributes, directories, and those that the tree refuses. */
void fuse_tree_add(struct fuse_lowlevel_ops *operations);

#endif
