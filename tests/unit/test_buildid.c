/* SPDX-License-Identifier: MIT */
/*
 * sys/buildid: build-ids are found in ELF files of both classes; damaged files and replaced ones give
 * none. sys/proc_wire: encoded records are decoded to the same values, and damaged ones are refused.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/units.h"
#include "sys/buildid.h"
#include "sys/clock.h"
#include "sys/proc_wire.h"

static const unsigned char id[] = { 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4 };

/* A note of another owner, then the build-id: sizes, type, name, bytes; padded to 4. */
static const unsigned char notes[] = {
	3, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 'X', 'Y', 0, 0, 7, 0, 0, 0,
	4, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4,
};

#define NOTES_AT 512

struct image {
	unsigned char bytes[1024];
};

static void make_64(struct image *image)
{
	const Elf64_Ehdr head = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		.e_phoff = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	const Elf64_Phdr segments[2] = {
		{ .p_type = PT_LOAD },
		{ .p_type = PT_NOTE, .p_offset = NOTES_AT, .p_filesz = sizeof(notes) },
	};

	memset(image, 0, sizeof(*image));
	memcpy(image->bytes, &head, sizeof(head));
	memcpy(image->bytes + sizeof(head), segments, sizeof(segments));
	memcpy(image->bytes + NOTES_AT, notes, sizeof(notes));
}

static void make_32(struct image *image)
{
	const Elf32_Ehdr head = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, 1 },
		.e_phoff = sizeof(head),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 2,
	};
	const Elf32_Phdr segments[2] = {
		{ .p_type = PT_LOAD },
		{ .p_type = PT_NOTE, .p_offset = NOTES_AT, .p_filesz = sizeof(notes) },
	};

	memset(image, 0, sizeof(*image));
	memcpy(image->bytes, &head, sizeof(head));
	memcpy(image->bytes + sizeof(head), segments, sizeof(segments));
	memcpy(image->bytes + NOTES_AT, notes, sizeof(notes));
}

static int open_image(const struct image *image, size_t size)
{
	char path[] = "/tmp/test_buildid.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, image->bytes, size), size);
	return fd;
}

static uint8_t find(const struct image *image, size_t size, unsigned char *found)
{
	int fd = open_image(image, size);
	uint8_t length = buildid_of_file(fd, found);

	close(fd);
	return length;
}

static void test_both_classes_have_notes(void **state)
{
	unsigned char found[PROC_BUILD_ID_MAX];
	struct image image;

	(void)state;
	make_64(&image);
	assert_int_equal(find(&image, sizeof(image.bytes), found), sizeof(id));
	assert_memory_equal(found, id, sizeof(id));
	make_32(&image);
	memset(found, 0, sizeof(found));
	assert_int_equal(find(&image, sizeof(image.bytes), found), sizeof(id));
	assert_memory_equal(found, id, sizeof(id));
}

/* Cut at each length: nothing, or the right one. */
static void test_a_cut_file_gives_nothing(void **state)
{
	unsigned char found[PROC_BUILD_ID_MAX];
	struct image image;
	size_t size;

	(void)state;
	make_64(&image);
	for (size = 0; size < sizeof(image.bytes); size += size < NOTES_AT - 1 ? 37 : 1) {
		uint8_t length = find(&image, size, found);

		assert_int_equal(length, size >= NOTES_AT + sizeof(notes) ? sizeof(id) : 0);
	}
}

/* Each byte of the headers and notes with each of some values: never more than fits. */
static void test_damaged_files_are_harmless(void **state)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	unsigned char found[PROC_BUILD_ID_MAX + 1];
	struct image image, damaged;
	size_t at, i;
	int fd, class;

	(void)state;
	for (class = 0; class < 2; class++) {
		if (class)
			make_64(&image);
		else
			make_32(&image);
		for (at = 0; at < NOTES_AT + sizeof(notes); at++) {
			if (at == 256)
				at = NOTES_AT;
			for (i = 0; i < sizeof(values); i++) {
				damaged = image;
				damaged.bytes[at] = values[i];
				found[PROC_BUILD_ID_MAX] = 0x5a;
				fd = open_image(&damaged, sizeof(damaged.bytes));
				assert_in_range(buildid_of_file(fd, found), 0, PROC_BUILD_ID_MAX);
				assert_int_equal(found[PROC_BUILD_ID_MAX], 0x5a);
				close(fd);
			}
		}
	}
}

