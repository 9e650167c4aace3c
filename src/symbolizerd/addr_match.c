/* SPDX-License-Identifier: MIT */
/* Which symbol covers which address: see lookup.h. */
#include "symbolizerd/addr_match.h"

#include <glib.h>
#include <string.h>

/*
 * Addresses that one table's symbols may visit beyond those they are found by: functions lie in
 * each other only in assembly, so a table that needs more is made to keep us busy.
 */
#define VISITS_PER_ADDRESS 64
#define VISITS_MIN 1000000

struct addr_match {
	const uint64_t *addresses;
	size_t count;
	/* at i: the last symbol that begins above addresses[i - 1] and not above addresses[i] */
	struct addr_match_symbol *nearest;
	struct addr_match_symbol *covering; /* the innermost one with a size */
	uint64_t visits;                    /* left */
};

struct addr_match *addr_match_create(const uint64_t *addresses, size_t count)
{
	struct addr_match *lookup = g_new0(struct addr_match, 1);

	lookup->addresses = addresses;
	lookup->count = count;
	lookup->nearest = g_new0(struct addr_match_symbol, count + 1);
	lookup->covering = g_new0(struct addr_match_symbol, count + 1);
	lookup->visits = VISITS_MIN + (uint64_t)count * VISITS_PER_ADDRESS;
	return lookup;
}

void addr_match_destroy(struct addr_match *lookup)
{
	if (!lookup)
		return;
	g_free(lookup->nearest);
	g_free(lookup->covering);
	g_free(lookup);
}

/* Is it the better one of two that begin together? */
static bool is_better(const struct addr_match_symbol *symbol, const struct addr_match_symbol *than)
{
	size_t a, b;

	if (symbol->rank != than->rank)
		return symbol->rank < than->rank;
	if (symbol->latest)
		return true;
	/* aliases: the name with fewer underscores in front is the one people know */
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

static size_t find_from(const struct addr_match *lookup, uint64_t start)
{
	size_t low = 0, high = lookup->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lookup->addresses[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void addr_match_offer(struct addr_match *lookup, const struct addr_match_symbol *symbol)
{
	size_t i = find_from(lookup, symbol->start);

	if (i < lookup->count)
		improve(&lookup->nearest[i], symbol);
	for (; i < lookup->count && lookup->addresses[i] - symbol->start < symbol->size; i++) {
		if (!lookup->visits)
			return;
		lookup->visits--;
		improve(&lookup->covering[i], symbol);
	}
}

void addr_match_replace(struct addr_match *lookup, const struct addr_match_symbol *symbol)
{
	size_t i = find_from(lookup, symbol->start);

	for (; i < lookup->count && lookup->addresses[i] - symbol->start < symbol->size; i++) {
		if (!lookup->visits)
			return;
		lookup->visits--;
		lookup->covering[i] = *symbol;
	}
}

/* Does the nearest one, whose own size does not tell, count for the address? */
static bool reaches(const struct addr_match_symbol *nearest,
	const struct addr_match_symbol *covering, uint64_t address)
{
	if (!nearest->name)
		return false;
	if (covering->name && nearest->start <= covering->start)
		return nearest->start == covering->start && is_better(nearest, covering);
	return !nearest->size && address < nearest->limit;
}

void addr_match_finish(struct addr_match *lookup)
{
	size_t i;

	for (i = 0; i < lookup->count; i++) {
		if (i && !lookup->nearest[i].name)
			lookup->nearest[i] = lookup->nearest[i - 1];
		if (reaches(&lookup->nearest[i], &lookup->covering[i], lookup->addresses[i])) {
			uint64_t size = lookup->covering[i].name ? lookup->covering[i].size : 0;
			bool together = lookup->covering[i].name &&
					lookup->covering[i].start == lookup->nearest[i].start;

			lookup->covering[i] = lookup->nearest[i];
			if (together && !lookup->covering[i].size)
				lookup->covering[i].size = size;
		}
	}
}

const struct addr_match_symbol *addr_match_answer(const struct addr_match *lookup, size_t i)
{
	const struct addr_match_symbol *symbol = &lookup->covering[i];

	return symbol->name && !symbol->foreign ? symbol : NULL;
}
