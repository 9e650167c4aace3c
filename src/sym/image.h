/* SPDX-License-Identifier: MIT */
/*
 * An ELF file as bytes in memory, read without believing it: every offset is checked against the
 * size, nothing is followed twice. 32 and 64 bits, of this machine's byte order.
 *
 * Runs in the parser. The bytes may change under it where they are a mapping of a file.
 * Thread-safe, as far as the caller's bytes are.
 */
#ifndef KPROFS_SYM_IMAGE_H
#define KPROFS_SYM_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
	const uint8_t *data; /* the caller's */
	size_t size;
	bool is32;
	uint16_t machine; /* EM_ */
	uint64_t segments_at, sections_at; /* offsets of the tables */
	uint32_t segments, sections;	   /* how many */
	uint32_t names;			   /* the section that holds their names; 0: none */
};

/* -ENOEXEC: not an ELF file of this machine's byte order. Tables that are cut are shorter. */
int image_init(struct image *image, const void *data, size_t size);

/* False: there is no such one. 32-bit ones are widened. */
bool image_segment(const struct image *image, uint32_t i, Elf64_Phdr *segment);
bool image_section(const struct image *image, uint32_t i, Elf64_Shdr *section);

/* The i-th symbol of a symbol table. False: there is no such one. */
bool image_symbol(const struct image *image, const Elf64_Shdr *table, uint64_t i, Elf64_Sym *symbol);

/* "" where it has none. */
const char *image_section_name(const struct image *image, const Elf64_Shdr *section);

/* The section's bytes; NULL where they are not in the file, or compressed. */
const uint8_t *image_bytes(const struct image *image, const Elf64_Shdr *section, size_t *size);

/* The same, of a table of strings whose last byte is NUL: any offset below *size is a string. */
const char *image_strings(const struct image *image, uint32_t section, size_t *size);

bool image_find_section(const struct image *image, uint32_t type, Elf64_Shdr *section);

/* The name of its separate debug file, as .gnu_debuglink has it; NULL where it has none. */
const char *image_debuglink(const struct image *image);

/* The build-id's bytes, NULL where there is none. */
const uint8_t *image_build_id(const struct image *image, size_t *length);

/* Where a byte of the file is loaded, as the file's own addresses count; and back. */
bool image_offset_to_address(const struct image *image, uint64_t offset, uint64_t *address);
bool image_address_to_offset(const struct image *image, uint64_t address, uint64_t *offset);

#endif
