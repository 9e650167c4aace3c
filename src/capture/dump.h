/* SPDX-License-Identifier: MIT */
/*
 * kpdata as text: a record a line, for scripts and tests.
 *
 *	OFFSET TYPE KEY=VALUE...
 *
 * The keys of a type keep their order; new ones are only ever added at the end of the line. Strings
 * stand in double quotes, see text.h. Thread-safe.
 */
#ifndef KPROFS_CAPTURE_DUMP_H
#define KPROFS_CAPTURE_DUMP_H

#include <glib.h>

#include "capture/decode.h"

/* Appends the line of this record with its newline. */
void dump_record(const struct decode_record *record, GString *out);

#endif
