/* SPDX-License-Identifier: MIT */
/*
 * Strings of which equal ones are stored once, with a count of their uses. Unlike GLib's g_ref_string, whose
 * interned strings belong to the whole process and can be freed by one thread while another finds them, these
 * belong to a table, which its user locks.
 */
#ifndef KPROFS_BASE_INTERNED_H
#define KPROFS_BASE_INTERNED_H

struct interned;

struct interned *interned_create(void);
/* All strings must have been released. NULL is allowed. */
void interned_destroy(struct interned *table);

/* Returns the string of the table that is equal to `text`, with one more use. */
const char *interned_new(struct interned *table, const char *text);
/* One more use of a string that interned_new() returned; returns it. */
const char *interned_get(const char *string);
/* Ends a use; the last one frees the string. NULL is allowed. */
void interned_release(const char *string);

#endif
