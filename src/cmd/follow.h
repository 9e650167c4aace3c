/* SPDX-License-Identifier: MIT */
/*
 * kpdata, taken down into a file as it comes, so that a long run never fills what the server holds.
 * One thread at a time.
 */
#ifndef KPROFS_CMD_FOLLOW_H
#define KPROFS_CMD_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct follow {
	int fd;	       /* of kpdata; readable: follow_read() has something to do */
	int file;      /* a file without a name, the caller's to read */
	uint64_t size; /* its bytes */
	bool ended;    /* kpdata is at its end: the profiler does not run */
	char *buffer;
};

/* The file lies in this folder, or where temporary files do. -errno of open(2). */
int follow_open(struct follow *follow, const char *dir, const char *folder, struct err *err);

/* Takes what is there, up to a bound: poll(2) again. -errno of read(2), write(2). */
int follow_read(struct follow *follow, struct err *err);

/* Harmless for one that is zeroed. */
void follow_close(struct follow *follow);

#endif
