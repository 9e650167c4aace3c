/* SPDX-License-Identifier: MIT */
/* Executable mappings of one process: see proc_maps.h. */
#include "sys/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sys/lines.h"

/*
 * PROCMAP_QUERY as Linux 6.11 and later define it in <linux/fs.h>; spelled out because the headers
 * that this is built with may be older than the kernel that it runs on.
 */
struct map_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t query_addr;
	uint64_t vma_start;
	uint64_t vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_size;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t vma_name_size;
	uint32_t build_id_size;
	uint64_t vma_name_addr;
	uint64_t build_id_addr;
};

_Static_assert(sizeof(struct map_query) == 104, "the kernel's layout");

#define MAP_QUERY _IOWR('f', 17, struct map_query)
_Static_assert(MAP_QUERY == PROC_MAPS_QUERY, "what a filter lets pass");
#define MAP_QUERY_EXECUTABLE 0x04
#define MAP_QUERY_COVERING_OR_NEXT 0x10

/* perf's name for memory without a file, and for a path that does not fit. */
static const char name_anon[] = "//anon";
static const char name_too_long[] = "//toolong";

/* ---- file systems whose files may be read ---------------------------------------------------- */

/* File systems without a device whose pages come from this machine's memory and disks. */
static const char *const local_types[] = {
	"bcachefs", "btrfs", "devtmpfs", "erofs", "overlay", "ramfs", "rootfs", "tmpfs", "ubifs", "zfs",
};

/* File systems that only root mounts. */
static const char *const network_types[] = {
	"9p", "afs", "ceph", "cifs", "lustre", "nfs", "nfs4", "smb3", "virtiofs",
};

