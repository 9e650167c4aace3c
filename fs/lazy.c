/* SPDX-License-Identifier: MIT */
/* Texts made as they are read: see lazy.h. */
#include "fs/lazy.h"

#include <errno.h>
#include <pthread.h>

struct lazy {
	const struct lazy_maker *ops; /* invariant */
	uint64_t size;		      /* invariant */
	pthread_mutex_t lock;	      /* the maker's, too; nothing is locked under it */
	void *maker;		      /* (lock) */
	GString *window;	      /* (lock) */
	uint64_t begin;		      /* (lock) where the window stands */
	bool ended;		      /* (lock) nothing comes behind it */
};

struct lazy *lazy_create(const struct lazy_maker *ops, void *maker, uint64_t size)
{
	struct lazy *lazy = g_new0(struct lazy, 1);

	pthread_mutex_init(&lazy->lock, NULL);
	lazy->ops = ops;
	lazy->maker = maker;
	lazy->size = size;
	lazy->window = g_string_new(NULL);
	return lazy;
}

void lazy_destroy(struct lazy *lazy)
{
	if (!lazy)
		return;
	lazy->ops->destroy(lazy->maker);
	g_string_free(lazy->window, TRUE);
	pthread_mutex_destroy(&lazy->lock);
	g_free(lazy);
}

uint64_t lazy_size(const struct lazy *lazy)
{
	return lazy->size;
}

void lazy_read_all(struct lazy *lazy, GString *out)
{
	while (lazy->ops->next(lazy->maker, out))
		;
}

/* Forgets what is far behind `offset`, once there is much of it. */
static void move_window(struct lazy *lazy, uint64_t offset)
{
	uint64_t end = lazy->begin + lazy->window->len, keep;

	if (lazy->window->len < LAZY_WINDOW_BYTES / 2)
		return;
	keep = MIN(offset, end);
	keep = keep > lazy->begin + LAZY_BEHIND_BYTES ? keep - LAZY_BEHIND_BYTES : lazy->begin;
	g_string_erase(lazy->window, 0, (gssize)(keep - lazy->begin));
	lazy->begin = keep;
}

static void make_until(struct lazy *lazy, uint64_t offset, uint64_t end,
	bool (*cancelled)(void *arg), void *arg)
{
	while (!lazy->ended && lazy->begin + lazy->window->len < end && !cancelled(arg)) {
		move_window(lazy, offset);
		lazy->ended = !lazy->ops->next(lazy->maker, lazy->window);
	}
}

int lazy_read(struct lazy *lazy, uint64_t offset, size_t size, GString *out,
	bool (*cancelled)(void *arg), void *arg)
{
	uint64_t end;
	int ret = 0;

	if (offset >= lazy->size)
		return 0;
	end = offset + MIN(size, lazy->size - offset);
	pthread_mutex_lock(&lazy->lock);
	if (offset < lazy->begin) {
		lazy->ops->restart(lazy->maker);
		g_string_truncate(lazy->window, 0);
		lazy->begin = 0;
		lazy->ended = false;
	}
	make_until(lazy, offset, end, cancelled, arg);
	if (lazy->begin + lazy->window->len >= end)
		g_string_append_len(out, lazy->window->str + (offset - lazy->begin),
			(gssize)(end - offset));
	else
		ret = lazy->ended ? -EIO : -EINTR; /* shorter than it said: that must not be */
	pthread_mutex_unlock(&lazy->lock);
	return ret;
}
