/* SPDX-License-Identifier: MIT */
/*
 * Opens files that other processes chose, for reading: regular files only. The type is checked
 * before the file is opened, so that no device, FIFO or terminal is affected. The returned
 * descriptor is O_CLOEXEC and the caller's. Thread-safe. Blocks as long as the file's file system
 * does: callers must be able to be killed.
 *
 * `proc` is where /proc is mounted, for tests. Errors: -errno of the system calls; -EACCES if the
 * file is not a regular one, or not of the required owner or name.
 */
#ifndef KPROFS_SYS_PROCFILE_H
#define KPROFS_SYS_PROCFILE_H

#include <stdint.h>

#include "sys/proc_maps.h"

/*
 * `mounts`, if not NULL, has the file systems that are entered: a file on another one is -EXDEV,
 * found without a request to its server.
 */

/*
 * The file that the process has mapped at these addresses, also if it has been deleted or
 * replaced. path: its required path (without the kernel's " (deleted)"), "" for any.
 */
int procfile_open_mapped(const char *proc, const struct proc_maps *mounts, uint32_t pid,
	uint64_t start, uint64_t end, const char *path);

/* An absolute path below the root of the process, or (pid 0) of this one; links stay below it. */
int procfile_open_path(const char *proc, const struct proc_maps *mounts, uint32_t pid,
	const char *path);

/* Unknown members are 0. */
struct procfile_id {
	/* as perf and /proc/PID/maps report the device of a mapping */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint64_t generation;
	uint64_t size;
	uint64_t mtime_ns; /* since 1970 */
};

/* The identity of a file, as a mapping of it would be recorded. */
int procfile_identify(const char *proc, int fd, struct procfile_id *id);

/* The running kernel's symbols; their addresses are 0 if they are hidden from this process. */
int procfile_open_kernel(const char *proc);

/*
 * /tmp/perf-PID.map below the process's root, with the pid in the process's own namespace: no
 * links in the path, the owner is root or the process's user. For a process that has ended: below
 * this one's root, the owner is root or this one's user.
 *
 * If dump is not "", it is the path of the file that is opened instead, under the same rules; its
 * name must be jit-PID.dump with that pid.
 */
int procfile_open_jit(const char *proc, const struct proc_maps *mounts, uint32_t pid,
	const char *dump);

/* Whether an open file is on one of those file systems. Sends no request to a file server. */
bool procfile_is_trusted(const struct proc_maps *mounts, int fd);

#endif
