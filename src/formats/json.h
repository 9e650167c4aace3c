/* SPDX-License-Identifier: MIT */
/* What JSON needs of strings and numbers. Thread-safe. */
#ifndef KPROFS_FORMATS_JSON_H
#define KPROFS_FORMATS_JSON_H

#include <glib.h>

/*
 * Appends a string in quotes, whatever its bytes are: the result is ASCII and UTF-8 both. Bytes
 * that are not UTF-8 become \xNN in the string itself, since JSON has no bytes.
 */
void json_append_string(GString *out, const char *text);

/* The same behind `"NAME":`, with a comma in front where something other than a bracket stands. */
void json_append_member(GString *out, const char *name, const char *text);

/* A name, for a value that the caller appends. */
void json_append_name(GString *out, const char *name);

#endif
