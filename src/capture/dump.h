/* SPDX-License-Identifier: MIT */
/*
 * kpdata as text: one line for each record, for scripts and tests.
 *
 *	OFFSET TYPE KEY=VALUE...
 *
 * The keys of a type keep their order; new ones are added at the end of the line only. Strings are
 * in double quotes, see base/text.h. Thread-safe.
 */
#ifndef KPROFS_CAPTURE_DUMP_H
#define KPROFS_CAPTURE_DUMP_H

#include <glib.h>

#include "capture/decode.h"

/* Appends the line of this record with its newline. */
void dump_record(const struct decode_record *record, GString *out);

#endif
