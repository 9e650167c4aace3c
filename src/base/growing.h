/* SPDX-License-Identifier: MIT */
/*
 * Arrays and texts whose size depends on what users, captures or traces hold. They return -ENOMEM
 * where GArray and GString would end the process. One thread at a time.
 */
#ifndef KPROFS_BASE_GROWING_H
#define KPROFS_BASE_GROWING_H

#include <glib.h>

/* An array; g_array_index() and `len` work as for a GArray. */
struct growing {
	char *data;
	guint len;
	guint room;  /* items */
	guint bytes; /* of one item */
};

struct growing *growing_create(guint bytes);
/* Does nothing for NULL. */
void growing_destroy(struct growing *growing);

/* Appends a copy of the item. Returns 0 or -ENOMEM. */
int growing_add(struct growing *growing, const void *item);
/* Removes the items from this index on. */
void growing_cut(struct growing *growing, guint len);
void growing_sort(struct growing *growing, GCompareFunc compare);

/* Grows a text so that `more` bytes can be appended without an allocation. Returns 0 or -ENOMEM. */
int growing_text(GString *text, gsize more);

#endif
