/* SPDX-License-Identifier: MIT */
/*
 * The functions in an ELF file's symbol tables, offered to a lookup. Runs in the parser.
 */
#ifndef KPROFS_SYMBOLIZERD_ELFSYMS_H
#define KPROFS_SYMBOLIZERD_ELFSYMS_H

#include <stdbool.h>

#include "symbolizerd/image.h"
#include "symbolizerd/addr_match.h"

/* Has it the full table of symbols, not only the dynamic one? */
bool elfsyms_is_full(const struct image *image);

/*
 * Offers all functions, by the file's own addresses: those of the full table, else the dynamic ones
 * that have a size (between them lie functions that the file does not name). The image's bytes must
 * outlive the lookup. False: there is no table.
 */
bool elfsyms_offer(const struct image *image, struct addr_match *lookup);

#endif
