/* SPDX-License-Identifier: MIT */
/* JSON strings and members. Thread-safe. */
#ifndef KPROFS_FORMATS_JSON_H
#define KPROFS_FORMATS_JSON_H

#include <glib.h>
#include <stdio.h>

/*
 * Appends a string in quotes, whatever its bytes are: the result is ASCII. Bytes that are not UTF-8
 * become \xNN in the value of the string, since JSON has characters only.
 */
void json_append_string(GString *out, const char *text);

/* Appends `"NAME":` and the string; a comma comes first unless the text ends in a bracket. */
void json_append_member(GString *out, const char *name, const char *text);

/* Appends `"NAME":` in the same way; the caller appends the value. */
void json_append_name(GString *out, const char *name);

/* Writes the text and empties it; the caller checks the stream. */
void json_flush(GString *text, FILE *out);

#endif
