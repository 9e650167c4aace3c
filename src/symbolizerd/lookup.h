/* SPDX-License-Identifier: MIT */
/*
 * Which symbol covers which of a few addresses, out of a table of many that is never sorted or
 * copied: each symbol is offered once, and finds its addresses by bisection.
 *
 * A symbol with a size covers so many bytes; of several the one that begins last, so the innermost.
 * One without a size goes on to the next symbol, or its limit. Of symbols that begin together the
 * one of the lowest rank is taken, then (where `latest` says so) the one that was offered last,
 * else the one with fewer underscores in front, then by name.
 *
 * Runs in the parser. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_LOOKUP_H
#define KPROFS_SYMBOLIZERD_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lookup_symbol {
	uint64_t start;
	uint64_t size;	  /* bytes; 0: not known */
	uint64_t limit;	  /* without a size: covers nothing from here on */
	const char *name; /* the caller's, as long as the lookup */
	uint8_t rank;
	bool foreign; /* covers its addresses, and is no answer: it only keeps others from them */
	bool latest;  /* of those of the same start and rank, the last one offered is taken */
};

struct lookup;

/* The addresses stay the caller's, ascending, without doubles. */
struct lookup *lookup_create(const uint64_t *addresses, size_t count);
void lookup_destroy(struct lookup *lookup);

void lookup_offer(struct lookup *lookup, const struct lookup_symbol *symbol);

/*
 * As lookup_offer() for tables where the later symbol is the true one, wherever it begins: code
 * that was moved or replaced. Its size must be known; not to be mixed with the other.
 */
void lookup_replace(struct lookup *lookup, const struct lookup_symbol *symbol);

/* After the last offer, before the first question. */
void lookup_finish(struct lookup *lookup);

/* The symbol of the i-th address, NULL: none covers it, or a foreign one. */
const struct lookup_symbol *lookup_answer(const struct lookup *lookup, size_t i);

#endif
