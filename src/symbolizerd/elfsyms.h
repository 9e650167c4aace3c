/* SPDX-License-Identifier: MIT */
/*
 * Offers the functions in an ELF file's symbol tables to addr_match. Runs in the parser.
 */
#ifndef KPROFS_SYMBOLIZERD_ELFSYMS_H
#define KPROFS_SYMBOLIZERD_ELFSYMS_H

#include <stdbool.h>

#include "symbolizerd/addr_match.h"
#include "symbolizerd/image.h"

/* Returns whether it has the full symbol table, not only the dynamic one. */
bool elfsyms_is_full(const struct image *image);

/*
 * Offers all functions, by the file's virtual addresses: those of the full table, otherwise those
 * of the dynamic table that have a size (between these are functions without names). The image's
 * bytes must outlive the addr_match. Returns false if there is no table.
 */
bool elfsyms_offer(const struct image *image, struct addr_match *match);

#endif
