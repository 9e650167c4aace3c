/* SPDX-License-Identifier: MIT */
/* Counts by (CPU, event, reason): see tally.h. */
#include "prof/tally.h"

#include <glib.h>
#include <string.h>

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

static int compare_row(const struct tally_row *row, uint32_t cpu, uint32_t event, uint32_t reason)
{
	if (row->reason != reason)
		return row->reason < reason ? -1 : 1;
	if (row->event != event)
		return row->event < event ? -1 : 1;
	if (row->cpu != cpu)
		return row->cpu < cpu ? -1 : 1;
	return 0;
}

/* The index of the row, or where it would be inserted. */
static size_t find_row(const struct tally *tally, uint32_t cpu, uint32_t event, uint32_t reason)
{
	size_t low = 0, high = tally->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_row(&tally->rows[middle], cpu, event, reason) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void tally_add(struct tally *tally, uint32_t cpu, uint32_t event, uint32_t reason, uint64_t n)
{
	size_t at = find_row(tally, cpu, event, reason);

	if (at < tally->count && !compare_row(&tally->rows[at], cpu, event, reason)) {
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
	size_t at = find_row(tally, cpu, event, reason);

	if (at < tally->count && !compare_row(&tally->rows[at], cpu, event, reason))
		return tally->rows[at].count;
	return 0;
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
