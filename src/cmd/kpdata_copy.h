/* SPDX-License-Identifier: MIT */
/*
 * Copies kpdata to a file while it grows, so that a long run never fills the server's memory. One
 * thread at a time.
 */
#ifndef KPROFS_CMD_KPDATA_COPY_H
#define KPROFS_CMD_KPDATA_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct kpdata_copy {
	int fd;        /* of kpdata; readable: call kpdata_copy_read() */
	int file;      /* an unlinked temporary file, which the caller may read */
	uint64_t size; /* its bytes */
	bool ended;    /* kpdata is at its end: the profiler is stopped */
	char *buffer;
};

/*
 * Creates the file in this folder, or in the one for temporary files if it is NULL. Returns -errno
 * of open(2).
 */
int kpdata_copy_open(
	struct kpdata_copy *copy, const char *dir, const char *folder, struct err *err);

/*
 * Copies the available bytes, up to a limit; the caller then calls poll(2) again. Returns -errno of
 * read(2) or write(2).
 */
int kpdata_copy_read(struct kpdata_copy *copy, struct err *err);

/* Does nothing for a zeroed struct. */
void kpdata_copy_close(struct kpdata_copy *copy);

#endif
