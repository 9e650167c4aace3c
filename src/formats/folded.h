/* SPDX-License-Identifier: MIT */
/*
 * The capture as folded stacks, which flame-graph tools read: one line a stack,
 *
 *	FRAME;FRAME;...;FRAME COUNT
 *
 * outermost first: the event, where the capture has several; the process; the functions. COUNT is
 * in samples, so that all lines together make as many samples as the capture holds:
 *
 *	[idle] COUNT	in the idle task
 *	[kprofs] COUNT	in the server that wrote the capture
 *
 * are lines of an event, too. As flame-graph tools have it, functions of the kernel end in `_[k]`,
 * inlined ones in `_[i]`; a semicolon in a name becomes a colon. A blank in front of a digit
 * becomes `_`, since a number behind a blank would be read as a count. What text.h makes printable
 * is.
 */
#ifndef KPROFS_FORMATS_FOLDED_H
#define KPROFS_FORMATS_FOLDED_H

#include <stdio.h>

#include "base/err.h"
#include "formats/view.h"

/* What names of more than a thousand bytes could make of a capture is gigabytes. */
#define FOLDED_BYTES_MAX (256u << 20)

/* As view_format.write; -EFBIG: more than FOLDED_BYTES_MAX, or as calltree_create() has it. */
int folded_write(const struct view_input *input, FILE *out, struct err *err);

#endif
