/* SPDX-License-Identifier: MIT */
/* The mount table: see mounts.h. proc(5) has the formats; of mountinfo, word 3 is MAJOR:MINOR. */
#include "sys/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/units.h"

/* A line has a directory and options, each at most a page. */
#define LINE_BYTES (16 * KIB)

int mounts_find(const char *path, const char *type, int (*mount)(void *arg, const char *dir),
	void *arg)
{
	FILE *file = setmntent(path ? path : "/proc/self/mounts", "re");
	char line[LINE_BYTES];
	struct mntent entry;
	int ret = 0;

	if (!file)
		return -errno;
	while (ret == 0 && getmntent_r(file, &entry, line, sizeof(line))) {
		if (strcmp(entry.mnt_type, type) == 0)
			ret = mount(arg, entry.mnt_dir);
	}
	endmntent(file);
	return ret;
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
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	FILE *file;
	int copy;

	copy = dup(fd);
	if (copy < 0)
		return -errno;
	file = fdopen(copy, "r");
	if (!file || fseek(file, 0, SEEK_SET)) {
		int ret = -errno;

		if (file)
			fclose(file);
		else
			close(copy);
		return ret;
	}
	while (!found && getline(&line, &size, file) > 0)
		found = sscanf(line, "%*u %*u %u:%u ", &major_found, &minor_found) == 2 &&
			makedev(major_found, minor_found) == device;
	free(line);
	fclose(file);
	*present = found;
	return 0;
}

int mounts_detach(const char *dir)
{
	return umount2(dir, MNT_DETACH | UMOUNT_NOFOLLOW) ? -errno : 0;
}
