/* SPDX-License-Identifier: MIT */
/* Opens files that other processes chose: see procfile.h. */
#include "sys/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/units.h"

/*
 * A rename in the path makes openat2 return EAGAIN; a process that renames all the time is not
 * followed.
 */
#define OPEN_TRIES 16

/* /proc/PID/status has about 1,500 bytes; the needed lines are at its beginning. */
#define STATUS_BYTES 4096

/* Of a line of /proc/PID/maps: the part before the path has 80 bytes at most. */
#define MAPS_LINE_BYTES 256

/* A descriptor that only identifies the file (O_PATH). */
static int find_below(int root, const char *path, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
	};
	int tries, fd = -1;

	for (tries = 0; fd < 0 && tries < OPEN_TRIES; tries++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd < 0 && errno != EAGAIN)
			return -errno;
	}
	return fd < 0 ? -EAGAIN : fd;
}

static int find_at(int folder, const char *name, int flags)
{
	int fd = openat(folder, name, O_PATH | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

bool procfile_is_trusted(const struct proc_maps *mounts, int fd)
{
	struct statx st;

	/* only what the kernel has cached */
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
	       proc_maps_trusts(mounts, st.stx_dev_major, st.stx_dev_minor);
}

/*
 * An absolute path, below the mount point that leads to it, if that may be entered, and nowhere
 * else: a user's mount in the path is found without a request to its server.
 */
static int find_own(const struct proc_maps *mounts, const char *path)
{
	const char *below = proc_maps_mount_of(mounts, path);
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS,
	};
	char point[PROC_POINT_MAX];
	int folder, fd;

	if (!below)
		return -EXDEV;
	memcpy(point, path, (size_t)(below - path));
	point[below - path] = '\0';
	folder = find_at(AT_FDCWD, point, O_DIRECTORY);
	if (folder < 0)
		return folder;
	fd = (int)syscall(SYS_openat2, folder, below, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(folder);
	return fd;
}

/* Opens a path below the root of a process. */
static int find_of(const struct proc_maps *mounts, int root, const char *path, uint64_t resolve)
{
	if (mounts && !procfile_is_trusted(mounts, root))
		return -EXDEV;
	return find_below(root, path, resolve | (mounts ? RESOLVE_NO_XDEV : 0));
}

/* Opens the file of `found`, and closes `found`. */
static int open_found(const struct proc_maps *mounts, int found, const uid_t *owners,
	size_t owner_count)
{
	char name[64];
	struct stat st;
	bool right = !owner_count;
	size_t i;
	int fd;

	if (found < 0)
		return found;
	if (mounts && !procfile_is_trusted(mounts, found)) {
		close(found);
		return -EXDEV;
	}
	if (fstat(found, &st) != 0) {
		fd = -errno;
		close(found);
		return fd;
	}
	for (i = 0; i < owner_count; i++)
		right = right || st.st_uid == owners[i];
	if (!S_ISREG(st.st_mode) || !right) {
		close(found);
		return -EACCES;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		fd = -errno;
	close(found);
	return fd;
}

static int find_process(const char *proc, uint32_t pid)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/%" PRIu32, proc, pid);
	return find_at(AT_FDCWD, name, O_DIRECTORY);
}

/* Returns whether the link leads to a file with this path. */
static bool is_called(int folder, const char *link, const char *path)
{
	static const char deleted[] = " (deleted)";
	char target[PATH_MAX + sizeof(deleted)];
	ssize_t length = readlinkat(folder, link, target, sizeof(target));
	size_t end = sizeof(deleted) - 1, left = length > 0 ? (size_t)length : 0;

	if (left == strlen(path) && memcmp(target, path, left) == 0)
		return true;
	if (left <= end || memcmp(target + left - end, deleted, end) != 0)
		return false;
	left -= end;
	return left == strlen(path) && memcmp(target, path, left) == 0;
}

int procfile_open_mapped(const char *proc, const struct proc_maps *mounts, uint32_t pid,
	uint64_t start, uint64_t end, const char *path)
{
	int process = find_process(proc, pid), fd;
	char link[64];

	if (process < 0)
		return process;
	snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	if (*path && !is_called(process, link, path))
		fd = -EACCES;
	else
		fd = open_found(mounts, find_at(process, link, 0), NULL, 0);
	close(process);
	return fd;
}

/* Opens the root of the process, or of this one for process -1. */
static int find_root(int process)
{
	return process < 0 ? find_at(AT_FDCWD, "/", O_DIRECTORY)
			   : find_at(process, "root", O_DIRECTORY);
}

static int open_of(const char *proc, const struct proc_maps *mounts, uint32_t pid, const char *path)
{
	int process = find_process(proc, pid), root, fd;

	if (process < 0)
		return process;
	root = find_root(process);
	fd = root;
	if (root >= 0) {
		fd = open_found(mounts, find_of(mounts, root, path, 0), NULL, 0);
		close(root);
	}
	close(process);
	return fd;
}

int procfile_open_path(const char *proc, const struct proc_maps *mounts, uint32_t pid,
	const char *path)
{
	int root, fd;

	if (path[0] != '/')
		return -EINVAL;
	if (pid)
		return open_of(proc, mounts, pid, path);
	if (mounts)
		return open_found(mounts, find_own(mounts, path), NULL, 0);
	root = find_root(-1);
	fd = root;
	if (root >= 0) {
		fd = open_found(NULL, find_below(root, path, 0), NULL, 0);
		close(root);
	}
	return fd;
}

/* ---- identity of a file ---------------------------------------------------------------------- */

/* "START-END PROT OFFSET MAJOR:MINOR INODE": the line of /proc/PID/maps for the address. */
static int find_mapping(FILE *maps, uintptr_t address, struct procfile_id *id)
{
	char line[MAPS_LINE_BYTES];
	bool begins = true; /* a longer line comes in pieces */

	while (fgets(line, sizeof(line), maps)) {
		unsigned long long start, inode;
		unsigned int dev_major, dev_minor;

		if (begins && sscanf(line, "%llx-%*x %*s %*x %x:%x %llu", &start, &dev_major,
			&dev_minor, &inode) == 4 && start == address) {
			id->dev_major = dev_major;
			id->dev_minor = dev_minor;
			id->inode = inode;
			return 0;
		}
		begins = strchr(line, '\n') != NULL;
	}
	return -ENOENT;
}

/*
 * The device and inode in records of mappings are not those of stat(2) on every file system
 * (btrfs, overlayfs), so one mapping is made and looked up. Its memory is not accessed.
 */
static int read_mapped_id(const char *proc, int fd, struct procfile_id *id)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	char path[PATH_MAX];
	FILE *maps;
	int ret;

	if (mapped == MAP_FAILED)
		return -errno;
	snprintf(path, sizeof(path), "%s/self/maps", proc);
	maps = fopen(path, "re");
	ret = maps ? find_mapping(maps, (uintptr_t)mapped, id) : -errno;
	if (maps)
		fclose(maps);
	munmap(mapped, size);
	return ret;
}

int procfile_identify(const char *proc, int fd, struct procfile_id *id)
{
	long generation = 0;
	struct stat st;
	int ret;

	memset(id, 0, sizeof(*id));
	if (fstat(fd, &st) != 0)
		return -errno;
	ret = read_mapped_id(proc, fd, id);
	if (ret)
		return ret;
	id->size = (uint64_t)st.st_size;
	id->mtime_ns = (uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
	/* the kernel writes 32 bits, whatever its header says */
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) == 0)
		id->generation = (uint32_t)generation;
	return 0;
}

