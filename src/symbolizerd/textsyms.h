/* SPDX-License-Identifier: MIT */
/*
 * Symbols in text form: the kernel's /proc/kallsyms, and the map that a JIT writes to
 * /tmp/perf-PID.map. They are offered to addr_match. Runs in the parser. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_TEXTSYMS_H
#define KPROFS_SYMBOLIZERD_TEXTSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizerd/addr_match.h"

/* Bytes that are read. A kernel has 8 MB of symbols, the map of a large JIT some tens. */
#define TEXTSYMS_BYTES_MAX (128u << 20)

/*
 * Returns the contents of a file from its current offset, followed by a NUL; the caller frees them
 * with g_free. If the file shrinks or grows meanwhile, the bytes that were read are returned.
 * Returns NULL after a read error.
 */
char *textsyms_read(int fd, size_t *size);

struct textsyms_kernel {
	const char *path;    /* "[kernel.kallsyms]" for the kernel itself, "[module]" */
	uint64_t text;       /* required start address of the kernel's text */
	uint64_t start, end; /* of the module: symbols outside it are skipped; end 0 if not known */
};

/*
 * Offers the functions of the kernel or of one module. Returns false if it is another kernel, or it
 * hides its addresses; the caller then discards the offered symbols. The text is split into
 * strings, which must outlive the addr_match.
 */
bool textsyms_offer_kernel(
	char *text, const struct textsyms_kernel *kernel, struct addr_match *match);

/*
 * Offers the lines `START SIZE name`, numbers in hex; the name may contain blanks. Other lines are
 * skipped. The text is split into strings. A later line replaces an earlier one at its address,
 * since a JIT that moves code appends lines.
 */
void textsyms_offer_jit(char *text, struct addr_match *match);

#endif
