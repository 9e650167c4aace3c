/* SPDX-License-Identifier: MIT */
/*
 * The CPU's time counter brought onto CLOCK_MONOTONIC.
 *
 * The line from the one to the other is made of pieces: each goes on where the one before it ended,
 * with a slope that leads back to what the clocks say. So it is continuous, never goes back, and what
 * it once gave for a counter it gives for ever. An anchor, a moment read from both clocks, is taken at
 * attach and at most every second while somebody reads; a piece is begun only when the line has
 * drifted from the anchor by more than what reading the clocks costs.
 *
 * For that to hold, whoever shows stamps takes the map after the records: then no record that was
 * shown lies behind an anchor that is still to come.
 *
 * There are at most STAMPS_PIECES pieces, two for each correction. Once there are as many the last
 * one goes on for ever: what was shown stays, the order of events stays, and what grows is only the
 * distance from CLOCK_MONOTONIC, by what the kernel's clock is steered in that time.
 *
 * All functions are thread-safe; stamps_create sleeps for two milliseconds, none other blocks.
 */
#ifndef KPROFS_TRACE_STAMPS_H
#define KPROFS_TRACE_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

struct stamps;

#define STAMPS_PIECES 4096

/* A moment on the three clocks. */
struct stamps_anchor {
	uint64_t counter, monotonic_ns, realtime_ns;
};

/* Where anchors come from: false where there is no counter that can be used. */
struct stamps_source {
	bool (*read)(void *arg, struct stamps_anchor *anchor);
	void *arg;
};

/* Takes the first anchor. */
struct stamps *stamps_create(void);
/* The same from other clocks than the machine's, for tests; without the sleep. */
struct stamps *stamps_create_from(const struct stamps_source *source);
void stamps_destroy(struct stamps *stamps);

/* Takes an anchor, unless the last one is less than a second old and `force` is not said. */
void stamps_refresh(struct stamps *stamps, bool force);

/* A copy of the line, for many conversions without a lock. stamps_map_free(). */
struct stamps_map;
struct stamps_map *stamps_map(struct stamps *stamps);
void stamps_map_free(struct stamps_map *map);
uint64_t stamps_map_ns(const struct stamps_map *map, uint64_t counter);
/* Counts a second, as the newest piece of the line says; 0: this machine has no counter. */
uint64_t stamps_map_frequency(const struct stamps_map *map);
/* The newest anchor. */
void stamps_map_anchor(const struct stamps_map *map, struct stamps_anchor *anchor);

#endif