int procfile_open_kernel(const char *proc)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/kallsyms", proc);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ---- maps that JITs write -------------------------------------------------------------------- */

struct identity {
	uid_t owners[3];
	uint32_t pid; /* in its own pid namespace */
};

/* The n-th number of the line `NAME:\tNUMBER\tNUMBER...`, or the last one. */
static bool find_number(const char *status, const char *name, int n, uint32_t *number)
{
	const char *line = strstr(status, name);
	char *end;
	int i;

	if (!line)
		return false;
	line += strlen(name);
	for (i = 0; i < n; i++) {
		unsigned long value;

		line += strspn(line, " \t");
		value = strtoul(line, &end, 10);
		if (end == line)
			break;
		*number = (uint32_t)value;
		line = end;
	}
	return i > 0;
}

static int read_identity(int process, struct identity *identity)
{
	int fd = openat(process, "status", O_RDONLY | O_CLOEXEC);
	char status[STATUS_BYTES];
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = read(fd, status, sizeof(status) - 1);
	close(fd);
	if (length < 0)
		return -errno;
	status[length] = '\0';
	identity->owners[0] = 0;
	/*
	 * real and effective; a newline in the process's name is written \n, so it cannot imitate
	 * this line
	 */
	if (!find_number(status, "\nUid:", 1, &identity->owners[1]) ||
		!find_number(status, "\nUid:", 2, &identity->owners[2]) ||
		!find_number(status, "\nNSpid:", INT_MAX, &identity->pid))
		return -ESRCH;
	return 0;
}

/* /tmp is a separate mount on many machines. */
static int find_in_tmp(const struct proc_maps *mounts, int root, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};
	int folder, fd;

	if (mounts && !procfile_is_trusted(mounts, root))
		return -EXDEV;
	folder = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof(how));
	if (folder < 0)
		return -errno;
	fd = find_of(mounts, folder, name, RESOLVE_NO_SYMLINKS);
	close(folder);
	return fd;
}

/* The name of the file must have the process's pid, as for perf. */
static int find_dump(const struct proc_maps *mounts, int root, const char *path, uint32_t pid)
{
	const char *name = strrchr(path, '/');
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "/jit-%" PRIu32 ".dump", pid);
	if (path[0] != '/' || strcmp(name, wanted) != 0)
		return -EACCES;
	return find_of(mounts, root, path, RESOLVE_NO_SYMLINKS);
}

int procfile_open_jit(const char *proc, const struct proc_maps *mounts, uint32_t pid,
	const char *dump)
{
	struct identity identity = { .owners = { 0, geteuid(), geteuid() }, .pid = pid };
	int process = find_process(proc, pid), root, fd = 0;
	char name[64];

	if (process < 0 && process != -ENOENT)
		return process;
	if (process >= 0)
		fd = read_identity(process, &identity);
	if (!fd)
		fd = find_root(process);
	root = fd;
	if (root >= 0) {
		snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", identity.pid);
		fd = *dump ? find_dump(mounts, root, dump, identity.pid)
			   : find_in_tmp(mounts, root, name);
		fd = open_found(mounts, fd, identity.owners, 3);
		close(root);
	}
	if (process >= 0)
		close(process);
	return fd;
}
