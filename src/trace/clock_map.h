/* SPDX-License-Identifier: MIT */
/*
 * The CPU's time counter brought onto CLOCK_MONOTONIC.
 *
 * The line from the one to the other is made of pieces: each goes on where the one before it ended,
 * with a slope that leads back to what the clocks say. So it is continuous, never goes back, and
 * what it once gave for a counter it gives for ever. An anchor, a moment read from both clocks, is
 * taken at attach and at most every second while somebody reads; a piece is begun only when the
 * line has drifted from the anchor by more than what reading the clocks costs.
 *
 * For that to hold, whoever shows stamps takes the map after the records: then no record that was
 * shown lies behind an anchor that is still to come.
 *
 * There are at most CLOCK_MAP_PIECES pieces, two for each correction. Once there are as many the
 * last one goes on for ever: what was shown stays, the order of events stays, and what grows is
 * only the distance from CLOCK_MONOTONIC, by what the kernel's clock is steered in that time.
 *
 * All functions are thread-safe; clock_map_create sleeps for two milliseconds, none other blocks.
 */
#ifndef KPROFS_TRACE_CLOCK_MAP_H
#define KPROFS_TRACE_CLOCK_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct clock_map;

#define CLOCK_MAP_PIECES 4096

/* A moment on the three clocks. */
struct clock_map_anchor {
	uint64_t counter, monotonic_ns, realtime_ns;
};

/* Where anchors come from: false where there is no counter that can be used. */
struct clock_map_source {
	bool (*read)(void *arg, struct clock_map_anchor *anchor);
	void *arg;
};

/* Takes the first anchor. */
struct clock_map *clock_map_create(void);
/* The same from other clocks than the machine's, for tests; without the sleep. */
struct clock_map *clock_map_create_from(const struct clock_map_source *source);
void clock_map_destroy(struct clock_map *stamps);

/* Takes an anchor, unless the last one is less than a second old and `force` is not said. */
void clock_map_refresh(struct clock_map *stamps, bool force);

/* A copy of the line, for many conversions without a lock. clock_map_map_free(). */
struct clock_map_map;
struct clock_map_map *clock_map_map(struct clock_map *stamps);
void clock_map_map_free(struct clock_map_map *map);
uint64_t clock_map_map_ns(const struct clock_map_map *map, uint64_t counter);
/* Counts a second, as the newest piece of the line says; 0: this machine has no counter. */
uint64_t clock_map_map_frequency(const struct clock_map_map *map);
/* The newest anchor. */
void clock_map_map_anchor(const struct clock_map_map *map, struct clock_map_anchor *anchor);

#endif
