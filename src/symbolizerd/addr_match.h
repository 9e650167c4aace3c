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
#ifndef KPROFS_SYMBOLIZERD_ADDR_MATCH_H
#define KPROFS_SYMBOLIZERD_ADDR_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct addr_match_symbol {
	uint64_t start;
	uint64_t size;    /* bytes; 0: not known */
	uint64_t limit;   /* without a size: covers nothing from here on */
	const char *name; /* the caller's, as long as the lookup */
	uint8_t rank;
	bool foreign; /* covers its addresses, and is no answer: it only keeps others from them */
	bool latest;  /* of those of the same start and rank, the last one offered is taken */
};

struct addr_match;

/* The addresses stay the caller's, ascending, without doubles. */
struct addr_match *addr_match_create(const uint64_t *addresses, size_t count);
void addr_match_destroy(struct addr_match *lookup);

void addr_match_offer(struct addr_match *lookup, const struct addr_match_symbol *symbol);

/*
 * As addr_match_offer() for tables where the later symbol is the true one, wherever it begins: code
 * that was moved or replaced. Its size must be known; not to be mixed with the other.
 */
void addr_match_replace(struct addr_match *lookup, const struct addr_match_symbol *symbol);

/* After the last offer, before the first question. */
void addr_match_finish(struct addr_match *lookup);

/* The symbol of the i-th address, NULL: none covers it, or a foreign one. */
const struct addr_match_symbol *addr_match_answer(const struct addr_match *lookup, size_t i);

#endif
