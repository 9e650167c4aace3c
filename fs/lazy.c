/* SPDX-License-Identifier: MIT */
/* Texts that are made when they are read: see lazy.h. */
#include "fs/lazy.h"

#include <errno.h>
#include <pthread.h>

#include "base/growing.h"

/* A range whose read was cancelled. */
struct owed {
	uint64_t begin, end; /* end 0 if there is none */
	GString *bytes;	     /* NULL if the maker has not reached it */
};

struct lazy {
	const struct lazy_maker *ops; /* invariant */
	uint64_t size;		      /* invariant */
	pthread_mutex_t lock;	      /* the maker's, too; nothing is locked under it */
	void *maker;		      /* (lock) */
	GString *window;	      /* (lock) */
	uint64_t begin;		      /* (lock) offset of the window */
	bool ended;		      /* (lock) no piece follows */
	struct owed owed[LAZY_OWED_MAX]; /* (lock) */
	unsigned int next_owed;	      /* (lock) the slot that is reused next */
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

/* Its bytes were read, or its slot is needed for another range. */
static void settle(struct owed *owed)
{
	if (owed->bytes)
		g_string_free(owed->bytes, TRUE);
	*owed = (struct owed){ 0 };
}

void lazy_destroy(struct lazy *lazy)
{
	size_t i;

	if (!lazy)
		return;
	lazy->ops->destroy(lazy->maker);
	for (i = 0; i < LAZY_OWED_MAX; i++)
		settle(&lazy->owed[i]);
	g_string_free(lazy->window, TRUE);
	pthread_mutex_destroy(&lazy->lock);
	g_free(lazy);
}

uint64_t lazy_size(const struct lazy *lazy)
{
	return lazy->size;
}

int lazy_reserve(struct lazy *lazy)
{
	return growing_text(lazy->window, LAZY_WINDOW_BYTES);
}

void lazy_read_all(struct lazy *lazy, GString *out)
{
	while (lazy->ops->next(lazy->maker, out))
		;
}

static bool is_in_window(const struct lazy *lazy, uint64_t begin, uint64_t end)
{
	return begin >= lazy->begin && end <= lazy->begin + lazy->window->len;
}

static void copy_window(const struct lazy *lazy, uint64_t begin, uint64_t end, GString *out)
{
	g_string_append_len(out, lazy->window->str + (begin - lazy->begin), (gssize)(end - begin));
}

/* Discards bytes far behind `offset`, once there are many. */
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

/* ---- reads that were cancelled ------------------------------------------------------------------ */

static struct owed *find_owed(struct lazy *lazy, uint64_t begin, uint64_t end)
{
	size_t i;

	for (i = 0; i < LAZY_OWED_MAX; i++)
		if (lazy->owed[i].begin <= begin && end <= lazy->owed[i].end)
			return &lazy->owed[i];
	return NULL;
}

/* Its end has not been made, or the read would have been answered. */
static void owe(struct lazy *lazy, uint64_t begin, uint64_t end)
{
	struct owed *owed = &lazy->owed[lazy->next_owed];

	if (find_owed(lazy, begin, end) || end - begin > LAZY_OWED_BYTES)
		return;
	lazy->next_owed = (lazy->next_owed + 1) % LAZY_OWED_MAX;
	settle(owed);
	owed->begin = begin;
	owed->end = end;
}

/*
 * Returns the lowest offset that the window must still have, for the read at `offset` and for
 * cancelled reads.
 */
static uint64_t find_first_needed(const struct lazy *lazy, uint64_t offset)
{
	size_t i;

	for (i = 0; i < LAZY_OWED_MAX; i++) {
		const struct owed *owed = &lazy->owed[i];

		if (owed->end && !owed->bytes && owed->begin >= lazy->begin)
			offset = MIN(offset, owed->begin);
	}
	return offset;
}

static void put_aside(struct lazy *lazy)
{
	size_t i;

	for (i = 0; i < LAZY_OWED_MAX; i++) {
		struct owed *owed = &lazy->owed[i];

		if (!owed->end || owed->bytes || !is_in_window(lazy, owed->begin, owed->end))
			continue;
		owed->bytes = g_string_sized_new((gsize)(owed->end - owed->begin));
		copy_window(lazy, owed->begin, owed->end, owed->bytes);
	}
}

/* ---- reading ---------------------------------------------------------------------------------- */

static void make_until(struct lazy *lazy, uint64_t offset, uint64_t end,
	const struct cancel *cancel)
{
	while (!lazy->ended && lazy->begin + lazy->window->len < end) {
		move_window(lazy, find_first_needed(lazy, offset));
		lazy->ended = !lazy->ops->next(lazy->maker, lazy->window);
		put_aside(lazy);
		if (cancel_requested(cancel))
			return;
	}
}

static void begin_anew(struct lazy *lazy)
{
	lazy->ops->restart(lazy->maker);
	g_string_truncate(lazy->window, 0);
	lazy->begin = 0;
	lazy->ended = false;
}

static int read_range(struct lazy *lazy, uint64_t begin, uint64_t end, GString *out,
	const struct cancel *cancel)
{
	struct owed *owed = find_owed(lazy, begin, end);

	if (owed && owed->bytes) {
		g_string_append_len(out, owed->bytes->str + (begin - owed->begin),
			(gssize)(end - begin));
		if (end == owed->end)
			settle(owed);
		return 0;
	}
	if (begin < lazy->begin)
		begin_anew(lazy);
	make_until(lazy, begin, end, cancel);
	if (is_in_window(lazy, begin, end)) {
		copy_window(lazy, begin, end, out);
		return 0;
	}
	if (lazy->ended)
		return -EIO; /* the text is shorter than its size: an error of the maker */
	owe(lazy, begin, end);
	return -EINTR;
}

int lazy_read(struct lazy *lazy, uint64_t offset, size_t size, GString *out,
	const struct cancel *cancel)
{
	int ret;

	if (offset >= lazy->size)
		return 0;
	pthread_mutex_lock(&lazy->lock);
	ret = read_range(lazy, offset, offset + MIN(size, lazy->size - offset), out, cancel);
	pthread_mutex_unlock(&lazy->lock);
	return ret;
}
