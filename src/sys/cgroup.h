/* SPDX-License-Identifier: MIT */
/* Control groups of version 2, by their paths as in /proc/PID/cgroup. Thread-safe; a few system calls. */
#ifndef KPROFS_SYS_CGROUP_H
#define KPROFS_SYS_CGROUP_H

#include <stdint.h>

#include "base/err.h"

struct cgroup {
	uint64_t id;	    /* as programs in the kernel see it */
	unsigned int level; /* below the root, which has 0 */
};

/*
 * Opens the directory of a cgroup, wherever its file system is mounted: the caller closes *fd. mounts: a
 * file as /proc/self/mountinfo, which NULL stands for. Returns -EINVAL if the path does not begin with '/'
 * or has a part '.' or '..', -ENOENT if there is no such cgroup, -EOPNOTSUPP if no cgroups of version 2 are
 * mounted.
 */
int cgroup_open(const char *mounts, const char *path, int *fd, struct err *err);

/*
 * The same as numbers. Also -EOPNOTSUPP in a cgroup namespace other than the first, where paths do not
 * tell the level.
 */
int cgroup_find(const char *mounts, const char *path, struct cgroup *cgroup, struct err *err);

#endif
