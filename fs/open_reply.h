/* SPDX-License-Identifier: MIT */
/*
 * Replies to opens, and to reads of texts. From any thread.
 *
 * At the open of a text it is rendered (openfile_fill). Before the open is answered, its bytes are
 * stored in the page cache of its node (notify_store), which also tells the kernel its size. So
 * read, sendfile, splice and mmap find the whole text, and no READ request follows. A stream is
 * opened without a file position, and a file for writing without page cache.
 */
#ifndef KPROFS_FS_OPEN_REPLY_H
#define KPROFS_FS_OPEN_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"

struct fuse_req;
struct openfile;
struct filetext;

/*
 * Answers the open of a file that has been filled. Returns true if the kernel accepted the open and
 * has the caller's reference. Returns false if the open was interrupted; the caller then drops the
 * file.
 */
bool open_reply(struct fuse_req *req, struct openfile *file);

/*
 * Makes the bytes of a file's lazy text and answers the read with them, or with EINTR when
 * cancelled. The caller has a reference to the file. Blocks for as long as making them takes.
 */
void open_reply_lazy_read(struct fuse_req *req, struct openfile *file, uint64_t offset, size_t size,
	const struct cancel *cancel);

/* Answers a read with bytes of a text; offset + size is at most the size of the text. */
void open_reply_read(struct fuse_req *req, struct filetext *text, size_t offset, size_t size);

#endif
