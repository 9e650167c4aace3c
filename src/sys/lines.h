/* SPDX-License-Identifier: MIT */
/*
 * The lines of a pseudo file, one after the other, in a buffer of the caller. One thread at a
 * time.
 */
#ifndef KPROFS_SYS_LINES_H
#define KPROFS_SYS_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct lines {
	int fd;
	char *buf;
	size_t size; /* of buf */
	size_t start; /* start of the next line */
	size_t end;   /* end of what has been read */
	bool skipping; /* inside a line that does not fit */
	int error;    /* 0 or the -errno that ended it */
};

/* The caller keeps the ownership of fd and buf. A line longer than size - 1 is skipped entirely. */
void lines_init(struct lines *lines, int fd, char *buf, size_t size);
/*
 * Returns the next line, NUL-terminated, without its newline, which the last line need not have.
 * The caller may write into it. It is valid until the next call. Returns NULL at the end and at an
 * error.
 */
char *lines_next(struct lines *lines);

/*
 * Reads the first line of a small file below the folder `dir` (AT_FDCWD for the working folder),
 * without its newline, cut to size - 1 bytes. Returns 0 or -errno of open(2) or read(2).
 */
int lines_read_first(int dir, const char *path, char *text, size_t size);

#endif
