/* SPDX-License-Identifier: MIT */
/*
 * An ELF file in memory, read with libelf: its identification, and the addresses of its bytes. 32
 * and 64 bits, this machine's byte order.
 *
 * Runs in the parser: any user may have written the file, and the bytes may change during use if
 * they are a mapping of a file. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_IMAGE_H
#define KPROFS_SYMBOLIZERD_IMAGE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
	Elf *elf; /* NULL if there is no image */
};

/*
 * Returns -ENOEXEC if the bytes are not an ELF file of this machine's byte order; then there is
 * nothing to release. The caller keeps the ownership of the bytes, which must stay valid until
 * image_fini().
 */
int image_init(struct image *image, const void *data, size_t size);
/* Does nothing without an image. */
void image_fini(struct image *image);

/* The section's header and its bytes in the file; NULL if they are not in it, or compressed. */
Elf_Data *image_section(Elf_Scn *scn, GElf_Shdr *section);

/*
 * The bytes of a string table whose last byte is NUL: any offset below *size is a string. Else
 * NULL.
 */
const char *image_strings(const struct image *image, size_t index, size_t *size);

/* The name of its separate debug file in .gnu_debuglink; NULL if there is none. */
const char *image_debuglink(const struct image *image);

/* The build-id's bytes; NULL if there is none. */
const uint8_t *image_build_id(const struct image *image, size_t *length);

/* Converts an offset in the file to a virtual address; and back. */
bool image_offset_to_address(const struct image *image, uint64_t offset, uint64_t *address);
bool image_address_to_offset(const struct image *image, uint64_t address, uint64_t *offset);

#endif
