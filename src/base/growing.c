/* SPDX-License-Identifier: MIT */
/* Arrays and texts whose growth can fail: see growing.h. */
#include "base/growing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_FIRST 16

struct growing *growing_create(guint bytes)
{
	struct growing *growing = g_new0(struct growing, 1);

	growing->bytes = bytes;
	return growing;
}

void growing_destroy(struct growing *growing)
{
	if (!growing)
		return;
	g_free(growing->data);
	g_free(growing);
}

int growing_add(struct growing *growing, const void *item)
{
	if (growing->len == growing->room) {
		guint room = growing->room ? growing->room * 2 : ITEMS_FIRST;
		char *data = room > growing->room ?
			g_try_realloc_n(growing->data, room, growing->bytes) : NULL;

		if (!data)
			return -ENOMEM;
		growing->data = data;
		growing->room = room;
	}
	memcpy(growing->data + (gsize)growing->len++ * growing->bytes, item, growing->bytes);
	return 0;
}

void growing_cut(struct growing *growing, guint len)
{
	growing->len = MIN(growing->len, len);
}

void growing_sort(struct growing *growing, GCompareFunc compare)
{
	if (growing->len)
		qsort(growing->data, growing->len, growing->bytes, compare);
}

int growing_text(GString *text, gsize more)
{
	gsize need, room;
	char *str;

	if (more < text->allocated_len - text->len)
		return 0;
	if (more > G_MAXSIZE / 2 - text->len - 1)
		return -ENOMEM;
	need = text->len + more + 1; /* with the NUL */
	room = MAX(need, text->allocated_len * 2);
	str = g_try_realloc(text->str, room);
	if (!str)
		return -ENOMEM;
	text->str = str;
	text->allocated_len = room;
	return 0;
}
