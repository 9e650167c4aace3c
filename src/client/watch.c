/* SPDX-License-Identifier: MIT */
/* Waiting for a server's socket to appear, by inotify. Used by the helper thread only. */
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define APPEARS (IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

/* Watches the directory of the socket or, if it does not exist, its parent. */
static int watch_path(int fd, const char *path)
{
	char dir[108];

	strcpy(dir, path);
	if (!cut_last(dir))
		return -EINVAL;
	if (inotify_add_watch(fd, dir, APPEARS) >= 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	if (!cut_last(dir) || inotify_add_watch(fd, dir, APPEARS) < 0)
		return -ENOENT;
	return 0;
}

/* The line of fdinfo that identifies the watch. "" if it cannot be read. */
static void read_info(int fd, char *info, size_t bytes)
{
	char path[48];
	ssize_t got = -1;
	int at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	at = open(path, O_RDONLY | O_CLOEXEC);
	if (at >= 0) {
		got = read(at, info, bytes - 1);
		close(at);
	}
	info[got > 0 ? got : 0] = '\0';
	/* watches may have been removed; the inode of the first one does not change */
	if (!strstr(info, "inotify wd:"))
		info[0] = '\0';
}

static bool is_ours(const struct watch *watch)
{
	char now[sizeof(watch->info)];

	if (!own_fd_is_ours(&watch->inotify))
		return false;
	read_info(watch->inotify.fd, now, sizeof(now));
	return now[0] && strcmp(now, watch->info) == 0;
}

int watch_start(struct watch *watch, const struct client_path *paths, int count)
{
	int fd, error = 0;

	if (watch->inotify.fd < 0) {
		fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (fd < 0)
			return -errno;
		error = own_fd_take(&watch->inotify, fd);
		if (error)
			return error;
	} else if (!is_ours(watch)) {
		watch->inotify.fd = -1;
		return watch_start(watch, paths, count);
	}
	for (int i = 0; i < count; i++) {
		int one = attach_may_look(&paths[i]) ? watch_path(watch->inotify.fd, paths[i].text)
						     : 0;

		error = error ? error : one;
	}
	read_info(watch->inotify.fd, watch->info, sizeof(watch->info));
	if (!watch->info[0]) { /* without it our descriptor could not be recognized later */
		own_fd_close(&watch->inotify);
		return -ENOENT;
	}
	return error;
}

bool watch_drain(struct watch *watch)
{
	char events[1024] __attribute__((aligned(8)));

	if (!is_ours(watch)) {
		watch->inotify.fd = -1;
		return false;
	}
	while (read(watch->inotify.fd, events, sizeof(events)) > 0)
		;
	return true;
}

void watch_stop(struct watch *watch)
{
	if (watch->inotify.fd >= 0 && is_ours(watch))
		own_fd_close(&watch->inotify);
	watch->inotify.fd = -1;
}
