/* SPDX-License-Identifier: MIT */
/* An ELF file as bytes in memory: see image.h. */
#include "sym/image.h"

#include <errno.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

/* Compilers know no more sections; files beyond have tables made up to keep us busy. */
#define SECTIONS_MAX (1u << 20)

static bool holds(const struct image *image, uint64_t offset, uint64_t size)
{
	return offset <= image->size && size <= image->size - offset;
}

/* Rows of a table at this offset that are in the file. */
static uint32_t rows_within(const struct image *image, uint64_t offset, uint64_t count, size_t row)
{
	uint64_t fit;

	if (!offset || offset >= image->size)
		return 0;
	fit = (image->size - offset) / row;
	if (count > fit)
		count = fit;
	return count < SECTIONS_MAX ? (uint32_t)count : SECTIONS_MAX;
}

static void read_head32(struct image *image, uint64_t *sections)
{
	Elf32_Ehdr head;

	memcpy(&head, image->data, sizeof(head));
	image->machine = head.e_machine;
	image->segments_at = head.e_phoff;
	image->sections_at = head.e_shoff;
	image->segments = rows_within(image, head.e_phoff, head.e_phnum, sizeof(Elf32_Phdr));
	if (head.e_phentsize != sizeof(Elf32_Phdr))
		image->segments = 0;
	*sections = head.e_shentsize == sizeof(Elf32_Shdr) ? head.e_shnum : 0;
	image->names = head.e_shstrndx;
}

static void read_head64(struct image *image, uint64_t *sections)
{
	Elf64_Ehdr head;

	memcpy(&head, image->data, sizeof(head));
	image->machine = head.e_machine;
	image->segments_at = head.e_phoff;
	image->sections_at = head.e_shoff;
	image->segments = rows_within(image, head.e_phoff, head.e_phnum, sizeof(Elf64_Phdr));
	if (head.e_phentsize != sizeof(Elf64_Phdr))
		image->segments = 0;
	*sections = head.e_shentsize == sizeof(Elf64_Shdr) ? head.e_shnum : 0;
	image->names = head.e_shstrndx;
}

int image_init(struct image *image, const void *data, size_t size)
{
	size_t row;
	Elf64_Shdr first;
	uint64_t sections;

	memset(image, 0, sizeof(*image));
	image->data = data;
	image->size = size;
	if (size < sizeof(Elf32_Ehdr) || memcmp(data, ELFMAG, SELFMAG) != 0 ||
		image->data[EI_DATA] != OWN_DATA)
		return -ENOEXEC;
	image->is32 = image->data[EI_CLASS] == ELFCLASS32;
	if (!image->is32 && (image->data[EI_CLASS] != ELFCLASS64 || size < sizeof(Elf64_Ehdr)))
		return -ENOEXEC;
	if (image->is32)
		read_head32(image, &sections);
	else
		read_head64(image, &sections);
	row = image->is32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
	/* where the head has no room for the numbers, the first section has them */
	image->sections = rows_within(image, image->sections_at, 1, row);
	if (!sections && image_section(image, 0, &first))
		sections = first.sh_size;
	if (image->names == SHN_XINDEX && image_section(image, 0, &first))
		image->names = first.sh_link;
	image->sections = rows_within(image, image->sections_at, sections, row);
	return 0;
}

bool image_segment(const struct image *image, uint32_t i, Elf64_Phdr *segment)
{
	Elf32_Phdr narrow;

	if (i >= image->segments)
		return false;
	if (!image->is32) {
		memcpy(segment, image->data + image->segments_at + (size_t)i * sizeof(*segment),
			sizeof(*segment));
		return true;
	}
	memcpy(&narrow, image->data + image->segments_at + (size_t)i * sizeof(narrow),
		sizeof(narrow));
	segment->p_type = narrow.p_type;
	segment->p_flags = narrow.p_flags;
	segment->p_offset = narrow.p_offset;
	segment->p_vaddr = narrow.p_vaddr;
	segment->p_paddr = narrow.p_paddr;
	segment->p_filesz = narrow.p_filesz;
	segment->p_memsz = narrow.p_memsz;
	segment->p_align = narrow.p_align;
	return true;
}

bool image_section(const struct image *image, uint32_t i, Elf64_Shdr *section)
{
	Elf32_Shdr narrow;

	if (i >= image->sections)
		return false;
	if (!image->is32) {
		memcpy(section, image->data + image->sections_at + (size_t)i * sizeof(*section),
			sizeof(*section));
		return true;
	}
	memcpy(&narrow, image->data + image->sections_at + (size_t)i * sizeof(narrow),
		sizeof(narrow));
	section->sh_name = narrow.sh_name;
	section->sh_type = narrow.sh_type;
	section->sh_flags = narrow.sh_flags;
	section->sh_addr = narrow.sh_addr;
	section->sh_offset = narrow.sh_offset;
	section->sh_size = narrow.sh_size;
	section->sh_link = narrow.sh_link;
	section->sh_info = narrow.sh_info;
	section->sh_addralign = narrow.sh_addralign;
	section->sh_entsize = narrow.sh_entsize;
	return true;
}

