/* SPDX-License-Identifier: MIT */
/*
 * Counts by (CPU, event, reason): how many samples are missing, and why.
 *
 * A sorted array, since few pairs are ever in use at once. Not thread-safe: callers hold the
 * owner's lock.
 */
#ifndef KPROFS_PROF_TALLY_H
#define KPROFS_PROF_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_row {
	uint32_t cpu;
	uint32_t event;
	uint32_t reason; /* enum kprof_lost_reason, or whatever the owner counts by */
	uint64_t count;
};

struct tally {
	struct tally_row *rows; /* sorted by reason, event, cpu */
	size_t count;
	size_t room;
};

void tally_init(struct tally *tally);
void tally_fini(struct tally *tally);

/* Adds n. Aborts if there is no memory for a row, as glib does. */
void tally_add(struct tally *tally, uint32_t cpu, uint32_t event, uint32_t reason, uint64_t n);
/* Adds every row of `from`. */
void tally_merge(struct tally *tally, const struct tally *from);
uint64_t tally_get(const struct tally *tally, uint32_t cpu, uint32_t event, uint32_t reason);
/* Sum over all CPUs and events. */
uint64_t tally_sum(const struct tally *tally, uint32_t reason);
/* Sum of all rows. */
uint64_t tally_total(const struct tally *tally);
/* Sum over all events. */
uint64_t tally_sum_cpu(const struct tally *tally, uint32_t cpu, uint32_t reason);
void tally_clear(struct tally *tally);
static inline bool tally_empty(const struct tally *tally)
{
	return !tally->count;
}

#endif
