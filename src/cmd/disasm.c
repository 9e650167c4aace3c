/* SPDX-License-Identifier: MIT */
/* Machine code, disassembled by objdump: see disasm.h. */
#include "cmd/disasm.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"

/* Limits: functions and the notes of a file are smaller; larger sizes mean a damaged file. */
#define CODE_BYTES_MAX (4 * MIB)
#define NOTES_BYTES_MAX (64 * KIB)
#define HEADERS_MAX 256

/* ---- the file ---------------------------------------------------------------------------------
 */

struct disasm_elf {
	int fd;
	Elf64_Phdr headers[HEADERS_MAX];
	unsigned int count;
};

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static int open_elf(struct disasm_elf *elf, const char *path, struct err *err)
{
	struct stat st;
	Elf64_Ehdr head;

	elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (elf->fd < 0 || fstat(elf->fd, &st))
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || !read_at(elf->fd, &head, sizeof(head), 0) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
		head.e_ident[EI_DATA] !=
			(G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB) ||
		head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > HEADERS_MAX ||
		!read_at(elf->fd, elf->headers, head.e_phnum * sizeof(Elf64_Phdr), head.e_phoff))
		return err_set(
			err, ENOEXEC, "%s: not an ELF file of 64 bits and this byte order", path);
	elf->count = head.e_phnum;
	return 0;
}

/* Finds the build-id in these notes. Its length; 0 if there is none. */
static size_t find_build_id(const uint8_t *notes, size_t size, const uint8_t **id)
{
	Elf64_Nhdr note;
	size_t name, desc;

	while (size >= sizeof(note)) {
		memcpy(&note, notes, sizeof(note));
		notes += sizeof(note);
		size -= sizeof(note);
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > size || desc > size - name)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
			memcmp(notes, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
			*id = notes + name;
			return note.n_descsz;
		}
		notes += name + desc;
		size -= name + desc;
	}
	return 0;
}

static bool has_build_id(const struct disasm_elf *elf, const struct disasm_file *file)
{
	unsigned int i;

	for (i = 0; i < elf->count; i++) {
		const Elf64_Phdr *h = &elf->headers[i];
		g_autofree uint8_t *notes = NULL;
		const uint8_t *id;
		size_t length;

		if (h->p_type != PT_NOTE || h->p_filesz > NOTES_BYTES_MAX)
			continue;
		notes = g_malloc(h->p_filesz + 1);
		if (!read_at(elf->fd, notes, h->p_filesz, h->p_offset))
			continue;
		length = find_build_id(notes, h->p_filesz, &id);
		if (length)
			return length == file->build_id_length &&
			       memcmp(id, file->build_id, length) == 0;
	}
	return false;
}

/* Finds address minus offset for the code at this offset. */
static bool find_distance(const struct disasm_elf *elf, uint64_t offset, uint64_t *distance)
{
	unsigned int i;

	for (i = 0; i < elf->count; i++) {
		const Elf64_Phdr *h = &elf->headers[i];

		if (h->p_type == PT_LOAD && offset >= h->p_offset &&
			offset - h->p_offset < h->p_filesz) {
			*distance = h->p_vaddr - h->p_offset;
			return true;
		}
	}
	return false;
}

static int check_file(
	const struct disasm_file *file, uint64_t offset, uint64_t *distance, struct err *err)
{
	struct disasm_elf *elf = g_new0(struct disasm_elf, 1);
	int ret = open_elf(elf, file->path, err);

	if (!ret && file->build_id_length && !has_build_id(elf, file))
		ret = err_set(
			err, ESTALE, "%s: the file has changed since it was sampled", file->path);
	if (!ret && !find_distance(elf, offset, distance))
		ret = err_set(err, ENOEXEC, "%s: this part of the file is not loaded", file->path);
	if (elf->fd >= 0)
		close(elf->fd);
	g_free(elf);
	return ret;
}

/* ---- objdump ----------------------------------------------------------------------------------
 */

static void free_line(void *line)
{
	g_free(((struct disasm_line *)line)->text);
}

GArray *disasm_lines(void)
{
	GArray *lines = g_array_new(FALSE, FALSE, sizeof(struct disasm_line));

	g_array_set_clear_func(lines, free_line);
	return lines;
}

/* A line like "  401136:\tpush   %rbp" is code, all others are not. */
static void take_line(GArray *lines, const char *text, uint64_t distance)
{
	struct disasm_line line = {.is_code = false};
	const char *digits = text + strspn(text, " ");
	char *end;

	line.address = g_ascii_strtoull(digits, &end, 16);
	line.is_code = end > digits && g_str_has_prefix(end, ":\t");
	line.offset = line.address - distance;
	line.text = g_strdup(line.is_code ? end + 2 : text);
	g_array_append_val(lines, line);
}

/* Skips the names of the file and its format. */
static void take_output(GArray *lines, const char *output, uint64_t distance)
{
	g_auto(GStrv) texts = g_strsplit(output, "\n", -1);
	bool begun = false;
	int i;

	for (i = 0; texts[i]; i++) {
		if (g_str_has_prefix(texts[i], "Disassembly of section "))
			begun = true;
		else if (begun && (*texts[i] || texts[i + 1]))
			take_line(lines, texts[i], distance);
	}
}

static int run_objdump(const struct disasm_file *file, uint64_t begin, uint64_t end, bool source,
	char **output, struct err *err)
{
	g_autofree char *from = g_strdup_printf("--start-address=0x%" PRIx64, begin);
	g_autofree char *to = g_strdup_printf("--stop-address=0x%" PRIx64, end);
	char *argv[] = {(char *)"objdump", (char *)"-d", (char *)"-C", (char *)"--no-show-raw-insn",
		from, to, (char *)(source ? "-S" : "-w"), (char *)"--", (char *)file->path, NULL};
	g_autoptr(GError) error = NULL;
	int status;

	if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
		    NULL, output, NULL, &status, &error))
		return err_set(
			err, ENOENT, "%s (to have objdump, install binutils)", error->message);
	if (status)
		return err_set(err, EIO, "%s: objdump can't read it", file->path);
	return 0;
}

int disasm_read(const struct disasm_file *file, uint64_t begin, uint64_t end, bool source,
	GArray *lines, struct err *err)
{
	g_autofree char *output = NULL;
	uint64_t distance = 0;
	int ret;

	if (end < begin || end - begin > CODE_BYTES_MAX)
		return err_set(err, EFBIG, "%s: a function of %" PRIu64 " bytes is not shown",
			file->path, end - begin);
	ret = check_file(file, begin, &distance, err);
	if (!ret)
		ret = run_objdump(file, begin + distance, end + distance, source, &output, err);
	if (!ret)
		take_output(lines, output, distance);
	return ret;
}