bool image_symbol(const struct image *image, const Elf64_Shdr *table, uint64_t i, Elf64_Sym *symbol)
{
	size_t row = image->is32 ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym), size;
	const uint8_t *bytes = image_bytes(image, table, &size);
	Elf32_Sym narrow;

	if (!bytes || i >= size / row)
		return false;
	if (!image->is32) {
		memcpy(symbol, bytes + i * row, row);
		return true;
	}
	memcpy(&narrow, bytes + i * row, row);
	symbol->st_name = narrow.st_name;
	symbol->st_info = narrow.st_info;
	symbol->st_other = narrow.st_other;
	symbol->st_shndx = narrow.st_shndx;
	symbol->st_value = narrow.st_value;
	symbol->st_size = narrow.st_size;
	return true;
}

const uint8_t *image_bytes(const struct image *image, const Elf64_Shdr *section, size_t *size)
{
	if (section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_COMPRESSED) ||
		!holds(image, section->sh_offset, section->sh_size))
		return NULL;
	*size = section->sh_size;
	return image->data + section->sh_offset;
}

const char *image_strings(const struct image *image, uint32_t index, size_t *size)
{
	Elf64_Shdr section;
	const char *bytes;

	if (!image_section(image, index, &section) || section.sh_type != SHT_STRTAB)
		return NULL;
	bytes = (const char *)image_bytes(image, &section, size);
	return bytes && *size && !bytes[*size - 1] ? bytes : NULL;
}

const char *image_section_name(const struct image *image, const Elf64_Shdr *section)
{
	size_t size;
	const char *strings = image_strings(image, image->names, &size);

	return strings && section->sh_name < size ? strings + section->sh_name : "";
}

bool image_find_section(const struct image *image, uint32_t type, Elf64_Shdr *section)
{
	uint32_t i;

	for (i = 1; image_section(image, i, section); i++) {
		if (section->sh_type == type)
			return true;
	}
	return false;
}

/* The name, a NUL, padding, a checksum. */
const char *image_debuglink(const struct image *image)
{
	Elf64_Shdr section;
	const uint8_t *bytes;
	size_t size;
	uint32_t i;

	for (i = 1; image_section(image, i, &section); i++) {
		if (strcmp(image_section_name(image, &section), ".gnu_debuglink") != 0)
			continue;
		bytes = image_bytes(image, &section, &size);
		return bytes && memchr(bytes, 0, size) ? (const char *)bytes : NULL;
	}
	return NULL;
}

/* ---- the build-id ----------------------------------------------------------------------------- */

static const uint8_t *find_note(const struct image *image, uint64_t offset, uint64_t size,
	size_t *length)
{
	Elf64_Nhdr note; /* the 32-bit one is the same */
	uint64_t name, data;
	const uint8_t *at;

	if (!holds(image, offset, size))
		return NULL;
	at = image->data + offset;
	while (size >= sizeof(note)) {
		memcpy(&note, at, sizeof(note));
		at += sizeof(note);
		size -= sizeof(note);
		name = ((uint64_t)note.n_namesz + 3) & ~(uint64_t)3;
		data = ((uint64_t)note.n_descsz + 3) & ~(uint64_t)3;
		if (name > size || data > size - name)
			return NULL;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
			memcmp(at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
			*length = note.n_descsz;
			return at + name;
		}
		at += name + data;
		size -= name + data;
	}
	return NULL;
}

const uint8_t *image_build_id(const struct image *image, size_t *length)
{
	const uint8_t *found = NULL;
	Elf64_Phdr segment;
	Elf64_Shdr section;
	uint32_t i;

	/* debug files have segments that point nowhere: sections first */
	for (i = 1; !found && image_section(image, i, &section); i++) {
		if (section.sh_type == SHT_NOTE)
			found = find_note(image, section.sh_offset, section.sh_size, length);
	}
	for (i = 0; !found && image_segment(image, i, &segment); i++) {
		if (segment.p_type == PT_NOTE)
			found = find_note(image, segment.p_offset, segment.p_filesz, length);
	}
	return found;
}

/* ---- addresses -------------------------------------------------------------------------------- */

/* Segments with code first: linkers put the same page of the file into two of them. */
bool image_offset_to_address(const struct image *image, uint64_t offset, uint64_t *address)
{
	Elf64_Phdr segment;
	int code;
	uint32_t i;

	for (code = 1; code >= 0; code--) {
		for (i = 0; image_segment(image, i, &segment); i++) {
			if (segment.p_type != PT_LOAD || !!(segment.p_flags & PF_X) != code)
				continue;
			if (offset >= segment.p_offset &&
				offset - segment.p_offset < segment.p_filesz) {
				*address = segment.p_vaddr + (offset - segment.p_offset);
				return true;
			}
		}
	}
	return false;
}

bool image_address_to_offset(const struct image *image, uint64_t address, uint64_t *offset)
{
	Elf64_Phdr segment;
	uint32_t i;

	for (i = 0; image_segment(image, i, &segment); i++) {
		if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
			address - segment.p_vaddr < segment.p_filesz) {
			*offset = segment.p_offset + (address - segment.p_vaddr);
			return true;
		}
	}
	return false;
}
