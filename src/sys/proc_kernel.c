/* SPDX-License-Identifier: MIT */
/* The kernel's own text and modules: see proc.h. */
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/buildid.h"
#include "sys/lines.h"

/* Notes are some hundred bytes; lines of kallsyms and modules less than 1 KiB. */
#define BUFFER_BYTES 65536

static uint8_t read_build_id(const char *path, unsigned char *build_id, unsigned char *buf)
{
	size_t size = 0;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (size < BUFFER_BYTES && (n = read(fd, buf + size, BUFFER_BYTES - size)) > 0)
		size += n;
	close(fd);
	return buildid_in_notes(buf, size, build_id);
}

/* The name in a line "ADDRESS TYPE NAME", for modules "[MODULE]" behind it; NULL if it is another one. */
static char *parse_symbol(char *line, unsigned long long *address)
{
	char *name;

	*address = strtoull(line, &name, 16);
	return name[0] != ' ' || !name[1] || name[2] != ' ' ? NULL : name + 3;
}

/* Hidden addresses are 0. */
static void read_text_range(const char *path, bool to_end, struct proc_kernel *kernel, char *buf)
{
	unsigned long long address, start = 0, end = 0;
	struct lines lines;
	char *line, *name;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	lines_init(&lines, fd, buf, BUFFER_BYTES);
	while (!(start && (end || !to_end)) && (line = lines_next(&lines))) {
		name = parse_symbol(line, &address);
		if (!name)
			continue;
		if (!strcmp(name, "_stext")) {
			if (!address)
				break; /* the others are hidden as well */
			start = address;
		}
		if (!strcmp(name, "_etext"))
			end = address;
	}
	close(fd);
	if (start && (end > start || !to_end)) {
		kernel->start = start;
		kernel->size = to_end ? end - start : 0;
	}
}

static int read_kernel(const char *proc, const char *sys, bool to_end, struct proc_kernel *kernel)
{
	char path[PATH_MAX];
	char *buf = malloc(BUFFER_BYTES);

	if (!buf)
		return -ENOMEM;
	memset(kernel, 0, sizeof(*kernel));
	if (snprintf(path, sizeof(path), "%s/kernel/notes", sys ? sys : "/sys") < PATH_MAX)
		kernel->build_id_length =
			read_build_id(path, kernel->build_id, (unsigned char *)buf);
	if (snprintf(path, sizeof(path), "%s/kallsyms", proc ? proc : "/proc") < PATH_MAX)
		read_text_range(path, to_end, kernel, buf);
	free(buf);
	return 0;
}

int proc_kernel(const char *proc, const char *sys, struct proc_kernel *kernel)
{
	return read_kernel(proc, sys, true, kernel);
}

int proc_kernel_identity(const char *proc, const char *sys, struct proc_kernel *kernel)
{
	return read_kernel(proc, sys, false, kernel);
}

int proc_kernel_symbols(
	const char *proc, void (*symbol)(void *arg, uint64_t address, const char *name), void *arg)
{
	unsigned long long address;
	char path[PATH_MAX];
	struct lines lines;
	char *line, *name, *buf;
	int fd;

	if (snprintf(path, sizeof(path), "%s/kallsyms", proc ? proc : "/proc") >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	buf = malloc(BUFFER_BYTES);
	if (!buf) {
		close(fd);
		return -ENOMEM;
	}
	lines_init(&lines, fd, buf, BUFFER_BYTES);
	while ((line = lines_next(&lines))) {
		name = parse_symbol(line, &address);
		if (!name || strchr(name, '['))
			break; /* the symbols of modules are behind those of the kernel */
		if (address)
			symbol(arg, address, name);
	}
	free(buf);
	close(fd);
	return 0;
}

/* Longer than any module's name, which the kernel bounds at 56 bytes. */
#define MODULE_NAME_MAX 64

/* "NAME SIZE REFERENCES USERS STATE 0xADDRESS [TAINTS]"; returns false if the address is hidden. */
static bool parse_module(const char *line, char *name, struct proc_module *module)
{
	unsigned long long size, address;

	/* the width is MODULE_NAME_MAX - 1 */
	if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &address) != 3 || !address ||
		!size || strchr(name, '/'))
		return false;
	module->name = name;
	module->start = address;
	module->size = size;
	return true;
}

int proc_modules(const char *proc, const char *sys,
	int (*module)(void *arg, const struct proc_module *module), void *arg)
{
	unsigned char build_id[PROC_BUILD_ID_MAX];
	char path[PATH_MAX], name[MODULE_NAME_MAX];
	struct lines lines;
	char *buf, *line;
	int fd, ret = 0;

	if (snprintf(path, sizeof(path), "%s/modules", proc ? proc : "/proc") >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	buf = malloc(2 * BUFFER_BYTES); /* lines in the first half, notes in the second */
	if (!buf) {
		close(fd);
		return -ENOMEM;
	}
	lines_init(&lines, fd, buf, BUFFER_BYTES);
	while (!ret && (line = lines_next(&lines))) {
		struct proc_module found = { .build_id = build_id };

		if (!parse_module(line, name, &found))
			continue;
		if (snprintf(path, sizeof(path), "%s/module/%s/notes/.note.gnu.build-id",
			    sys ? sys : "/sys", name) < PATH_MAX)
			found.build_id_length = read_build_id(path, build_id,
				(unsigned char *)buf + BUFFER_BYTES);
		ret = module(arg, &found);
	}
	free(buf);
	close(fd);
	return ret;
}