static bool is_among(const char *type, const char *const *types, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool type_is_trusted(const struct proc_maps *maps, const char *type)
{
	return is_among(type, local_types, COUNT(local_types)) ||
	       (maps->network && is_among(type, network_types, COUNT(network_types)));
}

bool proc_maps_trusts(const struct proc_maps *maps, uint32_t dev_major, uint32_t dev_minor)
{
	unsigned int i;

	if (dev_major)
		return true;
	for (i = 0; i < maps->device_count; i++)
		if (maps->devices[i] == dev_minor)
			return true;
	return false;
}

static void trust(struct proc_maps *maps, uint32_t dev_minor)
{
	if (maps->device_count < PROC_DEVICES_MAX && !proc_maps_trusts(maps, 0, dev_minor))
		maps->devices[maps->device_count++] = dev_minor;
}

/* A mount point with a blank or the like, which is written as \NNN, is left out. */
static void keep_point(struct proc_maps *maps, const char *point, size_t length)
{
	if (point[0] != '/' || length >= PROC_POINT_MAX || memchr(point, '\\', length) ||
		length + 1 > sizeof(maps->points) - maps->points_used)
		return;
	memcpy(maps->points + maps->points_used, point, length);
	maps->points[maps->points_used + length] = '\0';
	maps->points_used += length + 1;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS" */
static void take_mount(struct proc_maps *maps, char *line)
{
	unsigned int dev_major, dev_minor;
	char *type = strstr(line, " - "), *point;
	int length = 0;

	if (!type || sscanf(line, "%*u %*u %u:%u %*s %n", &dev_major, &dev_minor, &length) != 2 ||
		!length || line + length > type)
		return;
	point = line + length;
	type += 3;
	type[strcspn(type, " ")] = '\0';
	if (!dev_major && type_is_trusted(maps, type))
		trust(maps, dev_minor);
	if (proc_maps_trusts(maps, dev_major, dev_minor))
		keep_point(maps, point, strcspn(point, " "));
}

const char *proc_maps_mount_of(const struct proc_maps *maps, const char *path)
{
	const char *best = NULL;
	size_t at, length, longest = 0;

	for (at = 0; at < maps->points_used; at += length + 1) {
		const char *point = maps->points + at;

		length = strlen(point);
		if (strncmp(path, point, length) != 0 || length < longest)
			continue;
		if (length == 1) /* the root itself */
			best = path + 1;
		else if (path[length] == '/')
			best = path + length + 1;
		else
			continue;
		longest = length;
	}
	return best && *best ? best : NULL;
}

static void read_mounts(struct proc_maps *maps, const char *proc)
{
	char path[PATH_MAX];
	struct lines lines;
	struct stat root;
	char *line;
	int fd;

	maps->no_query = false;
	maps->device_count = 0;
	maps->points_used = 0;
	/*
	 * Our root, of whatever type: if it hangs, the machine does. In a chroot the mount table does not
	 * have the mount that it is on.
	 */
	if (!stat("/", &root)) {
		if (!major(root.st_dev))
			trust(maps, minor(root.st_dev));
		keep_point(maps, "/", 1);
	}
	if (snprintf(path, sizeof(path), "%s/self/mountinfo", proc) >= (int)sizeof(path))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	lines_init(&lines, fd, maps->buf, sizeof(maps->buf));
	while ((line = lines_next(&lines)))
		take_mount(maps, line);
	close(fd);
}

void proc_maps_init(struct proc_maps *maps, const char *proc)
{
	maps->network = false;
	read_mounts(maps, proc);
}

void proc_maps_init_network(struct proc_maps *maps, const char *proc)
{
	maps->network = true;
	read_mounts(maps, proc);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* maps writes a newline in a path as \012 and nothing else; the bytes shrink in place. */
static void decode_newlines(char *path)
{
	char *from = path, *to = path;

	while (*from) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* from the names in maps for memory without a file to those of perf's MMAP2 records */
static const char *name_mapping(const char *name)
{
	if (!name[0] || !strncmp(name, "[anon:", 6) || !strncmp(name, "[anon_shmem:", 12))
		return name_anon;
	return name;
}

/* ---- by query -------------------------------------------------------------------------------- */

/* Sets *q to the first executable mapping at or above the address. 0 or -errno. */
static int query_next(struct proc_maps *maps, int fd, uint64_t address, bool with_name,
	struct map_query *q)
{
	memset(q, 0, sizeof(*q));
	q->size = sizeof(*q);
	q->query_flags = MAP_QUERY_EXECUTABLE | MAP_QUERY_COVERING_OR_NEXT;
	q->query_addr = address;
	if (with_name) {
		q->vma_name_addr = (uintptr_t)maps->buf;
		q->vma_name_size = sizeof(maps->buf);
	}
	maps->buf[0] = '\0';
	return ioctl(fd, MAP_QUERY, q) ? -errno : 0;
}

static struct proc_mapping mapping_of(const struct proc_maps *maps, const struct map_query *q,
	const char *path)
{
	return (struct proc_mapping){
		.start = q->vma_start,
		.size = q->vma_end - q->vma_start,
		.offset = q->vma_offset,
		.inode = q->inode,
		.dev_major = q->dev_major,
		.dev_minor = q->dev_minor,
		.path = path,
		.build_id = maps->build_id,
		.build_id_known = true,
	};
}

int proc_maps_query(struct proc_maps *maps, int fd, uint64_t start, struct proc_mapping *found)
{
	struct map_query q;

	memset(&q, 0, sizeof(q));
	q.size = sizeof(q);
	q.query_addr = start;
	q.build_id_addr = (uintptr_t)maps->build_id;
	q.build_id_size = sizeof(maps->build_id);
	if (ioctl(fd, MAP_QUERY, &q))
		return -errno;
	if (q.vma_start != start || q.build_id_size > sizeof(maps->build_id))
		return -ENOENT;
	*found = mapping_of(maps, &q, "");
	found->build_id_length = (uint8_t)q.build_id_size;
	return 0;
}

/* The build-id of the mapping that begins at start; 0 if it has none. */
static uint8_t query_build_id(struct proc_maps *maps, int fd, uint64_t start)
{
	struct proc_mapping found;

	return proc_maps_query(maps, fd, start, &found) ? 0 : found.build_id_length;
}

static int read_by_query(struct proc_maps *maps, int fd, pid_t pid,
	int (*mapping)(void *arg, const struct proc_mapping *mapping), void *arg)
{
	struct map_query q;
	uint64_t address = 0;
	int ret;

	for (;;) {
		struct proc_mapping found;
		const char *name;

		ret = query_next(maps, fd, address, true, &q);
		name = maps->buf;
		if (ret == -ENAMETOOLONG) {
			ret = query_next(maps, fd, address, false, &q);
			name = name_too_long;
		}
		if (ret)
			return ret == -ENOTTY && !address ? ret : 0;
		if (q.vma_end <= address)
			return 0;
		address = q.vma_end;
		found = mapping_of(maps, &q, name_mapping(name));
		found.pid = pid;
		if (q.inode && proc_maps_trusts(maps, q.dev_major, q.dev_minor))
			found.build_id_length = query_build_id(maps, fd, q.vma_start);
		ret = mapping(arg, &found);
		if (ret)
			return ret;
	}
}

/* ---- by text --------------------------------------------------------------------------------- */

/* "START-END rwxp OFFSET MAJOR:MINOR INODE      PATH". false if not executable, or no such line. */
static bool parse_line(char *line, struct proc_mapping *found)
{
	unsigned long long start, end, offset, inode;
	unsigned int dev_major, dev_minor;
	char protection[5];
	int length = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &start, &end, protection, &offset,
		    &dev_major, &dev_minor, &inode, &length) != 7 ||
		end <= start || strlen(protection) != 4 || protection[2] != 'x')
		return false;
	line += length;
	line += strspn(line, " ");
	decode_newlines(line);
	/* a page of the kernel that is in every process, and in no record of perf */
	if (!strcmp(line, "[vsyscall]"))
		return false;
	found->start = start;
	found->size = end - start;
	found->offset = offset;
	found->inode = inode;
	found->dev_major = dev_major;
	found->dev_minor = dev_minor;
	found->path = name_mapping(line);
	return true;
}

static int read_by_text(struct proc_maps *maps, int fd, pid_t pid,
	int (*mapping)(void *arg, const struct proc_mapping *mapping), void *arg)
{
	struct lines lines;
	char *line;

	lines_init(&lines, fd, maps->buf, sizeof(maps->buf));
	while ((line = lines_next(&lines))) {
		struct proc_mapping found = { .pid = pid, .build_id = maps->build_id };
		int ret = parse_line(line, &found) ? mapping(arg, &found) : 0;

		if (ret)
			return ret;
	}
	return 0;
}

int proc_maps_read(struct proc_maps *maps, int fd, pid_t pid,
	int (*mapping)(void *arg, const struct proc_mapping *mapping), void *arg)
{
	int ret;

	if (!maps->no_query) {
		ret = read_by_query(maps, fd, pid, mapping, arg);
		if (ret != -ENOTTY)
			return ret;
		maps->no_query = true;
	}
	return read_by_text(maps, fd, pid, mapping, arg);
}
