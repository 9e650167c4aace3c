/* SPDX-License-Identifier: MIT */
/*
 * Records of kpdata in less memory: a stack that is in the same records before is a reference to it, and
 * of another one only what differs from the one before is stored. Times, CPUs and processes are what
 * differs from the sample before. Unpacking gives the same records, byte for byte, whatever they are.
 *
 * Packed records refer to nothing outside of them. packed_form.h has their form.
 */
#ifndef KPROFS_PROF_PACKED_H
#define KPROFS_PROF_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of records that are packed together. */
#define PACKED_RECORDS_MAX (128u << 10)

/* Finds the stacks that are there already. Its owner packs one thing at a time. */
struct packer;

struct packer *packer_create(void);
void packer_destroy(struct packer *packer);

/*
 * Packs whole records, at most PACKED_RECORDS_MAX bytes. Returns the number of bytes written to `packed`,
 * or 0 if `room` may not be enough for them.
 */
size_t packer_pack(struct packer *packer, const uint8_t *records, size_t len, uint8_t *packed, size_t room);

/*
 * Writes the records that were packed, `len` bytes. Returns false if `packed` is not what packer_pack()
 * writes for so many bytes; the content of `records` is then undefined.
 */
bool packed_unpack(const uint8_t *packed, size_t size, uint8_t *records, size_t len);

#endif
