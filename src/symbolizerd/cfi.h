/* SPDX-License-Identifier: MIT */
/*
 * A file's unwind table (.eh_frame), read with libdw. Runs in the parser; one thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_CFI_H
#define KPROFS_SYMBOLIZERD_CFI_H

#include <libelf.h>
#include <stdint.h>

#include "symbolizer/unwind_row.h"

struct cfi;

/*
 * Opens the table of an ELF file, which the caller keeps open longer than the table. Returns NULL
 * if the file has no such table.
 */
struct cfi *cfi_open(Elf *elf);
/* Does nothing for NULL. */
void cfi_close(struct cfi *cfi);

/*
 * Finds the row of a virtual address of the file. Returns -ENOENT if there is none, -E2BIG if its
 * expressions are longer than a row holds or have operations that unwind.c does not support.
 */
int cfi_find(struct cfi *cfi, uint64_t address, struct unwind_row *row);

#endif