/* ---- mapped files -------------------------------------------------------------------------------- */

static struct proc_maps maps;
static char folder[] = "/tmp/test_buildid_files.XXXXXX";

static void put(const char *path, const struct image *image)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image->bytes, sizeof(image->bytes)), sizeof(image->bytes));
	close(fd);
}

static void describe(const char *path, struct buildid_mapping *mapping)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	*mapping = (struct buildid_mapping){
		.pid = 0x7fffffff, /* it has ended */
		.start = 0x10000,
		.end = 0x11000,
		.inode = st.st_ino,
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.time_ns = clock_monotonic_ns(),
		.path = path,
	};
}

static void test_only_what_was_mapped_is_read(void **state)
{
	unsigned char found[PROC_BUILD_ID_MAX];
	struct buildid_mapping mapping, other;
	struct buildid_content content;
	char path[128], link[128];
	struct image image;
	struct stat st;

	(void)state;
	if (syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == ENOSYS)
		skip(); /* valgrind */
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/program", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	make_64(&image);
	put(path, &image);
	proc_maps_init(&maps, "/proc");
	describe(path, &mapping);
	if (!proc_maps_trusts(&maps, mapping.dev_major, mapping.dev_minor))
		skip();
	assert_int_equal(buildid_of_mapping(&maps, &mapping, found, &content), sizeof(id));
	assert_memory_equal(found, id, sizeof(id));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(content.size, st.st_size);
	assert_int_equal(content.mtime_ns / NSEC_PER_SEC, st.st_mtim.tv_sec);
	assert_int_equal(content.mtime_ns % NSEC_PER_SEC, st.st_mtim.tv_nsec);

	other = mapping;
	other.inode++;
	assert_int_equal(buildid_of_mapping(&maps, &other, found, &content), -ENOENT);
	/* a symbolic link to the file is not what the kernel recorded */
	assert_int_equal(symlink(path, link), 0);
	other = mapping;
	other.path = link;
	assert_int_equal(buildid_of_mapping(&maps, &other, found, &content), -ENOENT);
	other.path = folder;
	assert_int_equal(buildid_of_mapping(&maps, &other, found, &content), -ENOENT);
	/* a device without a driver that is mounted here */
	other = mapping;
	other.dev_major = 0;
	other.dev_minor = 0xfffff;
	assert_int_equal(buildid_of_mapping(&maps, &other, found, &content), -EACCES);
	/* it was mapped before it was written */
	other = mapping;
	other.time_ns = 1;
	assert_int_equal(buildid_of_mapping(&maps, &other, found, &content), -EAGAIN);
	assert_int_equal(content.mtime_ns, 0); /* not of what was mapped */

	unlink(link);
	unlink(path);
	assert_int_equal(buildid_of_mapping(&maps, &mapping, found, &content), -ENOENT);
	rmdir(folder);
}

/* ---- proc_wire ----------------------------------------------------------------------------------- */

struct visited {
	char text[512];
};

static void tell(struct visited *visited, const char *line)
{
	strncat(visited->text, line, sizeof(visited->text) - strlen(visited->text) - 1);
}

static int note_process(void *arg, const struct proc_process *p)
{
	char line[128];

	snprintf(line, sizeof(line), "P %d %u %llu %s;", p->pid, p->uid,
		(unsigned long long)p->start_ticks, p->exe);
	tell(arg, line);
	return 0;
}

static int note_thread(void *arg, const struct proc_thread *t)
{
	char line[128];

	snprintf(line, sizeof(line), "T %d %d %s;", t->pid, t->tid, t->comm);
	tell(arg, line);
	return 0;
}

