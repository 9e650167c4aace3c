/* SPDX-License-Identifier: MIT */
/*
 * Opens files that other processes chose, for reading: regular files only, found out before anything
 * is opened, so that no device, FIFO or terminal notices. What is returned is O_CLOEXEC and the
 * caller's. Thread-safe. Blocks as long as the file's file system likes: callers keep a way to be
 * ended.
 *
 * `proc` is where /proc is mounted, for tests. Errors: -errno of the system calls; -EACCES where the
 * file is not a regular one, or not of the required owner or name.
 */
#ifndef KPROFS_SYS_PROCFILE_H
#define KPROFS_SYS_PROCFILE_H

#include <stdint.h>

#include "sys/proc_maps.h"

/*
 * `mounts`, where it is not NULL, says which file systems are entered: what lies on another one is
 * -EXDEV, found out without a request to whoever serves it.
 */

/*
 * What the process has mapped at these addresses, also if it has been deleted or replaced. path: what
 * it must be called (without a " (deleted)" of the kernel's), "" for anything.
 */
int procfile_open_mapped(const char *proc, const struct proc_maps *mounts, uint32_t pid,
	uint64_t start, uint64_t end, const char *path);

/* An absolute path below the root that the process sees, or (pid 0) this one's; links stay below. */
int procfile_open_path(const char *proc, const struct proc_maps *mounts, uint32_t pid,
	const char *path);

/* What is not known is 0. */
struct procfile_id {
	uint32_t dev_major, dev_minor; /* as perf and /proc/PID/maps tell the device of a mapping */
	uint64_t inode;
	uint64_t generation;
	uint64_t size;
	uint64_t mtime_ns; /* since 1970 */
};

/* Which file it is, as a mapping of it would be recorded. */
int procfile_identify(const char *proc, int fd, struct procfile_id *id);

/* The running kernel's symbols; their addresses are 0 if they are hidden from us. */
int procfile_open_kernel(const char *proc);

/*
 * /tmp/perf-PID.map below the process's root, with the pid that the process itself knows: no link on
 * the way, the owner root or the process's user. Of a process that has ended: below this one's
 * root, the owner root or this one's user.
 */
int procfile_open_jit(const char *proc, const struct proc_maps *mounts, uint32_t pid);

/* Whether an open file lies on one of those file systems. Asks nobody. */
bool procfile_is_trusted(const struct proc_maps *mounts, int fd);

#endif
