/* SPDX-License-Identifier: MIT */
/*
 * A ring of whole messages with bounded text: when room is needed, the oldest leave whole.
 *
 * Only the text counts against the bound; number, time and length of each message are kept beside
 * it (16 bytes a message). Messages have numbers that are never used twice, so whoever reads on
 * later knows what left in between. Knows nothing of what the text says.
 *
 * No locking: one thread at a time for each ring. Texts handed out are the ring's own memory and
 * good until the next append or clear.
 */
#ifndef KPROFS_TRACE_TEXTRING_H
#define KPROFS_TRACE_TEXTRING_H

#include <stddef.h>
#include <stdint.h>

struct textring;

/* A message; its text is in two parts where it goes over the end of the memory. */
struct textring_message {
	uint64_t time_ns;
	const char *text[2];
	size_t length[2]; /* the second is 0 where one part is enough */
};

/* `bytes`: how much text is held at most, at least 1. -EINVAL; -ENOMEM. */
int textring_create(size_t bytes, struct textring **ring);
void textring_destroy(struct textring *ring);

/*
 * Appends a copy of the text as one message and returns in *evicted how many messages left for it.
 * -EMSGSIZE: more than the ring can hold; -EINVAL: empty. Nothing has changed then. -ENOMEM: it is not in
 * the ring, though others may have left for it.
 */
int textring_append(struct textring *ring, uint64_t time_ns, const char *text, size_t length,
	uint64_t *evicted);

/* Forgets all messages; their numbers are not used again. */
void textring_clear(struct textring *ring);

/* How much text is held. */
size_t textring_bytes(const struct textring *ring);

/* The messages held have the numbers from first up to but not including end. */
uint64_t textring_first(const struct textring *ring);
uint64_t textring_end(const struct textring *ring);

/* -ENOENT: that number is not held (any more, or yet). */
int textring_get(const struct textring *ring, uint64_t number, struct textring_message *message);

/* All the text held, oldest first, in at most two parts. Only text and length are set. */
void textring_all(const struct textring *ring, struct textring_message *all);

#endif
