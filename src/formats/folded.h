/* SPDX-License-Identifier: MIT */
/*
 * The capture as folded stacks, which flame-graph tools read: one line for each stack,
 *
 *	FRAME;FRAME;...;FRAME COUNT
 *
 * outermost first: the event, if the capture has several; the process; the functions. COUNT is in
 * samples. The sum of all lines is the number of samples of the capture, since samples
 *
 *	[idle] COUNT	in the idle task
 *	[kprofs] COUNT	in the server that wrote the capture
 *
 * are lines of an event, too. By the convention of flame-graph tools, functions of the kernel end
 * in `_[k]` and inlined ones in `_[i]`; a semicolon in a name becomes a colon. A blank before a
 * digit becomes `_`, since a number after a blank would be read as a count. Other bytes are escaped
 * as base/text.h does.
 */
#ifndef KPROFS_FORMATS_FOLDED_H
#define KPROFS_FORMATS_FOLDED_H

#include <stdio.h>

#include "base/err.h"
#include "formats/view_input.h"

/* A limit is needed: names of more than a thousand bytes could make gigabytes. */
#define FOLDED_BYTES_MAX (256u << 20)

/*
 * As view_format.write. Returns -EFBIG if the text is longer than FOLDED_BYTES_MAX or
 * calltree_create() fails with it.
 */
int folded_write(const struct view_input *input, FILE *out, struct err *err);

#endif
