/* SPDX-License-Identifier: MIT */
/* The kernel's tracepoints: see tracefs.h. */
#include "sys/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/lines.h"

/* Longer names exist neither in the kernel nor in a path. */
#define NAME_LENGTH_MAX 255

/* These three return a descriptor or -errno. */
static int open_dir(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* path, if tracefs is mounted there */
static int open_mounted(const char *path)
{
	struct statfs fs;
	int fd = open_dir(AT_FDCWD, path);

	if (fd < 0 || (!fstatfs(fd, &fs) && fs.f_type == TRACEFS_MAGIC))
		return fd;
	close(fd);
	return -ENOENT;
}

/* A mount that is attached to no directory and ends with its descriptor. */
static int open_detached(void)
{
	int context, mount;

	context = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (context < 0)
		return -errno;
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0)) {
		mount = -errno;
	} else {
		mount = syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
		mount = mount < 0 ? -errno : mount;
	}
	close(context);
	return mount;
}

int tracefs_open(const char *path, int *dirfd)
{
	int fd, why;

	if (path) {
		fd = why = open_dir(AT_FDCWD, path);
	} else {
		fd = why = open_mounted("/sys/kernel/tracing");
		if (fd < 0)
			fd = open_detached();
		/* of the two errors, the one that the administrator can change */
		if (why != -EACCES)
			why = fd;
		if (fd < 0)
			fd = open_mounted("/sys/kernel/debug/tracing");
	}
	if (fd < 0)
		return why;
	*dirfd = fd;
	return 0;
}

/* Names of systems and events: only characters that cannot leave the directory. */
static bool name_is_sane(const char *name)
{
	size_t i;

	for (i = 0; name[i]; i++) {
		char c = name[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
			c != '_' && c != '-')
			return false;
	}
	return i > 0 && i <= NAME_LENGTH_MAX;
}

/* The id of an event whose directory is `path` below dir. */
static int read_id(int dir, const char *path, uint64_t *id)
{
	char file[sizeof("events/") + 2 * (NAME_LENGTH_MAX + 1) + sizeof("id")], text[24];
	int ret;

	snprintf(file, sizeof(file), "%s/id", path);
	ret = lines_read_first(dir, file, text, sizeof(text));
	if (ret)
		return ret == -ENOTDIR ? -ENOENT : ret;
	return units_parse_u64(text, id) ? -EIO : 0;
}

int tracefs_event_id(int dirfd, const char *system, const char *name, uint64_t *id)
{
	char path[sizeof("events/") + 2 * (NAME_LENGTH_MAX + 1)];

	if (!name_is_sane(system) || !name_is_sane(name))
		return -ENOENT;
	snprintf(path, sizeof(path), "events/%s/%s", system, name);
	return read_id(dirfd, path, id);
}

struct tracefs_listing {
	/* only these, NULL for all; called first, since read_id() takes longer */
	bool (*wanted)(void *arg, const char *system, const char *name);
	int (*event)(void *arg, const char *system, const char *name);
	void *arg;
};

/* These two take ownership of the descriptor of the directory that they list. */
static int list_system(int fd, const char *system, const struct tracefs_listing *listing)
{
	struct dirent *entry;
	int ret = 0;
	uint64_t id;
	DIR *dir;

	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!ret && (entry = readdir(dir))) {
		/* `enable` and `filter`, plain files, are in the same directory */
		if (entry->d_type != DT_DIR || !name_is_sane(entry->d_name))
			continue;
		if (listing->wanted && !listing->wanted(listing->arg, system, entry->d_name))
			continue;
		/*
		 * without an id it is no event of perf: most of `ftrace` are formats of tracers'
		 * output
		 */
		if (!read_id(fd, entry->d_name, &id))
			ret = listing->event(listing->arg, system, entry->d_name);
	}
	closedir(dir);
	return ret;
}

static int list_systems(int events, const struct tracefs_listing *listing)
{
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	dir = fdopendir(events);
	if (!dir) {
		close(events);
		return -ENOMEM;
	}
	while (!ret && (entry = readdir(dir))) {
		int fd;

		if (entry->d_type != DT_DIR || !name_is_sane(entry->d_name))
			continue;
		fd = open_dir(events, entry->d_name);
		ret = fd < 0 ? 0 : list_system(fd, entry->d_name, listing);
	}
	closedir(dir);
	return ret;
}

static int list(int dirfd, const char *system, const struct tracefs_listing *listing)
{
	int fd, events = open_dir(dirfd, "events");

	if (events < 0)
		return events;
	fd = system && name_is_sane(system) ? open_dir(events, system) : -ENOENT;
	if (fd < 0)
		return list_systems(events, listing);
	close(events);
	return list_system(fd, system, listing);
}

int tracefs_list(int dirfd, const char *system,
	int (*event)(void *arg, const char *system, const char *name), void *arg)
{
	const struct tracefs_listing listing = { .event = event, .arg = arg };

	return list(dirfd, system, &listing);
}

/* "SYSTEM:NAME"; "", which is near no name, if it is too long */
static void name_event(char *text, size_t size, const char *system, const char *name)
{
	const int n = snprintf(text, size, "%s:%s", system, name);

	if (n < 0 || (size_t)n >= size)
		text[0] = '\0';
}

static bool is_near(void *arg, const char *system, const char *name)
{
	char text[NEAREST_NAME_MAX];

	name_event(text, sizeof(text), system, name);
	return nearest_wants(arg, text);
}

static int offer(void *arg, const char *system, const char *name)
{
	char text[NEAREST_NAME_MAX];

	name_event(text, sizeof(text), system, name);
	nearest_offer(arg, text);
	return 0;
}

int tracefs_nearest(int dirfd, const char *system, struct nearest *nearest)
{
	const struct tracefs_listing listing = { is_near, offer, nearest };

	return list(dirfd, system, &listing);
}
