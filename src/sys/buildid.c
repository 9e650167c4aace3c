/* SPDX-License-Identifier: MIT */
/* The GNU build-id of a file: see buildid.h. */
#include "sys/buildid.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/clock.h"
#include "sys/lines.h"

#define NOTE_ALIGN 4
#define NOTE_BUILD_ID 3 /* NT_GNU_BUILD_ID, of the owner "GNU" */

/* A program has a dozen of them. A core file has thousands, and is not mapped as a program. */
#define SEGMENTS_MAX 128
/* The notes of a program are some hundred bytes. */
#define NOTES_BYTES_MAX 4096

/* ---- notes ----------------------------------------------------------------------------------- */

struct note_header {
	uint32_t name_size;
	uint32_t desc_size;
	uint32_t type;
};

/* Rounded up to the alignment of notes, in 64 bits, so that it cannot wrap. */
static uint64_t pad(uint32_t size)
{
	return ((uint64_t)size + NOTE_ALIGN - 1) / NOTE_ALIGN * NOTE_ALIGN;
}

uint8_t buildid_in_notes(const unsigned char *notes, size_t size, unsigned char *build_id)
{
	struct note_header header;
	size_t at = 0;

	while (size - at >= sizeof(header)) {
		const unsigned char *name, *desc;

		memcpy(&header, notes + at, sizeof(header));
		at += sizeof(header);
		if (pad(header.name_size) > size - at)
			return 0;
		name = notes + at;
		at += pad(header.name_size);
		if (header.desc_size > size - at)
			return 0;
		desc = notes + at;
		if (header.type == NOTE_BUILD_ID && header.name_size == 4 &&
			!memcmp(name, "GNU", 4) && header.desc_size > 0 &&
			header.desc_size <= PROC_BUILD_ID_MAX) {
			memcpy(build_id, desc, header.desc_size);
			return header.desc_size;
		}
		if (pad(header.desc_size) > size - at)
			return 0;
		at += pad(header.desc_size);
	}
	return 0;
}

/* ---- ELF ------------------------------------------------------------------------------------- */

static bool read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
	return offset <= INT64_MAX && pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

static uint8_t read_notes(int fd, uint64_t offset, uint64_t size, unsigned char *build_id)
{
	unsigned char notes[NOTES_BYTES_MAX];

	if (size > sizeof(notes) || !read_at(fd, offset, notes, size))
		return 0;
	return buildid_in_notes(notes, size, build_id);
}

/* The notes of the segments, which are listed at `at`, one for each `step` bytes. */
static uint8_t search(int fd, bool is_64, uint64_t at, uint16_t step, unsigned int count,
	unsigned char *build_id)
{
	uint8_t length = 0;
	Elf64_Phdr segment;
	Elf32_Phdr narrow;

	if (step != (is_64 ? sizeof(segment) : sizeof(narrow)) || at > INT64_MAX / 2)
		return 0;
	for (count = count < SEGMENTS_MAX ? count : SEGMENTS_MAX; !length && count; count--) {
		if (!read_at(fd, at, is_64 ? (void *)&segment : &narrow, step))
			return 0;
		if (!is_64)
			segment = (Elf64_Phdr){ .p_type = narrow.p_type,
				.p_offset = narrow.p_offset,
				.p_filesz = narrow.p_filesz };
		if (segment.p_type == PT_NOTE)
			length = read_notes(fd, segment.p_offset, segment.p_filesz, build_id);
		at += step;
	}
	return length;
}

