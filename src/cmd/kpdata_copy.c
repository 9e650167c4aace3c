/* SPDX-License-Identifier: MIT */
/* Copies kpdata to a file while it grows: see kpdata_copy.h. */
#include "cmd/kpdata_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

#define READ_BYTES MIB /* the most that kpdata gives in one read */
#define READS_AT_ONCE 16

/* Creates a file that is deleted when it is closed. */
static int open_nameless(const char *folder)
{
	g_autofree char *path = g_build_filename(folder, ".kprof.XXXXXX", NULL);
	int fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int kpdata_copy_open(struct kpdata_copy *copy, const char *dir, const char *folder, struct err *err)
{
	g_autofree char *path = g_build_filename(dir, "kpdata", NULL);

	memset(copy, 0, sizeof(*copy));
	copy->file = -1;
	copy->buffer = g_malloc(READ_BYTES);
	copy->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (copy->fd < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	copy->file = open_nameless(folder);
	if (copy->file < 0)
		copy->file = open_nameless(g_get_tmp_dir());
	if (copy->file < 0)
		return err_set(err, -copy->file, "no temporary file in %s: %s", g_get_tmp_dir(),
			strerror(-copy->file));
	return 0;
}

static int store(struct kpdata_copy *copy, size_t size, struct err *err)
{
	const char *from = copy->buffer;

	while (size) {
		ssize_t n = write(copy->file, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "the temporary file: %s", strerror(errno));
		from += n;
		size -= (size_t)n;
		copy->size += (uint64_t)n;
	}
	return 0;
}

int kpdata_copy_read(struct kpdata_copy *copy, struct err *err)
{
	int ret = 0, reads = 0;

	copy->ended = false;
	while (!ret && reads++ < READS_AT_ONCE) {
		ssize_t n = read(copy->fd, copy->buffer, READ_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return err_set(err, errno, "kpdata: %s", strerror(errno));
		copy->ended = n == 0;
		if (!n)
			return 0;
		ret = store(copy, (size_t)n, err);
	}
	return ret;
}

void kpdata_copy_close(struct kpdata_copy *copy)
{
	if (!copy->buffer)
		return;
	g_clear_pointer(&copy->buffer, g_free);
	if (copy->fd >= 0)
		close(copy->fd);
	if (copy->file >= 0)
		close(copy->file);
}
