/* SPDX-License-Identifier: MIT */
/*
 * The GNU build-id of a file, from its ELF notes. The file may contain anything: the bytes read
 * are bounded, and each number in them is checked. Thread-safe. Reading blocks as long as the
 * file system does.
 */
#ifndef KPROFS_SYS_BUILDID_H
#define KPROFS_SYS_BUILDID_H

#include <stddef.h>
#include <stdint.h>

#include "sys/proc_maps.h"

/* Each build_id has PROC_BUILD_ID_MAX bytes. They return its length; 0 if there is none. */
uint8_t buildid_in_notes(const unsigned char *notes, size_t size, unsigned char *build_id);
/* Reads the build-id of an open file; does not depend on the file position. */
uint8_t buildid_of_file(int fd, unsigned char *build_id);

/* A mapping, as an MMAP2 record of perf describes it. */
struct buildid_mapping {
	uint32_t pid;
	uint64_t start, end; /* addresses */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint64_t time_ns; /* CLOCK_MONOTONIC, when it was made */
	const char *path;
};

/* What identifies the content of the mapped file; 0 if not known. */
struct buildid_content {
	uint64_t size;
	uint64_t mtime_ns; /* since 1970 */
};

/*
 * Finds the build-id of the mapped file: by its path among our own mounts, if it is that file and
 * has not changed since; otherwise by the mapping itself, while the process lives. `maps` must have
 * been initialised recently. Returns the length, 0 if the file has none, -EACCES if files of its
 * file system are not read (PROC_DEVICES_MAX), -ENOENT if it cannot be found any more, or -EAGAIN
 * if it has changed since. *content is known if the file was found by its path.
 */
int buildid_of_mapping(struct proc_maps *maps, const struct buildid_mapping *mapping,
	unsigned char *build_id, struct buildid_content *content);

#endif
