/* SPDX-License-Identifier: MIT */
/* Replies to opens and reads of texts: see open_reply.h. */
#include "fs/open_reply.h"

#include <errno.h>
#include <linux/fuse.h>

#include "fs/dirtab.h"
#include "fs/filetext.h"
#include "fs/fuse_req.h"
#include "fs/lazy.h"
#include "fs/node.h"
#include "fs/openfile.h"

/*
 * Larger texts are not put into the page cache at open: only their last byte, for the size; the
 * kernel then requests the bytes that are read.
 */
#define STORE_MAX (1024 * 1024)

/* `size` bytes of a text at `offset`, as libfuse takes them. */
static struct fuse_bufvec text_buffer(const struct filetext *text, size_t offset, size_t size)
{
	struct fuse_bufvec content = FUSE_BUFVEC_INIT(size);

	if (text->lazy) {
		content.buf[0].mem = (void *)"\n"; /* not its byte: store_text() needs one byte at the end */
	} else if (text->bytes) {
		content.buf[0].mem = text->bytes + offset;
	} else {
		content.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
		content.buf[0].fd = text->fd;
		content.buf[0].pos = (off_t)offset;
	}
	return content;
}

/* Into the page cache of the node, which sets its size there; all of it, or its last byte. */
static int store_text(struct fuse_ops *ops, struct node *node, const struct filetext *text, bool whole)
{
	size_t from = whole || !text->size ? 0 : text->size - 1;
	struct fuse_bufvec content = text_buffer(text, from, text->size - from);

	if (!text->size)
		return 0;
	return fuse_lowlevel_notify_store(ops->session, ino_of(node), (off_t)from, &content, 0);
}

static void open_text(struct fuse_ops *ops, struct openfile *file, struct fuse_file_info *fi)
{
	enum node_text state = node_open_text(ops->server->nodes, file->node, file->content.text);
	bool whole = file->content.text->size <= STORE_MAX;

	file->counted = true;
	if (state == NODE_TEXT_OTHER) {
		fi->direct_io = 1; /* its own text by read(2); the page cache is the other one's */
		return;
	}
	if (state == NODE_TEXT_AGAIN) /* the earlier text's attributes are not this one's */
		fuse_lowlevel_notify_inval_inode(ops->session, ino_of(file->node), -1, 0);
	if (openfile_writes(file))
		fi->direct_io = 1;
	/* without keep_cache the kernel drops the page cache, including the bytes just stored */
	if (!store_text(ops, file->node, file->content.text, whole && state == NODE_TEXT_FIRST))
		fi->keep_cache = whole && state == NODE_TEXT_FIRST;
}

/* libfuse 3.14 has no name for FOPEN_STREAM, so the reply is not made with libfuse. */
static int reply_open_stream(struct fuse_req *req, struct openfile *file)
{
	const struct fuse_open_out out = {
		.fh = (uint64_t)(uintptr_t)file,
		.open_flags = FOPEN_STREAM | FOPEN_DIRECT_IO | FOPEN_NONSEEKABLE | FOPEN_NOFLUSH,
	};

	return fuse_reply_buf(req, (const char *)&out, sizeof(out));
}

bool open_reply(struct fuse_req *req, struct openfile *file)
{
	struct fuse_file_info fi = { .fh = (uint64_t)(uintptr_t)file };
	int ret;

	if (file->row->type == DIRTAB_STREAM) {
		ret = reply_open_stream(req, file);
	} else {
		if (file->content.text)
			open_text(fuse_req_userdata(req), file, &fi);
		else
			fi.direct_io = 1;
		fi.noflush = !file->writer;
		ret = fuse_reply_open(req, &fi);
	}
	if (ret)
		openfile_leave_node(file);
	return ret == 0;
}

void open_reply_lazy_read(struct fuse_req *req, struct openfile *file, uint64_t offset, size_t size,
	const struct cancel *cancel)
{
	g_autoptr(GString) bytes = g_string_sized_new(size);
	/*
	 * also if it was cancelled already: the read is repeated, and more of the text is then
	 * ready
	 */
	int ret = lazy_read(file->content.text->lazy, offset, size, bytes, cancel);

	if (ret)
		fuse_reply_err(req, -ret);
	else
		fuse_reply_buf(req, bytes->str, bytes->len);
}

/* After the reply the program may close the file: the text is kept until libfuse is done with it. */
void open_reply_read(struct fuse_req *req, struct filetext *text, size_t offset, size_t size)
{
	struct fuse_bufvec content = text_buffer(text, offset, size);

	filetext_get(text);
	fuse_reply_data(req, &content, 0);
	filetext_put(text);
}
