/* SPDX-License-Identifier: MIT */
/*
 * A small map from two words to a third: what a stream last said about a CPU and something else.
 * One thread at a time.
 */
#ifndef KPROFS_CAPTURE_PAIRS_H
#define KPROFS_CAPTURE_PAIRS_H

#include <glib.h>
#include <stdint.h>

#include "capture/table.h"

struct pair {
	uint64_t a, b;
	uint64_t value;
};

struct pairs {
	GArray *array; /* struct pair */
	struct table table;
};

void pairs_init(struct pairs *pairs);
void pairs_fini(struct pairs *pairs);
void pairs_clear(struct pairs *pairs);

/* The value of (a, b), NULL where none was set; valid until the next pairs_set. */
const uint64_t *pairs_find(const struct pairs *pairs, uint64_t a, uint64_t b);
void pairs_set(struct pairs *pairs, uint64_t a, uint64_t b, uint64_t value);

static inline uint32_t pairs_count(const struct pairs *pairs)
{
	return pairs->array->len;
}

static inline const struct pair *pairs_at(const struct pairs *pairs, uint32_t i)
{
	return &g_array_index(pairs->array, struct pair, i);
}

#endif
