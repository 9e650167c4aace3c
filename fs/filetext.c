/* SPDX-License-Identifier: MIT */
/* The text of an open file: see filetext.h. */
#include "fs/filetext.h"

#include <unistd.h>

#include "fs/lazy.h"

struct filetext *filetext_create(GString *content)
{
	struct filetext *text = g_atomic_rc_box_new0(struct filetext);

	text->fd = -1;
	text->size = content->len;
	text->bytes = g_string_free(content, FALSE);
	clock_gettime(CLOCK_REALTIME, &text->time);
	return text;
}

struct filetext *filetext_create_file(int fd, size_t size)
{
	struct filetext *text = g_atomic_rc_box_new0(struct filetext);

	text->fd = fd;
	text->size = size;
	clock_gettime(CLOCK_REALTIME, &text->time);
	return text;
}

struct filetext *filetext_create_borrowed(int fd, size_t size)
{
	struct filetext *text = filetext_create_file(fd, size);

	text->borrowed = true;
	return text;
}

struct filetext *filetext_create_lazy(struct lazy *lazy)
{
	struct filetext *text = filetext_create_file(-1, lazy_size(lazy));

	text->lazy = lazy;
	return text;
}

void filetext_on_free(struct filetext *text, void (*on_free)(void *arg), void *arg)
{
	text->on_free = on_free;
	text->arg = arg;
}

struct filetext *filetext_get(struct filetext *text)
{
	return g_atomic_rc_box_acquire(text);
}

static void clear_text(void *data)
{
	struct filetext *text = data;

	g_free(text->bytes);
	lazy_destroy(text->lazy);
	if (text->fd >= 0 && !text->borrowed)
		close(text->fd);
	if (text->on_free)
		text->on_free(text->arg);
}

void filetext_put(struct filetext *text)
{
	if (text)
		g_atomic_rc_box_release_full(text, clear_text);
}
