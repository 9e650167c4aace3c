/* SPDX-License-Identifier: MIT */
/* Where the functions of a program or library are in its file. */
#include "probes/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/targets.h"

#define SECTIONS_MAX 65536u
#define SEGMENTS_MAX 4096u
/* Bytes of a table of symbols or strings that are read at most. */
#define TABLE_BYTES_MAX (256u << 20)
/* Of all tables of a file: a section may be named as often as the file has sections. */
#define FILE_BYTES_MAX (4ull * TABLE_BYTES_MAX)

struct file {
	int fd;
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	Elf64_Phdr *segments;
};

/* Reads a part of the file that is within it. */
static int read_part(const struct file *file, uint64_t offset, uint64_t bytes, void *data)
{
	uint64_t done = 0;

	if (offset > file->size || bytes > file->size - offset)
		return -EINVAL;
	while (done < bytes) {
		ssize_t got = pread(file->fd, (char *)data + done, bytes - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EINVAL;
		done += (uint64_t)got;
	}
	return 0;
}

static int read_header(struct file *file)
{
	const Elf64_Ehdr *header = &file->header;
	int ret = read_part(file, 0, sizeof(file->header), &file->header);

	if (ret)
		return ret;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
		header->e_ident[EI_DATA] != (G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB) ||
		header->e_shentsize != sizeof(Elf64_Shdr) || header->e_phentsize != sizeof(Elf64_Phdr) ||
		!header->e_shnum || header->e_phnum > SEGMENTS_MAX)
		return -EINVAL;
	file->sections = g_new(Elf64_Shdr, header->e_shnum);
	file->segments = g_new(Elf64_Phdr, (gsize)header->e_phnum + 1);
	ret = read_part(file, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr), file->sections);
	if (!ret)
		ret = read_part(file, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr), file->segments);
	return ret;
}

/* The place of an address in the file; false if no segment of code has it. */
static bool offset_of(const struct file *file, uint64_t address, uint64_t *offset)
{
	for (unsigned int i = 0; i < file->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || address < segment->p_vaddr ||
			address - segment->p_vaddr >= segment->p_filesz)
			continue;
		*offset = address - segment->p_vaddr + segment->p_offset;
		return true;
	}
	return false;
}

static bool is_function(const Elf64_Sym *symbol)
{
	const unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
		symbol->st_value;
}

struct search {
	const char *pattern;
	int (*each)(void *arg, const char *name, uint64_t offset);
	void *arg;
	uint32_t symbols;
	uint64_t bytes; /* of the tables that were read */
};

static int walk_symbols(const struct file *file, const Elf64_Sym *symbols, uint64_t count,
	const char *strings, uint64_t string_bytes, struct search *search)
{
	for (uint64_t i = 0; i < count; i++) {
		const char *name;
		uint64_t offset;
		int ret;

		if (search->symbols++ >= ELF_SYMBOLS_MAX)
			return -E2BIG;
		if (!is_function(&symbols[i]) || symbols[i].st_name >= string_bytes)
			continue;
		name = strings + symbols[i].st_name;
		/* the table ends with a NUL (walk_table) */
		if (strnlen(name, ELF_SYMBOLS_NAME_MAX) == ELF_SYMBOLS_NAME_MAX ||
			!targets_match(search->pattern, name) ||
			!offset_of(file, symbols[i].st_value, &offset))
			continue;
		ret = search->each(search->arg, name, offset);
		if (ret)
			return ret;
	}
	return 0;
}

static int walk_table(const struct file *file, const Elf64_Shdr *table, struct search *search)
{
	const Elf64_Shdr *strings;
	g_autofree char *names = NULL;
	g_autofree Elf64_Sym *symbols = NULL;
	int ret;

	if (table->sh_link >= file->header.e_shnum || table->sh_entsize != sizeof(Elf64_Sym))
		return 0;
	strings = &file->sections[table->sh_link];
	if (table->sh_size > TABLE_BYTES_MAX || strings->sh_size > TABLE_BYTES_MAX || !strings->sh_size ||
		table->sh_size > file->size || strings->sh_size > file->size)
		return 0;
	search->bytes += table->sh_size + strings->sh_size;
	if (search->bytes > FILE_BYTES_MAX)
		return -E2BIG;
	symbols = g_try_malloc(table->sh_size + 1);
	names = g_try_malloc(strings->sh_size + 1);
	if (!symbols || !names)
		return -ENOMEM;
	ret = read_part(file, table->sh_offset, table->sh_size, symbols);
	if (!ret)
		ret = read_part(file, strings->sh_offset, strings->sh_size, names);
	if (ret)
		return ret;
	names[strings->sh_size] = '\0';
	return walk_symbols(file, symbols, table->sh_size / sizeof(Elf64_Sym), names, strings->sh_size,
		search);
}

static int walk_file(struct file *file, struct search *search)
{
	int ret = read_header(file);

	for (unsigned int i = 0; !ret && i < file->header.e_shnum; i++)
		if (file->sections[i].sh_type == SHT_SYMTAB || file->sections[i].sh_type == SHT_DYNSYM)
			ret = walk_table(file, &file->sections[i], search);
	g_free(file->sections);
	g_free(file->segments);
	return ret;
}

/* `libc` is libc.so.6: the last one of those that are there. */
static char *find_library(const char *path)
{
	g_autofree char *pattern = g_strconcat(path, ".so.[0-9]*", NULL);
	char *found = NULL;
	glob_t names;

	if (glob(pattern, 0, NULL, &names) == 0) {
		found = g_strdup(names.gl_pathv[names.gl_pathc - 1]);
		globfree(&names);
	}
	return found;
}

char *elf_symbols_find_file(const char *name)
{
	static const char *const folders[] = { "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
#if defined(__x86_64__)
		"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
		"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
#endif
		"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin" };

	if (name[0] == '/')
		return g_strdup(name);
	for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
		g_autofree char *path = g_build_filename(folders[i], name, NULL);

		if (access(path, R_OK) == 0)
			return g_steal_pointer(&path);
		if (g_str_has_prefix(name, "lib") && !strchr(name, '.')) {
			char *library = find_library(path);

			if (library)
				return library;
		}
	}
	return NULL;
}

int elf_symbols_each(const char *path, const char *pattern,
	int (*each)(void *arg, const char *name, uint64_t offset), void *arg, struct err *err)
{
	struct search search = { .pattern = pattern, .each = each, .arg = arg };
	struct file file = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
	struct stat st;
	int ret;

	if (file.fd < 0)
		return err_set(err, errno, "'%s' can't be opened: %s", path, g_strerror(errno));
	if (fstat(file.fd, &st) || !S_ISREG(st.st_mode)) {
		close(file.fd);
		return err_set(err, EINVAL, "'%s' is no file", path);
	}
	file.size = (uint64_t)st.st_size;
	ret = walk_file(&file, &search);
	close(file.fd);
	if (ret == -E2BIG && err && !err->text[0])
		return err_set(err, E2BIG, "'%s' has too many symbols", path);
	if (ret == -EINVAL)
		return err_set(err, EINVAL, "'%s' is no ELF file of 64 bits, or it is damaged", path);
	return ret;
}
