/* SPDX-License-Identifier: MIT */
/*
 * Texts that are too long to be kept in memory: their size is known, and their bytes are made when
 * they are read.
 *
 * Pieces are made in order and held in a window. A read a little behind or ahead of the others (the
 * kernel reads ahead, with several requests at once) is in the window; a read far back starts the
 * text again. Thread-safe. A read blocks while pieces are made, so workers do not call it.
 *
 * A program usually repeats a cancelled read. If the pieces made for it were discarded, a reader
 * that is interrupted often would never reach the end. So each read makes at least one piece, and
 * its range is remembered: when the maker reaches that range, for any reader, its bytes are kept. A
 * range restarts the text once, and not at each attempt.
 */
#ifndef KPROFS_FS_LAZY_H
#define KPROFS_FS_LAZY_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"

struct lazy;

/* The size of the window, and the part of it that is kept behind the reader. */
#define LAZY_WINDOW_BYTES ((size_t)4 << 20)
#define LAZY_BEHIND_BYTES ((size_t)1 << 20)

/*
 * The number of cancelled reads that are remembered, as many as can run at once, and the bytes kept
 * for each.
 */
#define LAZY_OWED_MAX 4
#define LAZY_OWED_BYTES ((size_t)1 << 20) /* the largest read of the kernel */

/* The most bytes that a lazy text may have in memory. */
#define LAZY_HELD_BYTES (LAZY_WINDOW_BYTES + LAZY_OWED_MAX * LAZY_OWED_BYTES)

/* Makes the pieces; the same pieces after each restart. One call at a time. */
struct lazy_maker {
	bool (*next)(void *maker, GString *out); /* appends a piece; false if it was the last one */
	void (*restart)(void *maker);
	void (*destroy)(void *maker);
};

/* Takes ownership of the maker. `size` is that of all pieces. */
struct lazy *lazy_create(const struct lazy_maker *ops, void *maker, uint64_t size);
void lazy_destroy(struct lazy *lazy);

uint64_t lazy_size(const struct lazy *lazy);

/* Allocates the memory that it needs while it is read; returns -ENOMEM. */
int lazy_reserve(struct lazy *lazy);

/* Appends the whole text to `out`, if it is short; the lazy text must not be used after that. */
void lazy_read_all(struct lazy *lazy, GString *out);

/*
 * Appends the bytes at `offset`, `size` of them or as many as there are, to `out`. Returns -EINTR
 * if it was cancelled.
 */
int lazy_read(struct lazy *lazy, uint64_t offset, size_t size, GString *out,
	const struct cancel *cancel);

#endif
