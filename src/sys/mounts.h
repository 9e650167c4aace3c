/* SPDX-License-Identifier: MIT */
/* The mount table: where file systems are mounted, and when that changes. Thread-safe. */
#ifndef KPROFS_SYS_MOUNTS_H
#define KPROFS_SYS_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

#define MOUNTS_KPROFS_TYPE "fuse.kprofs"
/* The source of mounts that a command makes for itself: no other command is to use them. */
#define MOUNTS_PRIVATE_SOURCE "kprof-private"
#define MOUNTS_PATH "/proc/self/mountinfo"

/*
 * Calls mount() with the directory of each mount of a file system type and the user who mounted it
 * ((uid_t)-1 if not known), in the order in which they were mounted, until it returns other than 0,
 * and returns that value. Those with MOUNTS_PRIVATE_SOURCE are left out. If path is NULL,
 * /proc/self/mounts is read. The string is valid during the call. Returns -errno if path cannot be
 * opened.
 */
int mounts_find(const char *path, const char *type,
	int (*mount)(void *arg, const char *dir, uid_t owner), void *arg);

/*
 * Whether a file system of this type is mounted at dir, a path as realpath(3) gives it. Sends no
 * request to the server of that file system. Returns false also if the mount table can't be read.
 */
bool mounts_is_of_type(const char *dir, const char *type);

/*
 * Opens a mount table, CLOEXEC: the caller closes *fd. poll(2) for POLLPRI reports each change of
 * the real one. -errno of open(2).
 */
int mounts_open(const char *path, int *fd);

/*
 * Whether a file system with this st_dev is mounted anywhere. Reads all of the table; -errno.
 * Opens no descriptor; one thread at a time for each fd.
 */
int mounts_has_device(int fd, dev_t device, bool *present);

/*
 * Unmounts lazily, also if the mount's server has exited; open files stay open. Returns -EPERM if
 * the process may not mount, -EINVAL if nothing is mounted there.
 */
int mounts_detach(const char *dir);

/*
 * Unmounts what is mounted at `path` if accesses to it give ENOTCONN, since its server has exited,
 * and if it is of this type. A process that may not unmount has fusermount3(1) do it. Another mount
 * that was made there meanwhile is not touched. Returns 0 if there is no such mount any more,
 * -EPERM, -ENODEV if the mount is of another type, or another -errno.
 */
int mounts_remove_dead(const char *path, const char *type);

#endif
