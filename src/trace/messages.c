/* SPDX-License-Identifier: MIT */
/*
 * A ring of whole messages: see messages.h.
 *
 * There are two rings: the bytes, and one entry for each message. An entry holds the end of its
 * text, counted from the first byte ever appended; the text begins at the end of the one before.
 * Positions in memory are these counts modulo the size, so nothing is ever moved.
 */
#include "trace/messages.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

/* entries at the beginning; doubled as needed, at most to one for each byte held */
#define ENTRIES_FIRST 64

struct messages_entry {
	uint64_t time_ns;
	uint64_t end; /* of the text, counted from the first byte ever */
};

struct messages {
	char *text;
	size_t size;
	uint64_t begin, end; /* of the text held, counted from the first byte ever */

	struct messages_entry *entries; /* message N is at N & (capacity - 1) */
	uint64_t capacity;     /* a power of two */
	uint64_t first, next;  /* numbers of the oldest message and of the next one */
};

int messages_create(size_t bytes, struct messages **ring)
{
	struct messages *r;
	char *text;

	if (!bytes)
		return -EINVAL;
	text = g_try_malloc(bytes);
	if (!text)
		return -ENOMEM;
	r = g_new0(struct messages, 1);
	r->text = text;
	r->size = bytes;
	r->capacity = ENTRIES_FIRST;
	r->entries = g_new(struct messages_entry, r->capacity);
	*ring = r;
	return 0;
}

void messages_destroy(struct messages *ring)
{
	if (!ring)
		return;
	g_free(ring->entries);
	g_free(ring->text);
	g_free(ring);
}

static struct messages_entry *find_entry(const struct messages *ring, uint64_t number)
{
	return &ring->entries[number & (ring->capacity - 1)];
}

static int grow_entries(struct messages *ring)
{
	struct messages_entry *old = ring->entries;
	struct messages_entry *entries = g_try_new(struct messages_entry, ring->capacity * 2);
	uint64_t old_capacity = ring->capacity;
	uint64_t number;

	if (!entries)
		return -ENOMEM;
	ring->capacity *= 2;
	ring->entries = entries;
	for (number = ring->first; number < ring->next; number++)
		*find_entry(ring, number) = old[number & (old_capacity - 1)];
	g_free(old);
	return 0;
}

/* The text between two counts, as one part or two. */
static void locate_text(
	const struct messages *ring, uint64_t begin, uint64_t end, struct messages_message *message)
{
	size_t length = (size_t)(end - begin);
	size_t at = (size_t)(begin % ring->size);
	size_t before_wrap = MIN(length, ring->size - at);

	message->text[0] = ring->text + at;
	message->length[0] = before_wrap;
	message->text[1] = ring->text;
	message->length[1] = length - before_wrap;
}

int messages_append(
	struct messages *ring, uint64_t time_ns, const char *text, size_t length, uint64_t *evicted)
{
	uint64_t first = ring->first;
	size_t at, before_wrap;
	int ret;

	if (!length)
		return -EINVAL;
	if (length > ring->size)
		return -EMSGSIZE;
	while (ring->end - ring->begin > ring->size - length)
		ring->begin = find_entry(ring, ring->first++)->end;
	if (ring->next - ring->first == ring->capacity) {
		*evicted = ring->first - first;
		ret = grow_entries(ring);
		if (ret)
			return ret;
	}

	at = (size_t)(ring->end % ring->size);
	before_wrap = MIN(length, ring->size - at);
	memcpy(ring->text + at, text, before_wrap);
	memcpy(ring->text, text + before_wrap, length - before_wrap);
	ring->end += length;
	*find_entry(ring, ring->next++) =
		(struct messages_entry){.time_ns = time_ns, .end = ring->end};
	*evicted = ring->first - first;
	return 0;
}

void messages_clear(struct messages *ring)
{
	ring->first = ring->next;
	ring->begin = ring->end;
}

size_t messages_bytes(const struct messages *ring)
{
	return (size_t)(ring->end - ring->begin);
}

uint64_t messages_first(const struct messages *ring)
{
	return ring->first;
}

uint64_t messages_end(const struct messages *ring)
{
	return ring->next;
}

int messages_get(const struct messages *ring, uint64_t number, struct messages_message *message)
{
	uint64_t begin;

	if (number < ring->first || number >= ring->next)
		return -ENOENT;
	begin = number == ring->first ? ring->begin : find_entry(ring, number - 1)->end;
	locate_text(ring, begin, find_entry(ring, number)->end, message);
	message->time_ns = find_entry(ring, number)->time_ns;
	return 0;
}

void messages_all(const struct messages *ring, struct messages_message *all)
{
	locate_text(ring, ring->begin, ring->end, all);
}
