/* SPDX-License-Identifier: MIT */
/*
 * silent_fuse MOUNTPOINT WORD...: a file system with one file, MOUNTPOINT/file, of 1 MiB, whose server
 * never answers the requests that are named: open, read, write, flush, release. It answers all others.
 * The word writeback asks the kernel to keep what is written. In the foreground, until it is unmounted
 * or killed.
 *
 * A process that waits for an answer can't be killed while this program lives. As root it mounts with
 * allow_other.
 */
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "file"
#define FILE_INO 2
#define FILE_BYTES (1 << 20)

struct silence {
	int count;
	char **words;
};

static bool has_word(fuse_req_t req, const char *word)
{
	const struct silence *silence = fuse_req_userdata(req);

	for (int i = 0; i < silence->count; i++)
		if (!strcmp(silence->words[i], word))
			return true;
	return false;
}

static struct stat attributes_of(fuse_ino_t ino)
{
	struct stat st = { .st_ino = ino };

	if (ino == FILE_INO) {
		st.st_mode = S_IFREG | 0666;
		st.st_nlink = 1;
		st.st_size = FILE_BYTES;
	} else {
		st.st_mode = S_IFDIR | 0755;
		st.st_nlink = 2;
	}
	return st;
}

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
	const struct silence *silence = userdata;

	for (int i = 0; i < silence->count; i++)
		if (!strcmp(silence->words[i], "writeback"))
			connection->want |= connection->capable & FUSE_CAP_WRITEBACK_CACHE;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = { .ino = FILE_INO, .attr_timeout = 1e6, .entry_timeout = 1e6 };

	if (parent != FUSE_ROOT_ID || strcmp(name, FILE_NAME) != 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	entry.attr = attributes_of(FILE_INO);
	fuse_reply_entry(req, &entry);
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct stat st = attributes_of(ino);

	fuse_reply_attr(req, &st, 1e6);
}

static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attributes, int to_set,
	struct fuse_file_info *fi)
{
	on_getattr(req, ino, fi);
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (!has_word(req, "open"))
		fuse_reply_open(req, fi);
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	static const char zeros[FILE_BYTES];

	if (has_word(req, "read"))
		return;
	if (offset < 0 || offset >= FILE_BYTES)
		size = 0;
	else if (size > (size_t)(FILE_BYTES - offset))
		size = (size_t)(FILE_BYTES - offset);
	fuse_reply_buf(req, zeros, size);
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	if (!has_word(req, "write"))
		fuse_reply_write(req, size);
}

static void on_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (!has_word(req, "flush"))
		fuse_reply_err(req, 0);
}

static void on_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (!has_word(req, "release"))
		fuse_reply_err(req, 0);
}

static const struct fuse_lowlevel_ops operations = {
	.init = on_init,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.open = on_open,
	.read = on_read,
	.write = on_write,
	.flush = on_flush,
	.release = on_release,
};

int main(int argc, char **argv)
{
	struct silence silence = { argc - 2, argv + 2 };
	char *words[] = { argv[0], (char *)"-osubtype=silent", (char *)"-oallow_other", NULL };
	struct fuse_args arguments = FUSE_ARGS_INIT(geteuid() ? 2 : 3, words);
	struct fuse_session *session;
	int ret;

	if (argc < 2) {
		fprintf(stderr, "usage: silent_fuse MOUNTPOINT WORD...\n");
		return 2;
	}
	session = fuse_session_new(&arguments, &operations, sizeof(operations), &silence);
	if (!session || fuse_session_mount(session, argv[1]))
		return 1;
	fuse_set_signal_handlers(session);
	ret = fuse_session_loop(session);
	fuse_session_unmount(session);
	fuse_remove_signal_handlers(session);
	fuse_session_destroy(session);
	return ret ? 1 : 0;
}
