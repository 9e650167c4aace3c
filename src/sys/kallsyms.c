/* SPDX-License-Identifier: MIT */
/* Functions of the running kernel by name. */
#include "sys/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/tracefs.h"

/* A name of the kernel has at most 512 characters. */
#define LINE_MAX_BYTES 1024

/* "ffffffff81000000 T name" or "ffffffffc0000000 t name\t[module]" */
static bool parse_line(char *line, const char *name, char module[KALLSYMS_MODULE_MAX])
{
	char *type = strchr(line, ' '), *found, *end;
	size_t bytes;

	if (!type || !type[1] || type[2] != ' ' || !strchr("tTwW", type[1]))
		return false;
	found = type + 3;
	end = found + strcspn(found, "\t\n");
	if (strncmp(found, name, (size_t)(end - found)) != 0 || name[end - found])
		return false;
	module[0] = '\0';
	if (end[0] == '\t' && end[1] == '[') {
		bytes = strcspn(end + 2, "]\n");
		if (bytes >= KALLSYMS_MODULE_MAX)
			return false;
		memcpy(module, end + 2, bytes);
		module[bytes] = '\0';
	}
	return true;
}

int kallsyms_find(const char *path, const char *name, char module[KALLSYMS_MODULE_MAX])
{
	FILE *file = fopen(path ? path : "/proc/kallsyms", "re");
	char line[LINE_MAX_BYTES];
	int ret = -ENOENT;

	if (!file)
		return -errno;
	while (ret && fgets(line, sizeof(line), file))
		if (parse_line(line, name, module))
			ret = 0;
	fclose(file);
	return ret;
}

int kallsyms_address(const char *path, const char *name, uint64_t *address)
{
	FILE *file = fopen(path ? path : "/proc/kallsyms", "re");
	const size_t bytes = strlen(name);
	char line[LINE_MAX_BYTES], *found;
	int ret = -ENOENT;

	if (!file)
		return -errno;
	while (ret && fgets(line, sizeof(line), file)) {
		found = strchr(line, ' ');
		if (!found || !found[1] || found[2] != ' ' || strncmp(found + 3, name, bytes) != 0 ||
			!strchr("\t\n", found[3 + bytes]))
			continue;
		*address = strtoull(line, NULL, 16);
		ret = *address ? 0 : -ENOENT;
	}
	fclose(file);
	return ret;
}

int kallsyms_traceable(const char *name)
{
	char line[LINE_MAX_BYTES];
	size_t bytes = strlen(name);
	FILE *file;
	int dirfd, fd, ret = tracefs_open(NULL, &dirfd);

	if (ret)
		return ret;
	fd = openat(dirfd, "available_filter_functions", O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -errno : 0;
	close(dirfd);
	if (ret)
		return ret;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	ret = -ENOENT;
	/* the module follows a blank */
	while (ret && fgets(line, sizeof(line), file))
		if (strncmp(line, name, bytes) == 0 && strchr(" \n", line[bytes]))
			ret = 0;
	fclose(file);
	return ret;
}
