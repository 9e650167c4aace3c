/* SPDX-License-Identifier: MIT */
/*
 * Unnamed files in memory (memfd_create(2)) and their seals (fcntl(2)).
 *
 * Any thread. Nothing blocks: seals are read from the inode, without a request to a FUSE server.
 */
#ifndef KPROFS_SYS_MEMFILE_H
#define KPROFS_SYS_MEMFILE_H

#include <stdbool.h>

/* Both return a descriptor with close-on-exec, or -errno. `name` is shown in /proc/PID/fd only. */
int memfile_create(const char *name);
int memfile_create_sealable(const char *name);

/* Makes the size and the bytes unchangeable. Returns 0, or -errno if it is not a sealable memfd. */
int memfile_freeze(int fd);

/*
 * Returns whether the bytes cannot change and the file cannot shrink, so that a mapping never
 * raises SIGBUS.
 */
bool memfile_is_frozen(int fd);

/* Returns whether the file cannot shrink and no further seals can be set. Its bytes may change. */
bool memfile_cannot_shrink(int fd);

/*
 * Returns whether the file has seals, so that it is in memory (memfd, hugetlb) and closing it does
 * not block.
 */
bool memfile_has_seals(int fd);

#endif
