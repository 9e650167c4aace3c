/* SPDX-License-Identifier: MIT */
/*
 * An ELF file in memory, as libelf reads it: what identifies it, and where its bytes are loaded. 32
 * and 64 bits, of this machine's byte order.
 *
 * Runs in the parser: files are what anyone may have written, and the bytes may change under it
 * where they are a mapping of a file. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_IMAGE_H
#define KPROFS_SYMBOLIZERD_IMAGE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
	Elf *elf; /* NULL: none */
};

/*
 * -ENOEXEC: not an ELF file of this machine's byte order; there is nothing to release then. The
 * bytes stay the caller's, until image_fini().
 */
int image_init(struct image *image, const void *data, size_t size);
/* Harmless where there is none. */
void image_fini(struct image *image);

/*
 * The section's header and bytes, as they are in the file; NULL where they are not, or compressed.
 */
Elf_Data *image_section(Elf_Scn *scn, GElf_Shdr *section);

/*
 * Bytes of a table of strings whose last byte is NUL: any offset below *size is a string. Else
 * NULL.
 */
const char *image_strings(const struct image *image, size_t index, size_t *size);

/* The name of its separate debug file, as .gnu_debuglink has it; NULL where it has none. */
const char *image_debuglink(const struct image *image);

/* The build-id's bytes, NULL where there is none. */
const uint8_t *image_build_id(const struct image *image, size_t *length);

/* Where a byte of the file is loaded, as the file's own addresses count; and back. */
bool image_offset_to_address(const struct image *image, uint64_t offset, uint64_t *address);
bool image_address_to_offset(const struct image *image, uint64_t address, uint64_t *offset);

#endif
