/* SPDX-License-Identifier: MIT */
/*
 * Arrays and texts that grow with what users, captures or traces hold, and say -ENOMEM where GArray and
 * GString end the process. One thread at a time.
 */
#ifndef KPROFS_BASE_GROWING_H
#define KPROFS_BASE_GROWING_H

#include <glib.h>

/* An array: g_array_index() and `len` are as of a GArray. */
struct growing {
	char *data;
	guint len;
	guint room;  /* items */
	guint bytes; /* of an item */
};

struct growing *growing_create(guint bytes);
/* Harmless for NULL. */
void growing_destroy(struct growing *growing);

/* Appends a copy of the item; -ENOMEM. */
int growing_add(struct growing *growing, const void *item);
/* Forgets the items from this one on. */
void growing_cut(struct growing *growing, guint len);
void growing_sort(struct growing *growing, GCompareFunc compare);

/* Makes room in a text for so many bytes more, which then are appended without an allocation. -ENOMEM */
int growing_text(GString *text, gsize more);

#endif
