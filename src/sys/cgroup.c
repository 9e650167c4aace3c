/* SPDX-License-Identifier: MIT */
/* Control groups: see cgroup.h. proc(5) has the format of mountinfo. */
#include "sys/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/lines.h"
#include "sys/mounts.h"
#include "sys/proc.h"

/* A line has two paths and options, each at most a page. */
#define LINE_BYTES (16 * KIB)

/* Blanks and backslashes in a path of mountinfo are \OOO. In place. */
static void unescape(char *text)
{
	char *out = text;
	unsigned int byte;

	for (; *text; text++) {
		if (*text == '\\' && sscanf(text + 1, "%3o", &byte) == 1 && strlen(text) >= 4) {
			*out++ = (char)byte;
			text += 3;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

/* The root and the directory of a mount of cgroup2, within a line of mountinfo; false if it is another. */
static bool parse_line(char *line, char **root, char **dir)
{
	char *type = strstr(line, " - ");
	char *save, *word = NULL;
	int i;

	if (!type || strncmp(type + 3, "cgroup2 ", 8) != 0)
		return false;
	*type = '\0';
	word = strtok_r(line, " ", &save);
	for (i = 0; word && i < 3; i++)
		word = strtok_r(NULL, " ", &save);
	*root = word;
	*dir = word ? strtok_r(NULL, " ", &save) : NULL;
	if (!*dir)
		return false;
	unescape(*root);
	unescape(*dir);
	return true;
}

/* The path below a mount's root; NULL if it is not there. */
static const char *below(const char *root, const char *path)
{
	size_t length = strcmp(root, "/") ? strlen(root) : 0;

	if (strncmp(root, path, length) != 0 || (path[length] && path[length] != '/'))
		return NULL;
	return path + length;
}

/* A mount may be hidden by another one, which is no cgroup file system. */
static int open_dir(const char *dir, const char *rest, int *out)
{
	char path[2 * PATH_MAX];
	struct statfs fs;
	int fd, length = snprintf(path, sizeof(path), "%s%s", dir, rest);

	if (length < 0 || length >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC) {
		close(fd);
		return -ENOENT;
	}
	*out = fd;
	return 0;
}

static int find_dir(int mounts, const char *path, int *fd, bool *mounted)
{
	char buf[LINE_BYTES], *line, *root, *dir;
	struct lines lines;
	const char *rest;

	lines_init(&lines, mounts, buf, sizeof(buf));
	while ((line = lines_next(&lines))) {
		if (!parse_line(line, &root, &dir))
			continue;
		*mounted = true;
		rest = below(root, path);
		if (rest && open_dir(dir, rest, fd) == 0)
			return 0;
	}
	return lines.error ? lines.error : -ENOENT;
}

/* The number of parts of a path; -EINVAL if it is none of a cgroup. */
static int count_parts(const char *path, unsigned int *count, struct err *err)
{
	*count = 0;
	if (path[0] != '/')
		return err_set(err, EINVAL, "the path of a cgroup begins with '/'");
	while (*path) {
		size_t length = strcspn(path, "/");

		if ((length == 1 && path[0] == '.') || (length == 2 && path[0] == '.' && path[1] == '.'))
			return err_set(err, EINVAL, "the path of a cgroup has no part '.' or '..'");
		*count += length > 0;
		path += length;
		path += strspn(path, "/");
	}
	return 0;
}

int cgroup_open(const char *mounts, const char *path, int *fd, struct err *err)
{
	bool mounted = false;
	unsigned int parts;
	int table, ret = count_parts(path, &parts, err);

	if (ret)
		return ret;
	ret = mounts_open(mounts ? mounts : MOUNTS_PATH, &table);
	if (ret)
		return err_set(err, -ret, "the mount table can't be read: %s", strerror(-ret));
	ret = find_dir(table, path, fd, &mounted);
	close(table);
	if (ret && !mounted)
		return err_set(err, EOPNOTSUPP, "no cgroups of version 2 are mounted here");
	return ret ? err_set(err, -ret, "there is no cgroup of this path") : 0;
}

int cgroup_find(const char *mounts, const char *path, struct cgroup *cgroup, struct err *err)
{
	struct stat st;
	int fd, ret = cgroup_open(mounts, path, &fd, err);

	if (ret)
		return ret;
	ret = fstat(fd, &st) ? -errno : count_parts(path, &cgroup->level, err);
	close(fd);
	if (ret)
		return ret;
	if (!proc_in_first_cgroup_namespace(NULL))
		return err_set(err, EOPNOTSUPP, "the server is in a cgroup namespace of its own, where "
			"cgroups can't be compared");
	cgroup->id = st.st_ino;
	return 0;
}
