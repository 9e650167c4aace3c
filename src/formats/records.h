/* SPDX-License-Identifier: MIT */
/*
 * The records themselves, as they are in kpdata: a part of a capture, or several merged, as one file. In
 * views/ it is a file with a size and positions, where kpdata is a stream.
 */
#ifndef KPROFS_FORMATS_RECORDS_H
#define KPROFS_FORMATS_RECORDS_H

#include <stdio.h>

#include "base/err.h"
#include "formats/view_input.h"

/* As view_format.write. */
int records_write(const struct view_input *input, FILE *out, struct err *err);

#endif
