/* SPDX-License-Identifier: MIT */
/* Counts by (CPU, event, reason): see tally.h. */
#include "prof/tally.h"

#include <glib.h>
#include <string.h>

#include "base/bisect.h"

void tally_init(struct tally *tally)
{
	*tally = (struct tally){ 0 };
}

void tally_fini(struct tally *tally)
{
	g_free(tally->rows);
	*tally = (struct tally){ 0 };
}

void tally_clear(struct tally *tally)
{
	tally->count = 0;
}

static bool is_before(const void *element, const void *key)
{
	const struct tally_row *row = element, *k = key;

	if (row->reason != k->reason)
		return row->reason < k->reason;
	return row->event != k->event ? row->event < k->event : row->cpu < k->cpu;
}

/* Returns whether there is a row; its index, or where it would be inserted, is *at. */
static bool find_row(
	const struct tally *tally, uint32_t cpu, uint32_t event, uint32_t reason, size_t *at)
{
	const struct tally_row key = {.cpu = cpu, .event = event, .reason = reason};

	*at = bisect(tally->rows, tally->count, sizeof(key), is_before, &key);
	return *at < tally->count && !is_before(&key, &tally->rows[*at]);
}

void tally_add(struct tally *tally, uint32_t cpu, uint32_t event, uint32_t reason, uint64_t n)
{
	size_t at;

	if (find_row(tally, cpu, event, reason, &at)) {
		tally->rows[at].count += n;
		return;
	}
	if (tally->count == tally->room) {
		tally->room = tally->room ? tally->room * 2 : 8;
		tally->rows = g_renew(struct tally_row, tally->rows, tally->room);
	}
	memmove(&tally->rows[at + 1], &tally->rows[at],
		(tally->count - at) * sizeof(tally->rows[0]));
	tally->rows[at] = (struct tally_row){
		.cpu = cpu, .event = event, .reason = reason, .count = n
	};
	tally->count++;
}

void tally_merge(struct tally *tally, const struct tally *from)
{
	size_t i;

	for (i = 0; i < from->count; i++)
		tally_add(tally, from->rows[i].cpu, from->rows[i].event, from->rows[i].reason,
			from->rows[i].count);
}

uint64_t tally_get(const struct tally *tally, uint32_t cpu, uint32_t event, uint32_t reason)
{
	size_t at;

	return find_row(tally, cpu, event, reason, &at) ? tally->rows[at].count : 0;
}

uint64_t tally_sum(const struct tally *tally, uint32_t reason)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < tally->count; i++)
		if (tally->rows[i].reason == reason)
			sum += tally->rows[i].count;
	return sum;
}

uint64_t tally_sum_cpu(const struct tally *tally, uint32_t cpu, uint32_t reason)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < tally->count; i++)
		if (tally->rows[i].reason == reason && tally->rows[i].cpu == cpu)
			sum += tally->rows[i].count;
	return sum;
}

uint64_t tally_total(const struct tally *tally)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < tally->count; i++)
		sum += tally->rows[i].count;
	return sum;
}
