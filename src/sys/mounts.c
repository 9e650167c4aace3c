/* SPDX-License-Identifier: MIT */
/* The mount table: see mounts.h. proc(5) has the formats; of mountinfo, word 3 is MAJOR:MINOR. */
#include "sys/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/lines.h"

/* A line has a directory and options, each at most a page. */
#define LINE_BYTES (16 * KIB)

/* The option user_id of a FUSE mount. */
static uid_t owner_of(const struct mntent *entry)
{
	const char *option = hasmntopt(entry, "user_id");
	unsigned int owner;

	return option && sscanf(option, "user_id=%u", &owner) == 1 ? (uid_t)owner : (uid_t)-1;
}

int mounts_find(const char *path, const char *type,
	int (*mount)(void *arg, const char *dir, uid_t owner), void *arg)
{
	FILE *file = setmntent(path ? path : "/proc/self/mounts", "re");
	char line[LINE_BYTES];
	struct mntent entry;
	int ret = 0;

	if (!file)
		return -errno;
	while (ret == 0 && getmntent_r(file, &entry, line, sizeof(line))) {
		if (strcmp(entry.mnt_type, type) == 0 && strcmp(entry.mnt_fsname, MOUNTS_PRIVATE_SOURCE))
			ret = mount(arg, entry.mnt_dir, owner_of(&entry));
	}
	endmntent(file);
	return ret;
}

/* The last line with this directory is the mount that is visible. */
bool mounts_is_of_type(const char *dir, const char *type)
{
	FILE *file = setmntent("/proc/self/mounts", "re");
	char line[LINE_BYTES];
	struct mntent entry;
	bool is = false;

	if (!file)
		return false;
	while (getmntent_r(file, &entry, line, sizeof(line)))
		if (strcmp(entry.mnt_dir, dir) == 0)
			is = strcmp(entry.mnt_type, type) == 0;
	endmntent(file);
	return is;
}

int mounts_open(const char *path, int *fd)
{
	int f = open(path, O_RDONLY | O_CLOEXEC);

	if (f < 0)
		return -errno;
	*fd = f;
	return 0;
}

int mounts_has_device(int fd, dev_t device, bool *present)
{
	unsigned int major_found, minor_found;
	struct lines lines;
	char buf[LINE_BYTES], *line;
	bool found = false;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	lines_init(&lines, fd, buf, sizeof(buf));
	while (!found && (line = lines_next(&lines)))
		found = sscanf(line, "%*u %*u %u:%u ", &major_found, &minor_found) == 2 &&
			makedev(major_found, minor_found) == device;
	if (!found && lines.error)
		return lines.error;
	*present = found;
	return 0;
}

int mounts_detach(const char *dir)
{
	return umount2(dir, MNT_DETACH | UMOUNT_NOFOLLOW) ? -errno : 0;
}

/* ---- mounts whose server has exited ---------------------------------------------------------- */

static int detach_as_user(const char *dir)
{
	char *argv[] = { (char *)"fusermount3", (char *)"-u", (char *)"-z", (char *)"--", (char *)dir, NULL };
	int status, ret;
	pid_t child;

	ret = posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
	if (ret)
		return -ret;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status ? -EPERM : 0;
}

/*
 * link: of a descriptor in /proc. It names exactly this mount, even if others are mounted over
 * it.
 */
static int remove_dead(const char *link, const char *type)
{
	char dir[PATH_MAX];
	ssize_t n = readlink(link, dir, sizeof(dir) - 1);
	int fd;

	if (n < 0)
		return -errno;
	dir[n] = '\0';
	fd = open(link, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return 0; /* not an error: another process unmounted it first */
	}
	if (errno != ENOTCONN)
		return -errno;
	if (!mounts_is_of_type(dir, type))
		return -ENODEV;
	if (!umount2(link, MNT_DETACH))
		return 0;
	return errno == EPERM ? detach_as_user(dir) : -errno;
}

int mounts_remove_dead(const char *path, const char *type)
{
	int ret, fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char link[32];

	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ret = remove_dead(link, type);
	close(fd);
	return ret;
}
