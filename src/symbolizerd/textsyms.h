/* SPDX-License-Identifier: MIT */
/*
 * Symbols that come as lines of text: the kernel's /proc/kallsyms, and what a JIT writes into
 * /tmp/perf-PID.map. Offered to a lookup. Runs in the parser. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_TEXTSYMS_H
#define KPROFS_SYMBOLIZERD_TEXTSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizerd/addr_match.h"

/* A kernel has 8 MB of them, a large JIT's map some tens. The rest of a larger file is not read. */
#define TEXTSYMS_BYTES_MAX (128u << 20)

/*
 * The whole of a file, with a NUL behind it, from where it stands; to be freed with g_free. A file
 * may be cut, or grow: what was read counts. NULL: it can't be read.
 */
char *textsyms_read(int fd, size_t *size);

struct textsyms_kernel {
	const char *path;    /* "[kernel.kallsyms]" for the kernel itself, "[module]" */
	uint64_t text;	     /* where the kernel's text must begin */
	uint64_t start, end; /* of the module: symbols elsewhere are not its; end 0: not known */
};

/*
 * Offers the functions of the kernel or of one module. False: it is not that kernel, or it hides
 * its addresses; what has been offered counts for nothing. The text is cut into strings, which must
 * outlive the lookup.
 */
bool textsyms_offer_kernel(
	char *text, const struct textsyms_kernel *kernel, struct addr_match *lookup);

/*
 * Offers the lines `START SIZE name`, numbers in hex, where the name may have blanks. Others are
 * passed over. The text is cut into strings. A later line replaces an earlier one at its address: a
 * JIT that moves code appends.
 */
void textsyms_offer_jit(char *text, struct addr_match *lookup);

#endif