uint8_t buildid_of_file(int fd, unsigned char *build_id)
{
	const uint16_t one = 1;
	const unsigned char order = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr head;
	Elf32_Ehdr narrow;

	if (!read_at(fd, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
		ident[EI_DATA] != order)
		return 0;
	if (ident[EI_CLASS] == ELFCLASS64 && read_at(fd, 0, &head, sizeof(head)))
		return search(fd, true, head.e_phoff, head.e_phentsize, head.e_phnum, build_id);
	if (ident[EI_CLASS] == ELFCLASS32 && read_at(fd, 0, &narrow, sizeof(narrow)))
		return search(fd, false, narrow.e_phoff, narrow.e_phentsize, narrow.e_phnum, build_id);
	return 0;
}

/* ---- the file by its path -------------------------------------------------------------------- */

static int open_below(int folder, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };
	int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/*
 * Opens a regular file by the path of a mapping. Only the file system of the mount point that
 * leads to it is entered, if its files may be read: a FUSE mount on the way whose server hangs is
 * not waited for.
 */
static int open_path(const struct proc_maps *maps, const char *path)
{
	const char *below = proc_maps_mount_of(maps, path);
	char point[PROC_POINT_MAX];
	struct stat st;
	int folder, fd;

	if (!below)
		return -EACCES;
	memcpy(point, path, (size_t)(below - path));
	point[below - path] = '\0';
	folder = open(point, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	fd = open_below(folder, below, O_PATH,
		RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -ENOENT;
	}
	if (fd >= 0) {
		close(fd);
		fd = open_below(folder, below, O_RDONLY | O_NONBLOCK | O_NOCTTY,
			RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS |
				RESOLVE_NO_MAGICLINKS);
	}
	close(folder);
	return fd;
}

/*
 * Compares with the device and inode that the kernel reports for a mapping: those of stat(2)
 * differ on btrfs and overlayfs.
 */
static bool is_mapped_as(int fd, const struct buildid_mapping *mapping)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned long long start, inode;
	unsigned int dev_major, dev_minor;
	bool same = false, found = false;
	struct lines lines;
	char buf[PROC_POINT_MAX];
	char *line;
	void *at;
	int maps;

	at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	lines_init(&lines, maps, buf, sizeof(buf));
	while (maps >= 0 && !found && (line = lines_next(&lines))) {
		found = sscanf(line, "%llx-%*x %*s %*x %x:%x %llu", &start, &dev_major, &dev_minor,
				&inode) == 4 && start == (uintptr_t)at;
		same = found && dev_major == mapping->dev_major &&
			dev_minor == mapping->dev_minor && inode == mapping->inode;
	}
	if (maps >= 0)
		close(maps);
	munmap(at, page);
	return same;
}

static bool is_file(int fd, const struct stat *st, const struct buildid_mapping *mapping)
{
	if (st->st_ino == mapping->inode && major(st->st_dev) == mapping->dev_major &&
		minor(st->st_dev) == mapping->dev_minor)
		return true;
	return is_mapped_as(fd, mapping);
}

/*
 * The file's content is what was mapped if nothing was written since. A new file with the inode
 * number of a deleted one is younger, too.
 */
static bool changed_since(const struct stat *st, uint64_t time_ns)
{
	const uint64_t ago_ns = clock_monotonic_ns() - time_ns;
	const uint64_t mapped_ns = clock_realtime_ns() - ago_ns;
	const uint64_t changed_ns = (uint64_t)st->st_ctim.tv_sec * NSEC_PER_SEC +
		(uint64_t)st->st_ctim.tv_nsec;

	return changed_ns > mapped_ns;
}

static int by_path(const struct proc_maps *maps, const struct buildid_mapping *mapping,
	unsigned char *build_id, struct buildid_content *content)
{
	struct stat st;
	int fd = open_path(maps, mapping->path), ret;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		ret = -errno;
	else if (!is_file(fd, &st, mapping))
		ret = -ENOENT;
	else if (changed_since(&st, mapping->time_ns))
		ret = -EAGAIN;
	else
		ret = buildid_of_file(fd, build_id);
	if (ret >= 0) {
		content->size = (uint64_t)st.st_size;
		content->mtime_ns = (uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC +
			(uint64_t)st.st_mtim.tv_nsec;
	}
	close(fd);
	return ret;
}

/* ---- the file by the mapping ----------------------------------------------------------------- */

/*
 * For kernels before Linux 6.11: opens the file behind the mapping. Another mapping may be at these
 * addresses by now.
 */
static int by_link(const struct buildid_mapping *mapping, unsigned char *build_id)
{
	char path[80];
	struct stat st;
	int fd, ret;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		mapping->pid, mapping->start, mapping->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	ret = fstat(fd, &st) || !S_ISREG(st.st_mode) ? -ENOENT : 0;
	close(fd);
	fd = ret ? ret : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -ENOENT;
	ret = is_file(fd, &st, mapping) ? buildid_of_file(fd, build_id) : -ENOENT;
	close(fd);
	return ret;
}

static int by_mapping(struct proc_maps *maps, const struct buildid_mapping *mapping,
	unsigned char *build_id)
{
	struct proc_mapping found;
	char path[32];
	int fd, ret;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", mapping->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	ret = proc_maps_query(maps, fd, mapping->start, &found);
	close(fd);
	if (ret == -ENOTTY)
		return by_link(mapping, build_id);
	if (ret || found.inode != mapping->inode || found.dev_major != mapping->dev_major ||
		found.dev_minor != mapping->dev_minor)
		return -ENOENT;
	memcpy(build_id, maps->build_id, found.build_id_length);
	return found.build_id_length;
}

int buildid_of_mapping(struct proc_maps *maps, const struct buildid_mapping *mapping,
	unsigned char *build_id, struct buildid_content *content)
{
	int ret, then;

	*content = (struct buildid_content){ 0 };
	if (!proc_maps_trusts(maps, mapping->dev_major, mapping->dev_minor))
		return -EACCES;
	ret = by_path(maps, mapping, build_id, content);
	if (ret >= 0)
		return ret;
	then = by_mapping(maps, mapping, build_id);
	return then >= 0 || ret != -EAGAIN ? then : ret;
}
