/* SPDX-License-Identifier: MIT */
/*
 * A ring of whole messages with bounded text: when room is needed, the oldest messages are evicted.
 *
 * Only the text counts against the bound; number, time and length of each message are kept beside
 * it (16 bytes a message). Messages have numbers that are never used twice, so a reader that goes
 * on later knows how many were evicted in between. The ring does not interpret the text.
 *
 * No locking: one thread at a time for each ring. Texts handed out are the ring's memory and valid
 * until the next append or clear.
 */
#ifndef KPROFS_TRACE_MESSAGES_H
#define KPROFS_TRACE_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

struct messages;

/* A message; its text is in two parts where it wraps around the end of the memory. */
struct messages_message {
	uint64_t time_ns;
	const char *text[2];
	size_t length[2]; /* the second is 0 if the text does not wrap */
};

/* `bytes`: how much text is held at most, at least 1. -EINVAL; -ENOMEM. */
int messages_create(size_t bytes, struct messages **ring);
void messages_destroy(struct messages *ring);

/*
 * Appends a copy of the text as one message and returns in *evicted how many messages were evicted
 * for it. Returns 0; -EMSGSIZE if the ring cannot hold the text; -EINVAL if the text is empty.
 * After both, nothing has changed. After -ENOMEM the message was not appended, and others may have
 * been evicted for it.
 */
int messages_append(struct messages *ring, uint64_t time_ns, const char *text, size_t length,
	uint64_t *evicted);

/* Forgets all messages; their numbers are not used again. */
void messages_clear(struct messages *ring);

/* Bytes of text held. */
size_t messages_bytes(const struct messages *ring);

/* The messages held have the numbers from first up to but not including end. */
uint64_t messages_first(const struct messages *ring);
uint64_t messages_end(const struct messages *ring);

/* Returns 0, or -ENOENT if no message with that number is held. */
int messages_get(const struct messages *ring, uint64_t number, struct messages_message *message);

/* All the text held, oldest first, in at most two parts. Only text and length are set. */
void messages_all(const struct messages *ring, struct messages_message *all);

#endif
