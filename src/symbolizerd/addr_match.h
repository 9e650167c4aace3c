/* SPDX-License-Identifier: MIT */
/*
 * Finds, for each of a few addresses, the symbol that covers it, in a large table that is never
 * sorted or copied: each symbol is offered once, and its addresses are found by bisection.
 *
 * A symbol with a size covers that many bytes; if several cover an address, the one with the
 * highest start, the innermost, is taken. A symbol without a size covers the addresses up to the
 * next symbol, or its limit. Of symbols with the same start the one of the lowest rank is taken,
 * then (if `latest` is set) the one that was offered last, else the one with fewer leading
 * underscores, then by name.
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
	uint64_t size;    /* bytes; 0 if not known */
	uint64_t limit;   /* without a size: end of what it covers */
	const char *name; /* the caller's, valid as long as the addr_match */
	uint8_t rank;
	/* covers addresses without being a result for them, so that no other symbol gets them */
	bool foreign;
	bool latest; /* of symbols with the same start and rank, the last one offered is taken */
};

struct addr_match;

/* The caller keeps the ownership of the addresses, which are ascending, without duplicates. */
struct addr_match *addr_match_create(const uint64_t *addresses, size_t count);
void addr_match_destroy(struct addr_match *match);

void addr_match_offer(struct addr_match *match, const struct addr_match_symbol *symbol);

/*
 * Like addr_match_offer(), for tables in which a later symbol replaces earlier ones, wherever it
 * begins: code that was moved or replaced. Its size must be known; not to be mixed with
 * addr_match_offer().
 */
void addr_match_replace(struct addr_match *match, const struct addr_match_symbol *symbol);

/* Called after the last offer, before the first addr_match_find(). */
void addr_match_finish(struct addr_match *match);

/* Returns the symbol of the i-th address, or NULL if none covers it or a foreign one does. */
const struct addr_match_symbol *addr_match_find(const struct addr_match *match, size_t i);

#endif
