/* SPDX-License-Identifier: MIT */
/* An ELF file in memory: see image.h. */
#include "symbolizerd/image.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

int image_init(struct image *image, const void *data, size_t size)
{
	Elf *elf = NULL;
	GElf_Ehdr head;

	memset(image, 0, sizeof(*image));
	if (elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_memory((char *)(uintptr_t)data, size); /* libelf does not write to the memory */
	if (!elf)
		return -ENOEXEC;
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head) ||
		head.e_ident[EI_DATA] != OWN_DATA) {
		elf_end(elf);
		return -ENOEXEC;
	}
	image->elf = elf;
	return 0;
}

void image_fini(struct image *image)
{
	elf_end(image->elf);
	image->elf = NULL;
}

Elf_Data *image_section(Elf_Scn *scn, GElf_Shdr *section)
{
	Elf_Data *data;

	if (!gelf_getshdr(scn, section) || (section->sh_flags & SHF_COMPRESSED))
		return NULL;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

const char *image_strings(const struct image *image, size_t index, size_t *size)
{
	GElf_Shdr section;
	Elf_Data *data = image_section(elf_getscn(image->elf, index), &section);
	const char *bytes;

	if (!data || section.sh_type != SHT_STRTAB)
		return NULL;
	bytes = data->d_buf;
	*size = data->d_size;
	return *size && !bytes[*size - 1] ? bytes : NULL;
}

const char *image_debuglink(const struct image *image)
{
	GElf_Word checksum;

	return dwelf_elf_gnu_debuglink(image->elf, &checksum);
}

const uint8_t *image_build_id(const struct image *image, size_t *length)
{
	const void *bytes;
	ssize_t found = dwelf_elf_gnu_build_id(image->elf, &bytes);

	if (found <= 0)
		return NULL;
	*length = (size_t)found;
	return bytes;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool next_segment(const struct image *image, int *i, GElf_Phdr *segment)
{
	while (gelf_getphdr(image->elf, (*i)++, segment)) {
		if (segment->p_type == PT_LOAD)
			return true;
	}
	return false;
}

/* Segments with code first: linkers map the same page of the file by two segments. */
bool image_offset_to_address(const struct image *image, uint64_t offset, uint64_t *address)
{
	GElf_Phdr segment;
	int code, i;

	for (code = 1; code >= 0; code--) {
		for (i = 0; next_segment(image, &i, &segment);) {
			if (!!(segment.p_flags & PF_X) == code && offset >= segment.p_offset &&
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
	GElf_Phdr segment;
	int i;

	for (i = 0; next_segment(image, &i, &segment);) {
		if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
			*offset = segment.p_offset + (address - segment.p_vaddr);
			return true;
		}
	}
	return false;
}
