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

/* From now on the size and the bytes cannot change. 0 or -errno: it is not a sealable memfd. */
int memfile_freeze(int fd);

/* The bytes cannot change and the file cannot shrink: a mapping never raises SIGBUS. */
bool memfile_is_frozen(int fd);

/* The file cannot shrink, and no further seals can be set. Its bytes may change. */
bool memfile_cannot_shrink(int fd);

/* The file has seals, so it is in memory (memfd, hugetlb): closing it does not block. */
bool memfile_has_seals(int fd);

#endif
