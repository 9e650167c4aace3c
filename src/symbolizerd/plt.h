/* SPDX-License-Identifier: MIT */
/*
 * The stubs of an ELF file's procedure linkage table, through which it calls functions of other
 * files: no symbol covers them. They are offered to addr_match as FUNCTION@plt. Runs in the parser.
 * x86_64 and AArch64.
 */
#ifndef KPROFS_SYMBOLIZERD_PLT_H
#define KPROFS_SYMBOLIZERD_PLT_H

#include <glib.h>

#include "symbolizerd/addr_match.h"
#include "symbolizerd/image.h"

/* The suffix of such a name. */
#define PLT_SUFFIX "@plt"

/*
 * Offers the stubs that contain one of the addresses; these are as in addr_match_create(). The
 * names are put into `strings`, which must outlive the addr_match.
 */
void plt_offer(const struct image *image, const uint64_t *addresses, size_t count,
	struct addr_match *match, GStringChunk *strings);

#endif