static int note_mapping(void *arg, const struct proc_mapping *m)
{
	char line[192];

	snprintf(line, sizeof(line), "M %d %llx %llx %llx %llu %u:%u %s %u %d %x;", m->pid,
		(unsigned long long)m->start, (unsigned long long)m->size,
		(unsigned long long)m->offset, (unsigned long long)m->inode, m->dev_major,
		m->dev_minor, m->path, m->build_id_length, m->build_id_known, m->build_id[7]);
	tell(arg, line);
	return 0;
}

static int note_unreadable(void *arg, pid_t pid)
{
	char line[32];

	snprintf(line, sizeof(line), "U %d;", pid);
	tell(arg, line);
	return 0;
}

static size_t make_records(unsigned char *bytes)
{
	size_t n = proc_wire_process(bytes, &(struct proc_process){
		.pid = 7, .uid = 1000, .comm = "", .start_ticks = 99, .exe = "/bin/x" });

	n += proc_wire_thread(bytes + n, &(struct proc_thread){ .pid = 7, .tid = 8, .comm = "a b" });
	n += proc_wire_mapping(bytes + n, &(struct proc_mapping){
		.pid = 7, .start = 0x1000, .size = 0x2000, .offset = 0x3000, .inode = 5, .dev_major = 8,
		.dev_minor = 1, .path = "", .build_id = id, .build_id_length = sizeof(id),
		.build_id_known = true });
	return n + proc_wire_unreadable(bytes + n, 9);
}

static void test_written_records_are_read_back(void **state)
{
	static unsigned char bytes[4 * PROC_WIRE_MAX];
	struct visited visited = { "" };
	const struct proc_visitor visitor = { note_process, note_thread, note_mapping, &visited };
	const size_t size = make_records(bytes);

	(void)state;
	assert_int_equal(proc_wire_read(bytes, size, &visitor, note_unreadable), 0);
	assert_string_equal(visited.text, "P 7 1000 99 /bin/x;T 7 8 a b;"
		"M 7 1000 2000 3000 5 8:1  8 1 4;U 9;");
}

static void test_callbacks_that_are_null_are_not_called(void **state)
{
	static unsigned char bytes[4 * PROC_WIRE_MAX];
	struct visited visited = { "" };
	const struct proc_visitor none = { NULL, NULL, NULL, &visited };
	const struct proc_visitor threads = { NULL, note_thread, NULL, &visited };
	const size_t size = make_records(bytes);

	(void)state;
	assert_int_equal(proc_wire_read(bytes, size, &none, NULL), 0);
	assert_string_equal(visited.text, "");
	assert_int_equal(proc_wire_read(bytes, size, &threads, NULL), 0);
	assert_string_equal(visited.text, "T 7 8 a b;");
}

/* Each length and each byte with other values: an error, or records; never a byte beyond. */
static void test_damaged_records_are_refused(void **state)
{
	static unsigned char bytes[4 * PROC_WIRE_MAX];
	struct visited visited;
	const struct proc_visitor visitor = { note_process, note_thread, note_mapping, &visited };
	const size_t size = make_records(bytes);
	unsigned char *copy;
	size_t at;

	(void)state;
	for (at = 0; at < size; at++) {
		visited.text[0] = '\0';
		copy = malloc(at ? at : 1);
		memcpy(copy, bytes, at);
		assert_true(at % 8 == 0 || proc_wire_read(copy, at, &visitor, note_unreadable) == -EBADMSG);
		free(copy);
		copy = malloc(size);
		memcpy(copy, bytes, size);
		copy[at] ^= 0xff;
		visited.text[0] = '\0';
		(void)proc_wire_read(copy, size, &visitor, note_unreadable);
		free(copy);
	}
	bytes[0] = 99;
	assert_int_equal(proc_wire_read(bytes, size, &visitor, note_unreadable), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_classes_have_notes),
		cmocka_unit_test(test_a_cut_file_gives_nothing),
		cmocka_unit_test(test_damaged_files_are_harmless),
		cmocka_unit_test(test_only_what_was_mapped_is_read),
		cmocka_unit_test(test_written_records_are_read_back),
		cmocka_unit_test(test_callbacks_that_are_null_are_not_called),
		cmocka_unit_test(test_damaged_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
