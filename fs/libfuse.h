/* SPDX-License-Identifier: MIT */
/* libfuse's low-level interface, of the version that kprofs is written for. */
#ifndef KPROFS_FS_LIBFUSE_H
#define KPROFS_FS_LIBFUSE_H

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>

#endif
