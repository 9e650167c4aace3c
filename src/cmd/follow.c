/* SPDX-License-Identifier: MIT */
/* kpdata as it comes: see follow.h. */
#include "cmd/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

#define READ_BYTES MIB /* as much as kpdata gives at once */
#define READS_AT_ONCE 16

/* A file that is gone when it is closed. */
static int open_nameless(const char *folder)
{
	g_autofree char *path = g_build_filename(folder, ".kprof.XXXXXX", NULL);
	int fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int follow_open(struct follow *follow, const char *dir, const char *folder, struct err *err)
{
	g_autofree char *path = g_build_filename(dir, "kpdata", NULL);

	memset(follow, 0, sizeof(*follow));
	follow->file = -1;
	follow->buffer = g_malloc(READ_BYTES);
	follow->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (follow->fd < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	follow->file = open_nameless(folder);
	if (follow->file < 0)
		follow->file = open_nameless(g_get_tmp_dir());
	if (follow->file < 0)
		return err_set(err, -follow->file, "no temporary file in %s: %s", g_get_tmp_dir(),
			strerror(-follow->file));
	return 0;
}

static int store(struct follow *follow, size_t size, struct err *err)
{
	const char *from = follow->buffer;

	while (size) {
		ssize_t n = write(follow->file, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "the temporary file: %s", strerror(errno));
		from += n;
		size -= (size_t)n;
		follow->size += (uint64_t)n;
	}
	return 0;
}

int follow_read(struct follow *follow, struct err *err)
{
	int ret = 0, reads = 0;

	follow->ended = false;
	while (!ret && reads++ < READS_AT_ONCE) {
		ssize_t n = read(follow->fd, follow->buffer, READ_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return err_set(err, errno, "kpdata: %s", strerror(errno));
		follow->ended = n == 0;
		if (!n)
			return 0;
		ret = store(follow, (size_t)n, err);
	}
	return ret;
}

void follow_close(struct follow *follow)
{
	if (!follow->buffer)
		return;
	g_clear_pointer(&follow->buffer, g_free);
	if (follow->fd >= 0)
		close(follow->fd);
	if (follow->file >= 0)
		close(follow->file);
}
