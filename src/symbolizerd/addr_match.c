/* SPDX-License-Identifier: MIT */
/* Finds the symbol that covers an address: see addr_match.h. */
#include "symbolizerd/addr_match.h"

#include <glib.h>
#include <string.h>

#include "base/bisect.h"

/*
 * Addresses that the symbols of one table may visit in addition to those they are found by.
 * Functions are nested only in assembly, so a table that needs more visits was made to use up CPU
 * time.
 */
#define VISITS_PER_ADDRESS 64
#define VISITS_MIN 1000000

struct addr_match {
	const uint64_t *addresses;
	size_t count;
	/* at i: the last symbol with a start above addresses[i - 1] and not above addresses[i] */
	struct addr_match_symbol *nearest;
	struct addr_match_symbol *covering; /* the innermost one with a size */
	uint64_t visits;                    /* remaining */
};

struct addr_match *addr_match_create(const uint64_t *addresses, size_t count)
{
	struct addr_match *match = g_new0(struct addr_match, 1);

	match->addresses = addresses;
	match->count = count;
	match->nearest = g_new0(struct addr_match_symbol, count + 1);
	match->covering = g_new0(struct addr_match_symbol, count + 1);
	match->visits = VISITS_MIN + (uint64_t)count * VISITS_PER_ADDRESS;
	return match;
}

void addr_match_destroy(struct addr_match *match)
{
	if (!match)
		return;
	g_free(match->nearest);
	g_free(match->covering);
	g_free(match);
}

/* Returns whether it is the better one of two symbols with the same start. */
static bool is_better(const struct addr_match_symbol *symbol, const struct addr_match_symbol *than)
{
	size_t a, b;

	if (symbol->rank != than->rank)
		return symbol->rank < than->rank;
	if (symbol->latest)
		return true;
	/* of aliases, the name with fewer leading underscores is the public one */
	a = strspn(symbol->name, "_");
	b = strspn(than->name, "_");
	return a != b ? a < b : strcmp(symbol->name, than->name) < 0;
}

static void improve(struct addr_match_symbol *best, const struct addr_match_symbol *symbol)
{
	if (!best->name || symbol->start > best->start ||
		(symbol->start == best->start && is_better(symbol, best)))
		*best = *symbol;
}

void addr_match_offer(struct addr_match *match, const struct addr_match_symbol *symbol)
{
	size_t i = bisect_u64(match->addresses, match->count, symbol->start);

	if (i < match->count)
		improve(&match->nearest[i], symbol);
	for (; i < match->count && match->addresses[i] - symbol->start < symbol->size; i++) {
		if (!match->visits)
			return;
		match->visits--;
		improve(&match->covering[i], symbol);
	}
}

void addr_match_replace(struct addr_match *match, const struct addr_match_symbol *symbol)
{
	size_t i = bisect_u64(match->addresses, match->count, symbol->start);

	for (; i < match->count && match->addresses[i] - symbol->start < symbol->size; i++) {
		if (!match->visits)
			return;
		match->visits--;
		match->covering[i] = *symbol;
	}
}

/* Returns whether the nearest symbol counts for the address that its size does not cover. */
static bool reaches(const struct addr_match_symbol *nearest,
	const struct addr_match_symbol *covering, uint64_t address)
{
	if (!nearest->name)
		return false;
	if (covering->name && nearest->start <= covering->start)
		return nearest->start == covering->start && is_better(nearest, covering);
	return !nearest->size && address < nearest->limit;
}

void addr_match_finish(struct addr_match *match)
{
	size_t i;

	for (i = 0; i < match->count; i++) {
		if (i && !match->nearest[i].name)
			match->nearest[i] = match->nearest[i - 1];
		if (reaches(&match->nearest[i], &match->covering[i], match->addresses[i])) {
			uint64_t size = match->covering[i].name ? match->covering[i].size : 0;
			bool together = match->covering[i].name &&
					match->covering[i].start == match->nearest[i].start;

			match->covering[i] = match->nearest[i];
			if (together && !match->covering[i].size)
				match->covering[i].size = size;
		}
	}
}

const struct addr_match_symbol *addr_match_find(const struct addr_match *match, size_t i)
{
	const struct addr_match_symbol *symbol = &match->covering[i];

	return symbol->name && !symbol->foreign ? symbol : NULL;
}
