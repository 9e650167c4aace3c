/* SPDX-License-Identifier: MIT */
/*
 * Converts values of the CPU's time counter to CLOCK_MONOTONIC.
 *
 * The conversion is a line made of pieces: each piece begins where the one before it ended, with a
 * slope that leads back to the clocks. So the line is continuous and never goes back, and a counter
 * value is always converted to the same time. An anchor is a moment read from both clocks. It is
 * taken when the map is created and at most every second while the trace is read. A piece is added
 * only when the line has drifted from the anchor by more than what reading the clocks costs.
 *
 * Callers must copy the map after they have copied the records: then no record that was shown is
 * later than a future anchor.
 *
 * There are at most CLOCK_MAP_PIECES pieces, two for each correction. After that the last piece is
 * used without end: times that were shown stay, and so does the order of events. Only the distance
 * from CLOCK_MONOTONIC grows, by what the kernel's clock is adjusted in that time.
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

/* Reads an anchor. Returns false if this machine has no counter that can be used. */
struct clock_map_source {
	bool (*read)(void *arg, struct clock_map_anchor *anchor);
	void *arg;
};

/* Takes the first anchor. */
struct clock_map *clock_map_create(void);
/* The same with clocks of the caller's, for tests; does not sleep. */
struct clock_map *clock_map_create_from(const struct clock_map_source *source);
void clock_map_destroy(struct clock_map *clock_map);

/* Takes an anchor, unless the last one is less than a second old and `force` is false. */
void clock_map_refresh(struct clock_map *clock_map, bool force);

/* A copy of the line, for many conversions without a lock; freed with clock_map_copy_free(). */
struct clock_map_copy;
struct clock_map_copy *clock_map_copy(struct clock_map *clock_map);
void clock_map_copy_free(struct clock_map_copy *copy);
uint64_t clock_map_copy_ns(const struct clock_map_copy *copy, uint64_t counter);
/*
 * Returns the ticks of the counter in a second, by the newest piece of the line, or 0 if this
 * machine has no counter.
 */
uint64_t clock_map_copy_frequency(const struct clock_map_copy *copy);
/* The newest anchor. */
void clock_map_copy_anchor(const struct clock_map_copy *copy, struct clock_map_anchor *anchor);

#endif
