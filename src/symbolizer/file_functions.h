/* SPDX-License-Identifier: MIT */
/*
 * The functions of a program or library whose names match a pattern, with the offsets of their first
 * bytes in its file. Any user may have written the file: the helpers open and parse it (symbols.h).
 */
#ifndef KPROFS_SYMBOLIZER_FILE_FUNCTIONS_H
#define KPROFS_SYMBOLIZER_FILE_FUNCTIONS_H

#include "base/err.h"
#include "symbolizer/helpers.h"
#include "symbolizer/proto.h"

struct file_functions_query {
	const char *path;    /* absolute */
	const char *pattern; /* with * and ? */
	uint32_t flags;	     /* PROTO_STATIC_PROBES, PROTO_OBJECTS: not of functions only */
	uint32_t pid;	     /* below whose root the path is; 0: below that of this process */
	int (*each)(void *arg, const struct proto_found *found);
	void *arg;
};

/*
 * Opens the file, and calls each() for its functions until it returns other than 0; one that is in both
 * symbol tables comes twice. *fd is the file that was read, which the caller closes. Some 10 ms, and at
 * most some seconds. Returns the value of each() if it is not 0, or with the sentence -EXDEV for a file
 * of a file system that a user serves (FUSE), which could be this server's own mount, -EINVAL for what
 * is no ELF file, -E2BIG, -ETIMEDOUT, -EIO if a helper failed, or what open(2) says. Only after 0, and
 * after a value of each(), there is a descriptor.
 */
int file_functions(struct helpers *helpers, const struct file_functions_query *query, int *fd,
	struct err *err);

#endif
