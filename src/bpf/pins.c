/* SPDX-License-Identifier: MIT */
/* A folder with pinned maps and links. */
#include "bpf/pins.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bpf/program.h"

struct pins {
	char *path;
	int folder; /* locked */
};

static int check_parent(const char *path, struct err *err)
{
	char copy[PATH_MAX];
	const char *parent;
	struct statfs fs;

	if (strlen(path) >= sizeof(copy) - PINS_NAME_MAX)
		return err_set(err, ENAMETOOLONG, "the name of the folder of kept events is too long");
	strcpy(copy, path);
	parent = dirname(copy);
	if (statfs(parent, &fs))
		return err_set(err, errno, "%s: %s", parent, strerror(errno));
	if (fs.f_type != BPF_FS_MAGIC)
		return err_set(err, EOPNOTSUPP,
			"%s is not in a bpf file system, which kept events need: choose a folder below "
			"/sys/fs/bpf; if none is mounted there: mount -t bpf bpf /sys/fs/bpf", parent);
	return 0;
}

static int open_folder(struct pins *pins, struct err *err)
{
	struct stat info;

	if (mkdir(pins->path, 0700) && errno != EEXIST)
		return err_set(err, errno, "%s can't be made: %s", pins->path, strerror(errno));
	pins->folder = open(pins->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (pins->folder < 0 || fstat(pins->folder, &info))
		return err_set(err, errno, "%s: %s", pins->path, strerror(errno));
	if (info.st_uid != geteuid() || info.st_mode & 077)
		return err_set(err, EPERM, "%s belongs to another user, or others may use it", pins->path);
	if (flock(pins->folder, LOCK_EX | LOCK_NB))
		return err_set(err, errno == EWOULDBLOCK ? EBUSY : errno,
			"another server keeps its events at %s", pins->path);
	return 0;
}

int pins_open(const char *path, struct pins **pins, struct err *err)
{
	struct pins *made = calloc(1, sizeof(*made));
	int ret = check_parent(path, err);

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the folder of kept events");
	made->folder = -1;
	made->path = strdup(path);
	if (!ret)
		ret = made->path ? open_folder(made, err) : err_set(err, ENOMEM, "there is no memory");
	if (ret)
		pins_close(made, false);
	else
		*pins = made;
	return ret;
}

void pins_close(struct pins *pins, bool remove)
{
	if (!pins)
		return;
	if (remove) {
		pins_remove_all(pins, "");
		rmdir(pins->path);
	}
	if (pins->folder >= 0)
		close(pins->folder);
	free(pins->path);
	free(pins);
}

static void make_path(const struct pins *pins, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", pins->path, name);
}

int pins_put(struct pins *pins, const char *name, int fd)
{
	char path[PATH_MAX];

	make_path(pins, name, path);
	if (unlink(path) && errno != ENOENT)
		return -errno;
	return bpf_obj_pin(fd, path);
}

int pins_get(struct pins *pins, const char *name, int *fd)
{
	char path[PATH_MAX];
	int got;

	make_path(pins, name, path);
	got = bpf_obj_get(path);
	if (got < 0)
		return got;
	*fd = got;
	return 0;
}

void pins_remove(struct pins *pins, const char *name)
{
	unlinkat(pins->folder, name, 0);
}

void pins_remove_all(struct pins *pins, const char *beginning)
{
	/* a program that is started meanwhile would keep the folder's lock */
	int copy = fcntl(pins->folder, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return;
	}
	rewinddir(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strncmp(entry->d_name, beginning, strlen(beginning)) == 0)
			unlinkat(pins->folder, entry->d_name, 0);
	closedir(dir);
}

int pins_look_at_map(int fd, struct pins_map *map)
{
	struct bpf_map_info info = { 0 };
	__u32 bytes = sizeof(info);
	/* descriptors of links and programs give other bytes, whose size is not that of a map's */
	int ret = bpf_obj_get_info_by_fd(fd, &info, &bytes);

	if (ret)
		return ret;
	*map = (struct pins_map){ info.type, info.key_size, info.value_size, info.max_entries,
		info.map_flags };
	return 0;
}

uint64_t pins_missed(int link)
{
	struct bpf_link_info info = { 0 };
	struct program_counts counts = { 0 };
	__u32 bytes = sizeof(info);
	uint64_t returns;
	int program;

	if (bpf_obj_get_info_by_fd(link, &info, &bytes))
		return 0;
	program = bpf_prog_get_fd_by_id(info.prog_id);
	if (program < 0)
		return 0;
	if (program_counts(program, &counts))
		counts.missed = 0;
	close(program);
	(void)program_link_missed(link, &returns); /* 0 if it is not told */
	return counts.missed + returns;
}
